"""What the Device Workers of a node leave in the file system, for their owner alone.

Here: the folder of one Worker: how it is to start, the token, its record, its log and the lock that it holds.
Not here: starting it (launch), what is in memory (worker).
"""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from pellucid.cluster.credentials import Credentials
from pellucid.cluster.handles import WorkerId
from pellucid.jobs.file_locks import is_locked, lock, open_lock, try_lock
from pellucid.jobs.private_files import private_folder, read_dataclass, write_json, write_private
from pellucid.jobs.process_identity import ProcessId
from pellucid.settings import current

POLL_S = 0.01


@dataclass(frozen=True)
class WorkerSpec:
    """How a Worker is started. device: such as "cpu" or "cuda:1"; slot: its number on the node. host: the IPv4 address
    at which other Workers reach it. threads, memory_bytes, host_bytes: what it may use; host_bytes for blocks that do
    not fit on the device; memory_bytes 0: half of what the host has available, or most of what a GPU has.
    idle_timeout_s: how long it waits for another holder of its lease."""

    device: str = "cpu"
    slot: int = 0
    node: str = "local"
    host: str = "127.0.0.1"
    threads: int = 1
    memory_bytes: int = 2**30
    host_bytes: int = 0
    idle_timeout_s: float = 30.0
    prefers_local: bool = True


@dataclass(frozen=True)
class WorkerRecord:
    """A Worker that listens. process: its ProcessId as text."""

    worker: WorkerId
    process: str


@dataclass(frozen=True)
class WorkerFolder:
    """On every node of an application, one for each device."""

    path: Path

    @classmethod
    def of(cls, credentials: Credentials, spec: WorkerSpec) -> "WorkerFolder":
        name = f"{spec.node}-{spec.slot}".replace("/", "_")
        return cls(current().state_folder / "cluster" / credentials.application / name)

    def prepare(self, spec: WorkerSpec, token: str) -> None:
        (self.path / "worker.json").unlink(missing_ok=True)
        write_json(self.path / "spec.json", asdict(spec))
        write_private(self.path / "token", token)

    def make(self) -> None:
        private_folder(self.path)

    @property
    def spec(self) -> WorkerSpec | None:
        return read_dataclass(WorkerSpec, self.path / "spec.json")

    @property
    def token(self) -> str:
        return (self.path / "token").read_text()

    @property
    def log(self) -> Path:
        return self.path / "log"

    def open_log(self) -> int:
        return os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, record: WorkerRecord) -> None:
        write_json(self.path / "worker.json", asdict(record))

    def read(self) -> WorkerRecord | None:
        """The Worker that listens; None where none does, or where it has ended.

        A process that was killed may hold its lock a little longer, until the last of its threads has ended.
        """
        record = read_dataclass(WorkerRecord, self.path / "worker.json")
        try:
            is_there = record is not None and is_locked(self.path / "lock") and ProcessId.parse(record.process).is_alive
        except (FileNotFoundError, ValueError):
            return None
        return record if is_there else None

    @contextmanager
    def starting(self) -> Iterator[None]:
        """One process at a time looks for a Worker and starts it. The folder is there meanwhile."""
        path = self.path / "starting.lock"
        while True:
            self.make()
            with _locked(path) as descriptor:
                if _is_at(path, descriptor):
                    yield
                    return

    def hold(self, timeout_s: float = 0.0) -> int | None:
        """Held by a Worker as long as it lives: a descriptor; None where another one holds it after the timeout."""
        descriptor = open_lock(self.path / "lock")
        deadline = time.monotonic() + timeout_s
        while not try_lock(descriptor):
            if time.monotonic() >= deadline:
                os.close(descriptor)
                return None
            time.sleep(POLL_S)
        return descriptor

    def remove(self) -> None:
        """Remove the folder, and that of the application where it was the last one."""
        shutil.rmtree(self.path, ignore_errors=True)
        with suppress(OSError):
            self.path.parent.rmdir()


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    descriptor = open_lock(path)
    try:
        lock(descriptor)
        yield descriptor
    finally:
        os.close(descriptor)


def _is_at(path: Path, descriptor: int) -> bool:
    """Whether an open file is still what is there: a Worker that ended removed what was waited for."""
    try:
        return path.stat().st_ino == os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False
