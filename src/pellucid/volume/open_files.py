"""Files that several parts of a process read from, each opened once.

Here: OpenFiles, which opens volumes and series; the ones of the same file share its reader.
Not here: which of them stay open (their users decide), opening a file that has no other reader (volume, series).
"""

import threading
from weakref import WeakSet, WeakValueDictionary

from pellucid.formats.location import Location
from pellucid.formats.protocol import Reader
from pellucid.formats.registry import open_reader
from pellucid.volume.closable_reader import ClosableReader
from pellucid.volume.series import Series
from pellucid.volume.volume import Volume, select_volume


class SharedReader:
    """One file. It is opened with the first lease, and closed with the last one."""

    def __init__(self, location: Location) -> None:
        self._location = location
        self._reader: Reader | None = None
        self._leases: WeakSet[ReaderLease] = WeakSet()
        self._lock = threading.Lock()

    def lease(self) -> "ReaderLease":
        with self._lock:  # While it is opened, others that want the same file wait.
            if self._reader is None:
                self._reader = open_reader(self._location)
            lease = ReaderLease(self, self._reader)
            self._leases.add(lease)
            return lease

    def end(self, lease: "ReaderLease") -> None:
        with self._lock:
            self._leases.discard(lease)
            if not self._leases and self._reader is not None:
                self._reader.close()
                self._reader = None


class ReaderLease(ClosableReader):
    """The reader of a file that others may read too: closing it closes the file only where no one else has it."""

    def __init__(self, shared: SharedReader, reader: Reader) -> None:
        super().__init__(reader)
        self._shared = shared

    def close(self) -> None:
        if self._reader is not None:
            self._reader = None
            self._shared.end(self)


class OpenFiles:
    """Files by their names, without the step, the channel and the level that a name selects. Any thread may ask."""

    def __init__(self) -> None:
        self._files: WeakValueDictionary[Location, SharedReader] = WeakValueDictionary()
        self._lock = threading.Lock()

    def open_volume(self, source: str) -> Volume:
        """As pellucid.open."""
        location = Location.parse(source)
        lease = self._lease(location)
        try:
            return select_volume(lease, location)
        except BaseException:
            lease.close()
            raise

    def open_series(self, source: str | Location) -> Series:
        """As pellucid.open_series."""
        location = Location.parse(source)
        return Series(self._lease(location), location)

    def forget(self, source: str) -> None:
        """The next one who opens it gets the file as it is then; who has it open keeps what was opened."""
        with self._lock:
            self._files.pop(_file_of(Location.parse(source)), None)

    def _lease(self, location: Location) -> ReaderLease:
        file = _file_of(location)
        with self._lock:
            shared = self._files.get(file)
            if shared is None:
                shared = self._files[file] = SharedReader(file)
        return shared.lease()


def _file_of(location: Location) -> Location:
    return location.with_options(t=None, c=None, level=None)
