"""Identifying a process although process IDs are reused.

Here: birth, and ProcessId: a number, when it began, and the machine it runs on.
Not here: starting one (local).
"""

import os
import socket
from dataclasses import dataclass
from pathlib import Path

BIRTH = 19
"""Of the words behind the name in /proc/PID/stat, the one that differs from a later process with its number."""


def birth(pid: int) -> int:
    """When a process began, in the kernel's count; -1 where there is none, or nothing is left of it but its number."""
    try:
        return _birth_in(Path(f"/proc/{pid}/stat").read_text())
    except OSError:
        return -1


def _birth_in(stat: str) -> int:
    # The name stands in parentheses, and may itself have spaces and parentheses.
    words = stat.rpartition(")")[2].split()
    return -1 if words[0] in "ZX" else int(words[BIRTH])


@dataclass(frozen=True)
class ProcessId:
    """One process of one machine, never a later one with its number."""

    host: str
    pid: int
    birth: int

    @classmethod
    def of(cls, pid: int) -> "ProcessId":
        return cls(socket.gethostname(), pid, birth(pid))

    @classmethod
    def this(cls) -> "ProcessId":
        return cls.of(os.getpid())

    @classmethod
    def parse(cls, text: str) -> "ProcessId":
        """From str(process). Raises ValueError."""
        host, pid, began = text.split("/")
        return cls(host, int(pid), int(began))

    @classmethod
    def written(cls, started: Path) -> "ProcessId | None":
        """The one that wrote its host and its line of /proc down, as a job's script does."""
        try:
            host, _, stat = started.read_text().partition("\n")
            return cls(host, int(stat.split()[0]), _birth_in(stat))
        except (OSError, ValueError, IndexError):
            return None

    @property
    def is_here(self) -> bool:
        return self.host == socket.gethostname()

    @property
    def is_alive(self) -> bool:
        """Only to be asked where it is here."""
        return self.birth >= 0 and birth(self.pid) == self.birth

    def __str__(self) -> str:
        return f"{self.host}/{self.pid}/{self.birth}"
