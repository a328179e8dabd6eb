"""Kernels that several threads define at the same time."""

import gc
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from pellucid.device import runtime

SOURCE = "def kernel(x):\n" + "".join(f"    a{number} = (x + {number}) * 2\n" for number in range(200))
ROUNDS = 150
DEPTHS = (3, 30)
"""Of the calls around each thread's parser: Python counts them together."""


class Cycle:
    """Collected while a syntax tree is made; the call lets the other thread in."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        sum(range(3))


@pytest.fixture
def _frequent_switches() -> Iterator[None]:
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(5)
    yield
    sys.setswitchinterval(interval)
    gc.set_threshold(*thresholds)


def test_threads_may_parse_kernels_at_the_same_time(_frequent_switches: None) -> None:
    parse = runtime.start()._src.codegen.ast.parse
    faults: list[str] = []

    def parse_often(depth: int) -> None:
        for _ in range(ROUNDS):
            Cycle()
            try:
                nested(depth, lambda: parse(SOURCE))
            except SystemError as error:
                faults.append(str(error))

    threads = [threading.Thread(target=parse_often, args=(depth,)) for depth in DEPTHS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []


def nested(depth: int, act: Callable[[], object]) -> object:
    return act() if depth == 0 else nested(depth - 1, act)
