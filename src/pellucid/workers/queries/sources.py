"""The volumes that a Worker reads, by their names in scenes.

Here: Sources: files, arrays that were handed over: volumes, points, meshes.
Not here: what lies on the device (fields), opening each file once (volume.open_files).
"""

import threading
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pellucid.box import Box
from pellucid.errors import InvalidInput, PellucidError, Unreadable
from pellucid.formats.deadline import within_limit
from pellucid.formats.fingerprint import fingerprint
from pellucid.formats.in_memory import ArrayReader
from pellucid.formats.location import Location
from pellucid.formats.protocol import Spacing, Voxels
from pellucid.formats.shared_memory import SharedArray
from pellucid.rendering.geometry.shapes import Mesh, Points
from pellucid.volume.closable_reader import ClosableReader
from pellucid.volume.open_files import OpenFiles
from pellucid.volume.series import Series, nearest_step
from pellucid.volume.volume import Volume
from pellucid.workers.protocol.requests import AddArray

MAX_OPEN = 16


@dataclass(frozen=True)
class MappedArray:
    """An array that was handed over, as this process sees its memory."""

    array: Voxels
    spacing: Spacing
    unit: str

    def volume(self, source: str) -> Volume:
        """A volume under the name that the supervisor chose, which a Worker that takes over has to use again."""
        return Volume(ClosableReader(ArrayReader(self.array, self.spacing, self.unit)), Location(source))


def handed_array(command: AddArray, descriptor: int | None) -> Voxels:
    """The array of a request, in the memory that came along."""
    if descriptor is None:
        what = f"The array {command.source!r} came without its memory."
        raise InvalidInput(what, remedy="Send the descriptor of a shared array with the request.")
    with SharedArray(descriptor, command.shape, np.dtype(command.dtype)) as shared:
        return shared.array  # It keeps the memory.


def shape_of(command: AddArray, rows: Voxels) -> Points | Mesh:
    """Points or a mesh in the rows of an array."""
    if command.kind == "points":
        return Points(rows[:, :3], rows[:, 3], name=command.source)
    bits = rows.view(np.uint32)
    vertices, triangles = bits[: command.vertices].view(np.float32), bits[command.vertices :]
    return Mesh(vertices, triangles, name=command.source)


class Sources:
    """Volumes by name. Any thread may ask. files: what opens them, also for the renderers of the Worker."""

    def __init__(self, files: OpenFiles) -> None:
        self._files = files
        self._handed: dict[str, MappedArray] = {}
        self._opened: dict[str, Volume] = {}
        self._series: dict[str, Series] = {}
        self._shapes: dict[str, Points | Mesh] = {}
        self._stamps: dict[str, str] = {}
        self._lock = threading.Lock()

    def use(self, source: str, handed: MappedArray) -> Volume:
        with self._lock:
            self._handed[source] = handed
            self._opened[source] = handed.volume(source)
            return self._opened[source]

    def add(self, command: AddArray, array: Voxels) -> Volume | None:
        """From now on the array has this name. The volume, if it is one."""
        if command.kind == "volume":
            return self.use(command.source, MappedArray(array, command.spacing, command.unit))
        self.use_shape(shape_of(command, array))
        return None

    def use_shape(self, shape: Points | Mesh) -> None:
        """From now on it is found by its name, wherever a scene is drawn."""
        self._shapes[shape.name] = shape

    def shape(self, source: str) -> Points | Mesh | None:
        return self._shapes.get(source)

    def changed(self, source: str, boxes: Iterable[Box]) -> None:
        """Voxels of an array are new; one that was removed meanwhile is ignored."""
        with self._lock:
            volume = self._opened[source] if source in self._handed else None
        if volume is not None:
            for box in boxes:
                volume.changed(box)

    def forget(self, source: str) -> list[object]:
        """What is left of it: the memory goes with the last who holds that."""
        with self._lock:
            return [known.pop(source, None) for known in (self._handed, self._opened, self._shapes)]

    def close_changed(self, source: str) -> bool:
        """Whether the file of this name is another one than when this was asked last; then it is opened again."""
        location = Location.parse(source)
        if location.is_memory:
            return False
        stamp = within_limit(location.path, lambda: _stamp(location))
        with self._lock:
            before, self._stamps[source] = self._stamps.get(source, stamp), stamp
            if before != stamp:
                # Not closed: another thread may be reading. They go with their last reader.
                self._opened = {key: one for key, one in self._opened.items() if not key.startswith(f"{source} at ")}
                self._series.pop(source, None)
                self._files.forget(source)
        return before != stamp

    def handed(self, source: str) -> MappedArray | None:
        return self._handed.get(source)

    def volume(self, source: str, time: float = 0.0) -> Volume:
        """The volume of that name; of a series, the step nearest to a time. A file that hangs delays no other."""
        with self._lock:
            if source in self._handed:
                return self._opened[source]
        series = self._series_of(source)
        named = series.location.number("t")  # A name that chooses a step itself is no series.
        step = nearest_step(time, series.times) if named is None else named
        key = f"{source} at {step}"
        with self._lock:
            if key not in self._opened:
                self._forget_oldest()
                self._opened[key] = _volume_at(series, step)
            return self._opened[key]

    def _series_of(self, source: str) -> Series:
        """The file of that name, which all its steps are read from."""
        with self._lock:
            known = self._series.get(source)
        if known is not None:
            return known
        try:
            series = within_limit(Location.parse(source).path, lambda: self._files.open_series(source))
        except Unreadable:
            self._files.forget(source)  # The thread that was left behind still opens it: others do not wait for that.
            raise
        with self._lock:
            if source in self._series:  # Another thread has opened it meanwhile.
                series.close()
                return self._series[source]
            for oldest in list(self._series)[: max(0, len(self._series) - MAX_OPEN + 1)]:
                self._series.pop(oldest)  # Not closed: another thread may be reading. It goes with its last reader.
            self._series[source] = series
            return series

    def _forget_oldest(self) -> None:
        files = [source for source in self._opened if source not in self._handed]
        for source in files[: max(0, len(files) - MAX_OPEN + 1)]:
            self._opened.pop(source)


def _stamp(location: Location) -> str:
    """Changes when the file changes; "" where it cannot be read: opening it then gives the error."""
    try:
        return fingerprint(location)
    except (PellucidError, OSError):
        return ""


def _volume_at(series: Series, step: int) -> Volume:
    level = series.location.number("level")
    volume = series[step, series.location.number("c") or 0]
    return volume if level is None else volume.at_level(level)
