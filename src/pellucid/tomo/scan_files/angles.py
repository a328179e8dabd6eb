"""Angles of projections, as users and files write them.

Here: ranges such as 0:180, files with one angle per line, the angles of a stage that stood still before and after.
Not here: which file holds them (the module of each kind).
"""

from pathlib import Path

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.formats.byte_sources import read_npy
from pellucid.tomo.scan import Floats
from pellucid.tomo.scan_files.angle_tables import AngleTable, read_table
from pellucid.tomo.scan_files.angle_units import degrees_per

INCLUSIVE = ":inclusive"
# A stage that stands still is read back within this part of a step.
_STILL = 0.05
# Angles over so much more or less than π or 2π look like radians; at least so many.
_LIKE_A_TURN, MIN_ANGLES = 0.03, 8


def angles_from_text(text: str, scan: Path, count: int) -> AngleTable:
    """Degrees: of a range one for every projection, of a dataset or file as many as it holds.

    >>> [angles_from_text(text, Path(), 4).angles_deg.tolist() for text in ("0:180", "0:180:inclusive")]
    [[0.0, 45.0, 90.0, 135.0], [0.0, 60.0, 120.0, 180.0]]
    """
    if not is_range(text):
        return _stored(text, scan)
    start, stop = map(float, text.removesuffix(INCLUSIVE).split(":"))
    return AngleTable(np.linspace(start, stop, count, endpoint=text.endswith(INCLUSIVE)), is_named=True)


def is_range(text: str) -> bool:
    """Whether angles are given by their ends.

    >>> is_range("0:180:inclusive"), is_range("angles.txt")
    (True, False)
    """
    try:
        return len([float(end) for end in text.removesuffix(INCLUSIVE).split(":")]) == 2
    except ValueError:
        return False


def _stored(text: str, scan: Path) -> AngleTable:
    """Angles from a dataset of the scan's file, or from a file of their own."""
    if Path(text).is_file():
        return angles_from_file(Path(text))
    if text.startswith("/") and scan.is_file():
        from pellucid.formats.hdf5.tree import Hdf5Tree  # A viewer that shows no scan starts sooner.

        with Hdf5Tree(scan) as tree:
            found = tree.array(text)
            if found is not None:
                return AngleTable(in_degrees(found.ravel(), tree.attribute(text, "units"), text), is_named=True)
    raise InvalidInput(
        f"Invalid angles {text!r}.",
        remedy="Write 0:180, 0:180:inclusive, or the name of a dataset or file with angles.",
    )


def angles_from_file(path: Path) -> AngleTable:
    """Degrees: a .npy array, or a text file with one angle per line or a column of them."""
    return AngleTable(_array(path), is_named=False) if path.suffix == ".npy" else read_table(path)


def _array(path: Path) -> Floats:
    try:
        return np.asarray(read_npy(path), np.float64).ravel()
    except (ValueError, EOFError, TypeError) as error:
        raise InvalidInput(
            f"{path} is not an array of angles: {error}.", remedy="Save one angle per projection."
        ) from None


def in_degrees(values: np.ndarray[tuple[int, ...], np.dtype[np.generic]], unit: str, name: str) -> Floats:
    """Angles in whatever unit a file names; without one they are degrees. name: of the dataset."""
    return np.asarray(values, np.float64) * degrees_per(unit, name)


def fitted_to(counts: tuple[int, ...], angles_deg: Floats, name: str, *, is_growing: bool = False) -> Floats:
    """As fitted() to the first count; as they are where there are as many as one of the other counts."""
    if len(angles_deg) in counts:
        return angles_deg
    return fitted(angles_deg, max(counts) if is_growing else counts[0], name, is_growing=is_growing)


def fitted(angles_deg: Floats, count: int, name: str, *, is_growing: bool = False) -> Floats:
    """As many angles as projections: those of a stage that stood still at either end belong to flats and darks.

    is_growing: there may be angles whose projections are still to come.

    >>> fitted(np.array([0.0, 0.0, 0.0, 60.0, 120.0, 120.0]), 3, "angles.txt").tolist()
    [0.0, 60.0, 120.0]
    """
    if len(angles_deg) == count or (is_growing and len(angles_deg) > count):
        return angles_deg[:count]
    moved = np.abs(np.diff(angles_deg)) > _STILL * np.median(np.abs(np.diff(angles_deg)))
    moving = np.flatnonzero(moved)
    if len(moving) and moving[-1] - moving[0] + 2 == count:
        return angles_deg[moving[0] : moving[-1] + 2]
    raise InvalidInput(
        f"{name} contains {len(angles_deg)} angles, but there are {count} projections.",
        remedy="Use one angle per projection, or a range such as 0:180.",
    )


def radian_warnings(angles_deg: Floats) -> list[str]:
    """A sentence where angles in degrees cover what a half turn or a full turn would be in radians.

    >>> radian_warnings(np.linspace(0, 180, 100)), len(radian_warnings(np.linspace(0, 3.14, 100)))
    ([], 1)
    """
    if len(angles_deg) < MIN_ANGLES or not np.isfinite(angles_deg).all():
        return []
    turned = float(np.ptp(angles_deg)) * len(angles_deg) / (len(angles_deg) - 1)
    nearest = np.pi if turned < 1.5 * np.pi else 2 * np.pi
    if abs(turned - nearest) > _LIKE_A_TURN * nearest:
        return []
    return [
        f"The angles go from {angles_deg.min():.4g} to {angles_deg.max():.4g} and are assumed to be degrees, "
        'but look like radians. If they are radians, set the attribute units of their dataset to "rad", '
        f"or pass degrees: --angles 0:{round(np.degrees(nearest))}, or a file."
    ]
