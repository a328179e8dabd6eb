"""A pool of processes: every piece is answered once, whoever dies meanwhile, and nobody is left behind."""

import os
import socket
from collections.abc import Callable, Iterator

import pytest

from pellucid.errors import WorkerLost
from pellucid.formats.process_pool import PoolJob, ProcessPool


class Echo:
    """Stands for a process: it answers with ten times the number that it is sent, or dies of it."""

    alive = 0

    def __init__(self, is_deadly: Callable[[int], bool], code: int = -9) -> None:
        self._is_deadly, self._code = is_deadly, code
        self._ours, self._theirs = socket.socketpair()
        Echo.alive += 1

    def fileno(self) -> int:
        return self._ours.fileno()

    def send(self, message: int) -> None:
        if self._is_deadly(message):
            self._theirs.close()
        else:
            os.write(self._theirs.fileno(), bytes([message * 10]))

    def receive(self) -> int:
        received = self._ours.recv(1)
        if not received:
            raise EOFError
        return received[0]

    def end(self, timeout_s: float = 0.0) -> int:
        self._ours.close()
        self._theirs.close()
        Echo.alive -= 1
        return self._code


@pytest.fixture(autouse=True)
def nobody_is_left() -> Iterator[None]:
    yield
    assert Echo.alive == 0


def job(
    is_deadly: Callable[[int], bool] = lambda _: False, code: int = -9, *, depth: int = 1, attempts: int = 3
) -> PoolJob:
    return PoolJob("counting", lambda: Echo(is_deadly, code), 7, lambda piece, slot: piece, depth, attempts)


@pytest.mark.parametrize("count", [1, 2, 20])
@pytest.mark.parametrize("depth", [1, 2])
def test_every_piece_is_answered_once(count: int, depth: int) -> None:
    answers = list(ProcessPool(job(depth=depth), count).run())
    assert sorted((one.piece, one.content) for one in answers) == [(piece, 10 * piece) for piece in range(7)]
    assert {one.slot for one in answers} <= set(range(count * depth))


def test_what_a_lost_process_had_is_done_again() -> None:
    deaths = iter([True, True])
    pool = ProcessPool(job(lambda piece: piece == 3 and next(deaths, False), depth=2), 2)
    assert sorted(one.piece for one in pool.run()) == list(range(7))


@pytest.mark.parametrize(("code", "why"), [(-9, "it was stopped by signal 9"), (3, "it exited with status 3")])
def test_a_piece_that_costs_several_processes_is_given_up(code: int, why: str) -> None:
    tried: list[int] = []

    def is_deadly(piece: int) -> bool:
        tried.append(piece)
        return piece == 5

    with pytest.raises(WorkerLost, match=f"while counting: {why}"):
        list(ProcessPool(job(is_deadly, code, attempts=2), 2).run())
    assert tried.count(5) == 2


def test_an_answer_may_be_tried_again_so_often() -> None:
    pool = ProcessPool(job(attempts=3), 2)
    again = [one.piece for one in pool.run() if one.piece == 6 and pool.retry(6)]
    assert again == [6, 6]
    assert not pool.retry(-1)


def test_one_that_is_cancelled_or_closed_ends_its_processes() -> None:
    answers: list[int] = []
    for one in ProcessPool(job(), 2).run(lambda: len(answers) >= 2):
        answers.append(one.piece)
    assert 2 <= len(answers) < 7
    running = ProcessPool(job(), 2).run()
    next(running)
    assert Echo.alive == 2
    running.close()


def test_this_process_helps_while_the_others_start() -> None:
    class Silent(Echo):
        def send(self, message: int) -> None: ...

    helped: list[int] = []

    def here(piece: int) -> None:
        helped.append(piece)

    work = PoolJob("counting", lambda: Silent(lambda _: False), 4, lambda piece, slot: piece, here=here)
    assert list(ProcessPool(work, 1).run(lambda: len(helped) == 3)) == []
    assert helped == [1, 2, 3]
