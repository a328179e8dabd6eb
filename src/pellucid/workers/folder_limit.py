"""The folders in which a Worker may read files.

Here: AllowFolders, the command; FolderLimit, which sends it to every process that takes over.
Not here: keeping to it (formats.local_files), which folders those are (instance.access.roots).
"""

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class AllowFolders:
    """From now on, read local files inside these folders only."""

    folders: tuple[str, ...]


class Receiver(Protocol):
    """A process that commands can be sent to."""

    def send(self, command: Any) -> None: ...


class FolderLimit:
    """For the latest process of every role. Methods may be called from any thread. Without a call of change, there is
    no limit."""

    def __init__(self) -> None:
        self._folders: tuple[str, ...] | None = None
        self._receivers: dict[str, Receiver] = {}
        self._lock = threading.Lock()

    def apply_to(self, receiver: Receiver, role: str = "render") -> None:
        """To a process that has just been started; it must be the first that it receives."""
        with self._lock:
            self._receivers[role] = receiver
            self._send(receiver)

    def change(self, folders: Iterable[str]) -> None:
        with self._lock:
            self._folders = tuple(folders)
            for receiver in self._receivers.values():
                self._send(receiver)

    def _send(self, receiver: Receiver) -> None:
        if self._folders is not None:
            receiver.send(AllowFolders(self._folders))
