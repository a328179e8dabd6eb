"""The arrays of an instance, which its Workers share.

Here: OwnedArray; ArrayStore, which gives every Worker all arrays and releases one when no Worker uses it any more.
Not here: shared memory itself (formats.shared_memory), requests and replies (supervised_process).
"""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

from pellucid.box import Box
from pellucid.formats.protocol import Spacing
from pellucid.formats.shared_memory import SharedArray
from pellucid.workers.protocol import replies, requests


@dataclass(frozen=True)
class OwnedArray:
    """An array in memory that the supervisor owns, for the Worker of now and for the next; kind, vertices, is_next: as
    in AddArray. released: is given the memory when no Worker uses it any more; without it, it is given back."""

    shared: SharedArray
    spacing: Spacing = (1.0, 1.0, 1.0)
    unit: str = ""
    kind: requests.ArrayKind = "volume"
    vertices: int = 0
    is_next: bool = False
    released: Callable[[SharedArray], None] | None = None

    def request(self, number: int, source: str) -> requests.AddArray:
        shared = self.shared
        facts = (source, shared.shape, shared.dtype.str, self.spacing, self.unit, self.kind, self.vertices)
        return requests.AddArray(number, *facts, is_next=self.is_next)


class ArrayUser(Protocol):
    """A Worker, as an ArrayStore sees it."""

    @property
    def pid(self) -> int | None:
        """None while its process does not run."""

    def send_request(
        self, doing: str, command: Callable[[int], requests.Request], descriptor: int | None = None
    ) -> "Future[Any]": ...

    def send(self, command: requests.Request) -> None:
        """Without a reply; nothing happens while its process does not run."""


class ArrayStore:
    """Methods may be called from any thread.

    releasing: done when the memory of an array that is being forgotten was released. lock: of all Workers that share
    these arrays, so that one that starts misses none.
    """

    def __init__(self) -> None:
        self._arrays: dict[str, OwnedArray] = {}
        self._users: list[ArrayUser] = []
        self.releasing: set[Future[None]] = set()
        self.lock = threading.RLock()

    @property
    def names(self) -> set[str]:
        return set(self._arrays)

    def connect(self, user: ArrayUser) -> None:
        """From now on this Worker is given every array that is added, while its process runs."""
        self._users.append(user)

    def send_all(self, user: ArrayUser) -> None:
        """To a process that has just been started."""
        with self.lock:
            for source, array in self._arrays.items():
                _send(user, source, array)

    def add(self, source: str, array: OwnedArray, first: ArrayUser) -> "Future[replies.Done]":
        """An array by this name. Returns when this Worker has it; others have it before their next request."""
        with self.lock:
            self._arrays[source] = array
            for user in self._running(first):
                _send(user, source, array)
            return _send(first, source, array)

    def changed(self, source: str, boxes: Iterable[Box], by: ArrayUser | None = None) -> None:
        """Voxels are new. by: the Worker that wrote them, which knows."""
        with self.lock:
            if source in self._arrays:
                command = requests.MarkChanged(source, tuple(boxes))
                for user in self._users:
                    if user is not by:
                        user.send(command)

    def remove(self, source: str, first: ArrayUser) -> "Future[replies.Done]":
        """Give its memory back. Returns when this Worker has; the memory is released when all have."""
        with self.lock:
            array = self._arrays.pop(source)
            users = [first, *self._running(first)]
            removed = [user.send_request("removing an array", _Removal(source)) for user in users]
        self._release_after(removed, array)
        return removed[0]

    def _running(self, first: ArrayUser) -> Iterator[ArrayUser]:
        return (user for user in self._users if user is not first and user.pid is not None)

    def _release_after(self, removed: "list[Future[replies.Done]]", array: OwnedArray) -> None:
        """Release memory, or pass it on, when the Workers no longer use it."""
        if array.released is None and len(removed) == 1:
            return array.shared.close()
        released = array.released or SharedArray.close  # Not at once: its descriptor may not have been sent yet.
        back: Future[None] = Future()
        self.releasing.add(back)
        waiting, counting = len(removed), threading.Lock()

        def release(_: object) -> None:
            nonlocal waiting
            with counting:
                waiting -= 1
                if waiting:
                    return
            released(array.shared)
            self.releasing.discard(back)
            back.set_result(None)

        for one in removed:
            one.add_done_callback(release)
        return None


@dataclass(frozen=True)
class _Removal:
    source: str

    def __call__(self, number: int) -> requests.Request:
        return requests.RemoveArray(number, self.source)


def _send(user: ArrayUser, source: str, array: OwnedArray) -> "Future[replies.Done]":
    return user.send_request("adding an array", lambda number: array.request(number, source), array.shared.descriptor)
