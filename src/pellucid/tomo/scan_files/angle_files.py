"""The file of angles next to the frames of a scan.

Here: find_angles, which looks for angles.txt, logs and tables beside a folder of frames.
Not here: what such a file says (angle_tables), angles in HDF5 (hdf5).
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from pellucid.errors import InvalidInput, PellucidError
from pellucid.tomo.scan import Floats
from pellucid.tomo.scan_files.angle_tables import ANGLE_WORDS, AngleTable, read_table
from pellucid.tomo.scan_files.angles import angles_from_file, fitted_to
from pellucid.tomo.scan_files.frame_names import DARK, FLAT, words_of
from pellucid.tomo.scan_files.text_tables import AnglesUnclear

SUFFIXES = {".txt", ".csv", ".tsv", ".dat", ".log", ".npy", ".angles", ".ang", ".rot"}
MAX_FILES = 50
"""Files that are looked into for a column of angles."""


def find_angles(
    folder: Path, inside: str, counts: tuple[int, ...], *, is_growing: bool = False
) -> tuple[Floats | None, list[str], tuple[Path, ...]]:
    """Angles in degrees of so many projections, a sentence that says where they are from, and the files that have them.

    counts: of the projections that are used, and of all frames. inside: the folder of the projections below the folder
    of the scan. Files that are called angles, theta or the like are taken first; other tables and logs only where they
    name a column of angles and have one for every projection.
    """
    files = _files(folder, inside)
    called = [path for path in files if set(words_of(path.stem)) & ANGLE_WORDS]
    if called:
        found = [(path, _fitted(angles_from_file(path), path, counts, is_growing)) for path in called]
    else:
        found = [(path, table) for path in files if (table := _logged(path, counts, is_growing)) is not None]
    if not found:
        return None, [], ()
    path, table = found[0]
    if any(not _is_same(other.angles_deg, table.angles_deg) for _, other in found[1:]):
        listed = ", ".join(str(path) for path, _ in found)
        raise InvalidInput(f"Several files contain different angles: {listed}.", remedy=f"Choose one: --angles {path}.")
    reply = [f"The angles are from {path.name}{table.origin and f', {table.origin}'}."]
    return table.angles_deg, reply, tuple(path for path, _ in found)


def has_angles(folder: Path) -> bool:
    """Whether a file in a folder is called like one with angles; none is opened."""
    return any(set(words_of(path.stem)) & ANGLE_WORDS for path in _files(folder, ""))


def _files(folder: Path, inside: str) -> list[Path]:
    """Text files in the folder of a scan, in that of its projections, and those beside it that start with its name."""
    places = [folder] if not inside else [folder, folder / inside]
    found = [path for place in places for path in sorted(place.iterdir())]
    absolute = folder.absolute()
    found += [path for path in _listed(absolute.parent) if absolute.name and path.name.startswith(absolute.name)]
    found = [path for path in found if path.suffix.lower() in SUFFIXES and not path.name.startswith(".")]
    # Flats and darks may have logs of their own.
    return [path for path in found if not set(words_of(path.stem)) & (FLAT | DARK) and path.is_file()][:MAX_FILES]


def _listed(folder: Path) -> Iterable[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:  # What is beside a folder may be closed to its reader.
        return []


def _is_same(some: Floats, others: Floats) -> bool:
    return len(some) == len(others) and np.allclose(some, others, atol=1e-3)


def _fitted(table: AngleTable, path: Path, counts: tuple[int, ...], is_growing: bool) -> AngleTable:
    return replace(table, angles_deg=fitted_to(counts, table.angles_deg, str(path), is_growing=is_growing))


def _logged(path: Path, counts: tuple[int, ...], is_growing: bool) -> AngleTable | None:
    """The angles of a text file that says itself that they are angles; None of one that does not."""
    try:
        table = None if path.suffix == ".npy" else read_table(path)
        return _fitted(table, path, counts, is_growing) if table and table.is_named else None
    except AnglesUnclear:
        raise
    except (PellucidError, OSError, ValueError):
        return None
