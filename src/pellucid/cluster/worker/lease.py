"""Which processes use a Worker, and when it ends.

Here: WorkerLease: processes of this machine that hold it; it ends when all of them have been gone for a while.
Not here: which processes those are (nodes.launch, links).
"""

import os
import select
import threading
from collections.abc import Callable
from contextlib import suppress

from pellucid.jobs.process_identity import ProcessId

POLL_MS = 500


class WorkerLease:
    """idle_timeout_s: how long it lasts without a holder: an executor that was killed is replaced, and finds its
    blocks. on_end: called once, from a thread of this object."""

    def __init__(self, idle_timeout_s: float, on_end: Callable[[], None]) -> None:
        self._idle_timeout_s, self._on_end = idle_timeout_s, on_end
        self._holders: dict[ProcessId, int] = {}
        self._lock = threading.Lock()
        self._is_ended = threading.Event()
        self._watching = threading.Thread(target=self._watch, name="pellucid-lease", daemon=True)

    def hold(self, pid: int) -> None:
        """For this process too; from the first one on, there has to be one. One that is gone, or belongs to another
        user, does not count."""
        holder = ProcessId.of(pid)
        with self._lock, suppress(OSError):
            if holder not in self._holders and os.stat(f"/proc/{pid}").st_uid == os.geteuid():  # noqa: PTH116
                self._holders[holder] = os.pidfd_open(pid)
        with self._lock:
            if self._watching.ident is None:
                self._watching.start()

    def end(self) -> None:
        """Now, even while processes hold it."""
        if not self._is_ended.is_set():
            self._is_ended.set()
            self._on_end()

    def _watch(self) -> None:
        left_ms = self._idle_timeout_s * 1000
        while not self._is_ended.is_set():
            if self._wait_for_a_death():
                left_ms = self._idle_timeout_s * 1000
            else:
                left_ms -= POLL_MS
                if left_ms <= 0:
                    self.end()

    def _wait_for_a_death(self) -> bool:
        """For a moment. Whether there is a holder."""
        with self._lock:
            watched = dict(self._holders)
        if not watched:
            return self._is_ended.wait(POLL_MS / 1000)
        poll = select.poll()
        for descriptor in watched.values():
            poll.register(descriptor, select.POLLIN)
        gone = {descriptor for descriptor, _ in poll.poll(POLL_MS)}
        with self._lock:
            for holder, descriptor in watched.items():
                if descriptor in gone:
                    os.close(self._holders.pop(holder))
        return True
