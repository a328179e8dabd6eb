"""Damaged HDF5 files in which the library would be caught for ever, or would crash: found by another process.

Here: check_object, before one is opened; check_all, before a file is searched; check_chunk_index, before chunks of a
large dataset are looked up.
Not here: what is read of a file (structure_reader), damage that the library reports (library_errors).

The library follows the addresses in a file wherever they lead, and h5py keeps Python's lock all the while, so that no
time limit and no Ctrl-C is noticed. Only another process can be stopped. One is started with the first file and stays
for the next ones; it ends when this process does.
"""

import atexit
import os
import signal
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from select import POLLIN, poll
from typing import IO, Any, cast

import h5py

from pellucid.errors import Corrupted
from pellucid.formats.deadline import timeout_error
from pellucid.formats.hdf5 import structure_reader
from pellucid.settings import current

OBJECT_S = 10
"""Processor time that the library may take for one object."""
MAX_BYTES = 2**30
SPARE_S = 5
"""A process whose owner is gone ends itself so many seconds after the time limit."""
MAX_REMEMBERED = 4096
MAX_IDLE = 2
_ENDLESS, _CRASH = "reading its structure does not end", "its structure makes the HDF5 library crash"
_CRASH_SIGNALS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGSYS)


def check_object(path: Path, name: str) -> None:
    """Raise Corrupted or Unreadable where reading an object of a file crashes, or takes too long.

    name: how hard links lead to it; the object that contains it was checked before.
    """
    _check_once(path, structure_reader.OBJECT, name)


def check_all(path: Path) -> None:
    """The same for all objects that hard links lead to."""
    _check_once(path, structure_reader.ALL, "/")


def check_chunk_index(dataset: Any) -> None:
    """The same for the chunks of a dataset that has so many that they are not counted with the object."""
    if not dataset.chunks:
        return
    count = 1
    for length, edge in zip(dataset.shape, dataset.chunks, strict=True):
        count *= -(-length // max(1, edge))
    if count > structure_reader.MAX_CHUNKS:
        _check_once(Path(dataset.file.filename), structure_reader.CHUNKS, dataset.name)


def _check_once(path: Path, what: str, name: str) -> None:
    status = path.stat()
    content = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    if what == structure_reader.OBJECT and _checked.get((*content, structure_reader.ALL, "/"), "unknown") is None:
        return
    key = (*content, what, name)
    if key not in _checked:
        found = _check(path, what, name)
        while len(_checked) >= MAX_REMEMBERED:
            _checked.pop(next(iter(_checked)), None)
        _checked[key] = found
    if (why := _checked.get(key)) is not None:
        raise Corrupted(str(path), why)


def _check(path: Path, what: str, name: str) -> str | None:
    """What is wrong with it; None where nothing is, or where no process could be started to find out."""
    process = _take_process()
    if process is None:
        return None
    _busy.add(process)
    try:
        found = process.read(path, what, name)
    except BaseException:
        process.end()
        raise
    finally:
        _busy.discard(process)
    if found is None and len(_idle) < MAX_IDLE:
        _idle.append(process)
    else:
        process.end()
    return found


class ReaderProcess:
    """A process that reads the structure of one file after another."""

    def __init__(self, library: str) -> None:
        self.owner = os.getpid()
        # Isolated and without site-packages: it starts in a tenth of the time. A session of its own: Ctrl-C is not for
        # it, and the end of its input ends it.
        command = [sys.executable, "-I", "-S", structure_reader.__file__, library, str(OBJECT_S), str(MAX_BYTES)]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd="/",
            env={**os.environ, "HDF5_USE_FILE_LOCKING": "FALSE"},
            start_new_session=True,
        )
        self._requests, self._answers = cast(IO[bytes], self._process.stdin), cast(IO[bytes], self._process.stdout)

    def read(self, path: Path, what: str, name: str) -> str | None:
        """What is wrong with what is read of a file; Unreadable where it takes too long to find out."""
        timeout_s = current().open_timeout_s
        name_bytes = name.encode("utf-8", "surrogateescape")
        request = f"{timeout_s + SPARE_S} {what} {os.fsencode(path.absolute()).hex()} {name_bytes.hex()}\n"
        with suppress(BrokenPipeError):  # One that died is noticed when its answer is read.
            self._requests.write(request.encode())
        waiting = poll()
        waiting.register(self._answers, POLLIN)
        if not waiting.poll(timeout_s * 1000):
            raise timeout_error(str(path), timeout_s)
        answer = self._answers.read(1)
        if answer == structure_reader.TOO_LARGE:
            return f"reading its structure takes more than {MAX_BYTES >> 20} MiB of memory"
        return _fault(self._process.wait()) if not answer else None

    @property
    def pid(self) -> int:
        return self._process.pid

    def is_usable(self) -> bool:
        return self.owner == os.getpid() and self._process.poll() is None

    def end(self) -> None:
        """Of a process that forked from the owner, only the pipes are closed."""
        for pipe in (self._requests, self._answers):
            with suppress(OSError):
                pipe.close()
        if self.owner == os.getpid():
            self._process.kill()
            self._process.wait()


def _fault(status: int) -> str | None:
    """What the end of the process says about the file; nothing where another process ended it."""
    if status == -signal.SIGXCPU:
        return _ENDLESS
    return _CRASH if -status in _CRASH_SIGNALS else None


def _take_process() -> ReaderProcess | None:
    """A process that waits for work, or a new one. Each serves one thread: a file that hangs delays no other."""
    while True:
        try:
            process = _idle.pop()
        except IndexError:
            break
        if process.is_usable():
            return process
        process.end()
    library = library_path()
    if library is None or not sys.executable:
        return None
    try:
        return ReaderProcess(library)
    except OSError:  # The system has no process to spare.
        return None


@cache
def library_path() -> str | None:
    """The HDF5 library that h5py has loaded; None where it is part of h5py itself."""
    try:
        lines = Path("/proc/self/maps").read_text(errors="surrogateescape").splitlines()
    except OSError:
        return None
    loaded = {line.split(maxsplit=5)[5] for line in lines if "/libhdf5" in line}
    found = sorted(path for path in loaded if Path(path).name.startswith(("libhdf5.so", "libhdf5-", "libhdf5_serial")))
    own = Path(h5py.__file__).parent.parent
    return next((path for path in found if Path(path).is_relative_to(own)), found[0] if found else None)


def idle_processes() -> tuple[ReaderProcess, ...]:
    """Those that wait for work."""
    return tuple(_idle)


def end_idle() -> None:
    while _idle:
        _idle.pop().end()


def _end_all() -> None:
    """Also those that other threads wait for, which end with this process."""
    end_idle()
    for process in tuple(_busy):
        process.end()


_checked: dict[tuple[int, int, int, int, str, str], str | None] = {}
_idle: list[ReaderProcess] = []
_busy: set[ReaderProcess] = set()
atexit.register(_end_all)
