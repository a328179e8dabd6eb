"""Waiting for what nobody announces."""

import time
from collections.abc import Callable

TIMEOUT_S = 120.0
"""How long a test waits for an event: longer than a busy machine takes. Only a test that fails waits for all of it."""

TIMEOUT_MS = int(1000 * TIMEOUT_S)
POLL_S = 0.02


def wait_until(is_so: Callable[[], object], timeout_s: float = TIMEOUT_S) -> None:
    """Until something is so that nobody announces; never a fixed time."""
    deadline = time.monotonic() + timeout_s
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not so after {timeout_s} s")
        time.sleep(POLL_S)
