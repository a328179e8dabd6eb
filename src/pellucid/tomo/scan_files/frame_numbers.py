"""Numbers in the names of projections, and where the projections are in a series that lacks some of them.

Here: FrameNumbers, from the names of files.
Not here: which files there are (tiff_folders, hipic), angles (angles).

A frame that was lost leaves a gap in the numbers. Evenly spaced angles over the files that are left would give every
later projection the angle of another.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.formats.tiff.file_numbers import missing_numbers, natural_key, series_numbers
from pellucid.tomo.scan import Frames, Indices

MAX_LISTED = 10
MAX_MISSING_SHARE = 0.2
"""Of a series: where more is missing, the numbers may count something else than projections."""


@dataclass(frozen=True, eq=False)
class FrameNumbers:
    """numbers: of every frame of a folder, ascending. missing: numbers between them that no frame has."""

    numbers: Indices
    missing: Indices

    @classmethod
    def of(cls, names: Sequence[str], others: Iterable[str] = ()) -> "FrameNumbers | None":
        """From the names of the frames; None where no number is missing, or where they are not numbered one by one.

        others: of flats and darks in the same folder, which may be counted together with the projections.
        """
        numbers = series_numbers(names)
        if len(numbers) != len(names):
            return None
        missing = np.array(list(islice(missing_numbers(names), len(names) + 1)), np.int64)
        counted = np.array([int(found[-1]) for name in others if (found := re.findall(r"\d+", name))], np.int64)
        if not np.isin(counted, numbers).any():
            missing = np.setdiff1d(missing, counted)
        return cls(np.array(numbers), missing) if len(missing) else None

    def series(self, frames: Frames) -> "FrameSeries | None":
        """Where some of the frames are in the series that they and the missing ones make; None where none is missing
        between them."""
        numbers = self.numbers[frames.indices]
        missing = self.missing[(self.missing > numbers.min()) & (self.missing < numbers.max())]
        if not len(missing):
            return None
        positions = np.searchsorted(np.sort(np.concatenate([numbers, missing])), numbers)
        return FrameSeries(positions, len(numbers) + len(missing), tuple(missing.tolist()))


@dataclass(frozen=True, eq=False)
class FrameSeries:
    """positions: of the projections among all that there were. count: of all. missing: numbers."""

    positions: Indices
    count: int
    missing: tuple[int, ...]

    def check(self, folder: object, angles: str) -> None:
        """An error where so many are missing that a range of angles does not say which projection has which."""
        if len(self.missing) > MAX_MISSING_SHARE * self.count:
            raise InvalidInput(
                f"The projections numbered {self._listed} are missing in {folder}, so --angles {angles} is ambiguous.",
                remedy="Use --angles with a file of one angle per projection, or renumber the files without gaps.",
            )

    def sentence(self, folder: object) -> str:
        return (
            f"The projections numbered {self._listed} are missing in {folder}: the others have the angles of their "
            "numbers."
        )

    @property
    def _listed(self) -> str:
        more = " and more" if len(self.missing) > MAX_LISTED else ""
        return ", ".join(map(str, self.missing[:MAX_LISTED])) + more


def in_natural_order(names: Iterable[str]) -> list[str]:
    """As frames are read."""
    return sorted(names, key=natural_key)
