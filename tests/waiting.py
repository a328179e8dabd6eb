"""Waiting for what nobody announces."""

import time
from collections.abc import Callable

TIMEOUT_S = 15.0
POLL_S = 0.02


def wait_until(is_so: Callable[[], object], timeout_s: float = TIMEOUT_S) -> None:
    """Until something is so that nobody announces; never a fixed time."""
    deadline = time.monotonic() + timeout_s
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not so after {timeout_s} s")
        time.sleep(POLL_S)
