"""Series: volumes over time or channel.

Here: Series and opening one; the step of a series that is nearest to a time.
Not here: a single volume (volume).
"""

from collections.abc import Callable, Iterator
from math import floor
from pathlib import Path

from pellucid.formats.location import Location
from pellucid.formats.protocol import Header, check_selection
from pellucid.formats.registry import open_reader
from pellucid.volume.closable_reader import ClosableReader
from pellucid.volume.volume import Volume, open_volume


class Series:
    """The volumes of one file: ``series[t]`` or ``series[t, c]``; iteration goes over time."""

    def __init__(self, opened: ClosableReader, location: Location) -> None:
        self.location = location
        self._opened = opened

    @property
    def header(self) -> Header:
        return self._opened.header

    @property
    def times(self) -> int:
        return self.header.times

    @property
    def channels(self) -> int:
        return self.header.channels

    def __len__(self) -> int:
        return self.times

    def __getitem__(self, index: int | tuple[int, int]) -> Volume:
        t, c = index if isinstance(index, tuple) else (index, 0)
        check_selection(self.location.path, self.header, level=0, t=t, c=c)
        return Volume(self._opened, self.location.with_options(t=t, c=c), t=t, c=c)

    def __iter__(self) -> Iterator[Volume]:
        return (self[t] for t in range(self.times))

    def close(self) -> None:
        self._opened.close()

    def __enter__(self) -> "Series":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def time_steps(path: str | Path | Location, opening: Callable[[Location], Series] | None = None) -> int:
    """How many steps a file has; 1 where one of them is named already, or where it is an array in memory.

    opening: how it is opened; by default, for this question alone.
    """
    location = Location.parse(path)
    if location.is_memory or location.number("t") is not None:
        return 1
    with (opening or open_series)(location) as series:
        return series.times


def nearest_step(time: float, steps: int) -> int:
    """The step of a series that belongs to a time; halfway between two steps it is the later one.

    >>> [nearest_step(time, 4) for time in (-1.0, 0.4, 0.5, 1.5, 2.5, 9.0)]
    [0, 0, 1, 2, 3, 3]
    """
    return min(max(floor(time + 0.5), 0), steps - 1)


def at_step(path: str | Path | Location, steps: int, time: float) -> Location:
    """Where the volume of a time is: the nearest of so many steps; with a single one, the path itself.

    >>> str(at_step("scan.zarr", 5, 2.6)), str(at_step("scan.zarr", 5, 99.0)), str(at_step("scan.zarr", 1, 2.0))
    ('scan.zarr:t=3', 'scan.zarr:t=4', 'scan.zarr')
    """
    location = Location.parse(path)
    return location.with_options(t=nearest_step(time, steps)) if steps > 1 else location


def open_at(path: str | Path | Location, time: float) -> Volume:
    """Open the volume of a time: of a series the nearest step, of anything else the volume that it is."""
    return open_volume(at_step(path, time_steps(path), time))


def open_series(path: str | Path | Location) -> Series:
    """Open a file with several time steps or channels; a single volume is a series of one."""
    location = Location.parse(path)
    return Series(ClosableReader(open_reader(location)), location)
