"""Angles in text files: one per line, a table with a column of angles, or a log that names them.

Here: AngleTable, read from a file: the column of angles, in the order of the frames.
Not here: cells (text_tables), which file belongs to a scan (angle_files), ranges such as 0:180 (angles).
"""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.formats.byte_sources import read_text
from pellucid.formats.tiff.file_numbers import natural_key
from pellucid.tomo.scan import Floats
from pellucid.tomo.scan_files.angle_units import UNITS
from pellucid.tomo.scan_files.frame_names import read_name, words_of
from pellucid.tomo.scan_files.text_tables import AnglesUnclear, TextTable, is_number

ANGLE_WORDS = {"angle", "angles", "theta", "thetas", "rotation", "rot", "omega", "phi", "deg", "degrees", "degree"}
_OTHER_WORDS = {
    *("error", "errors", "err", "time", "times", "timestamp", "date", "std", "sigma", "deviation", "difference"),
    *("speed", "velocity", "acceleration", "step", "steps", "size", "range", "status", "state", "count", "counts"),
    *("index", "number", "offset", "temperature", "current", "uncertainty", "diff"),
}  # fmt: skip
"""A column with such a word in its name describes an angle, but does not contain it."""
_NUMBER_WORDS = {
    *("frame", "frames", "number", "num", "no", "nr", "n", "i", "index", "idx", "image", "img", "projection", "proj"),
    *("view", "id"),
}  # fmt: skip
_IMAGES = (".tif", ".tiff", ".img", ".his", ".edf", ".raw", ".png", ".jpg", ".fits", ".cbf")
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_LABELLED = re.compile(rf"\b(?:angle|theta)\b[\"']?\s*(?:\((?:deg|degrees|°)\)\s*)?[:=]\s*({_NUMBER})", re.IGNORECASE)
_LABELLED_COMMA = re.compile(
    r"\b(?:angle|theta)\b[\"']?\s*(?:\((?:deg|degrees|°)\)\s*)?[:=]\s*[-+]?\d+,\d", re.IGNORECASE
)
_MAX_BYTES = 64 << 20


@dataclass(frozen=True, eq=False)
class AngleTable:
    """angles_deg: one per line. is_named: the file says that they are angles, in a header or on every line.

    origin: which column they are from and which one put them in order, empty where the file has one column.
    """

    angles_deg: Floats
    is_named: bool
    origin: str = ""


def read_table(path: Path) -> AngleTable:
    """The angles of a text file; an error where it is not clear which of its columns they are."""
    if path.stat().st_size > _MAX_BYTES:
        raise InvalidInput(f"{path} is too large for a list of angles.", remedy="Pass a file with one angle per line.")
    lines = read_text(path).removeprefix("\ufeff").splitlines()
    labelled = [found for line in lines if (found := _LABELLED.search(line))]
    if len(labelled) > 1:
        if any(_LABELLED_COMMA.search(line) for line in lines):
            raise AnglesUnclear(f"The angles in {path} have decimal commas.", remedy="Write decimal points.")
        return AngleTable(np.array([float(found[1]) for found in labelled]), is_named=True)
    return _of_columns(path, TextTable.of(lines, path))


def _of_columns(path: Path, table: TextTable) -> AngleTable:
    """The column that is called so, the only one with numbers, or the one beside a count of the lines."""
    if not table.rows:
        raise InvalidInput(f"{path} contains no angles.", remedy="Keep one angle in degrees per line.")
    if table.width == 1:
        title = " ".join(table.header)
        return AngleTable(_numbers(path, table, 0) * _degrees_per(title), is_named=bool(_words(title) & ANGLE_WORDS))
    named = _named_column(path, table) if table.has_names() else None
    column = _beside_count(path, table) if named is None else named
    values = _numbers(path, table, column)
    values = values * _degrees_per(table.header[column] if table.has_names() else " ".join(table.header))
    order, by = _frame_order(table, column)
    origin = f"{table.title(column)}{f', in the order of {by}' if by else ''}"
    return AngleTable(values if order is None else values[order], named is not None, origin)


def _named_column(path: Path, table: TextTable) -> int | None:
    """The column that is called angle, theta or the like; or else the only one with such a word in its name."""
    words = [_words(cell) for cell in table.header]
    exact = [n for n, text in enumerate(words) if text & ANGLE_WORDS and text <= ANGLE_WORDS | UNITS.keys()]
    others = [n for n, text in enumerate(words) if text & ANGLE_WORDS and not text & _OTHER_WORDS]
    named = exact or others
    if len(named) > 1:
        listed = ", ".join(repr(table.header[n]) for n in named)
        raise AnglesUnclear(
            f"{path} has several columns of angles: {listed}.",
            remedy="Keep one of them, or set --angles to a file with one angle in degrees per line.",
        )
    return named[0] if named else None


def _frame_order(table: TextTable, angles: int) -> tuple[list[int] | None, str]:
    """The rows in the order of the files or frames that a column names, and its name; None where they are in order.

    Frames are read in the order of the numbers in their names, which is that of the sorted names. Rows of files that
    are called flats or darks are left out.
    """
    every = list(range(len(table.rows)))
    for column in range(table.width):
        cells = [row[column] for row in table.rows if len(row) > column]
        if column == angles or len(set(cells)) < len(every):
            continue
        if _are_files(table, column, cells):
            order = sorted(_of_projections(cells), key=lambda row: natural_key(cells[row]))
        elif _are_frame_numbers(table, column):
            order = sorted(every, key=lambda row: int(cells[row]))
        else:
            continue
        if order != every:
            return order, table.title(column)
    return None, ""


def _of_projections(files: list[str]) -> list[int]:
    """Rows whose files are not called flats or darks; all, where that leaves none."""
    kinds = [read_name(file.replace("\\", "/").rpartition("/")[2]).kind for file in files]
    rows = [row for row, kind in enumerate(kinds) if kind not in ("flats", "darks")]
    return rows or list(range(len(files)))


def _are_files(table: TextTable, column: int, cells: list[str]) -> bool:
    is_called = table.has_names() and bool(
        _words(table.header[column]) & {"file", "files", "filename", "name", "image"}
    )
    return not any(map(is_number, cells)) and (is_called or all(cell.lower().endswith(_IMAGES) for cell in cells))


def _are_frame_numbers(table: TextTable, column: int) -> bool:
    is_called = table.has_names() and bool(words := _words(table.header[column])) and words <= _NUMBER_WORDS
    return is_called and all(cell.isdecimal() for cell in (row[column] for row in table.rows))


def _beside_count(path: Path, table: TextTable) -> int:
    """The only column whose numbers go steadily up or down, apart from a count of the lines."""
    numbers = [n for n in range(table.width) if table.is_numeric(n)]
    values = {n: _numbers(path, table, n) for n in numbers}
    others = [n for n in numbers if not _is_counting(values[n])] or numbers[-1:]
    is_ordered = len(others) == 1 and _frame_order(table, others[0])[0] is not None
    if len(others) == 1 and len(numbers) <= 2 and (is_ordered or _is_steady(values[others[0]])):
        return others[0]
    raise InvalidInput(
        f"{path} has {table.width} columns, and the column of the angles is ambiguous.",
        remedy="Name the columns in a first line such as 'number,angle', or keep one angle per line.",
    )


def _numbers(path: Path, table: TextTable, column: int) -> Floats:
    try:
        values = np.array([float(row[column]) for row in table.rows])
    except (ValueError, IndexError):
        wrong = next(row for row in table.rows if len(row) <= column or not is_number(row[column]))
        raise InvalidInput(
            f"{path} has a line without an angle: {' '.join(wrong)[:80]!r}.", remedy="Keep one number per line."
        ) from None
    if not np.isfinite(values).all():
        raise InvalidInput(f"{path} contains angles that are not finite.", remedy="Keep one number per line.")
    return values


def _words(cell: str) -> set[str]:
    return set(words_of(cell))


def _degrees_per(title: str) -> float:
    """Of the unit in the name of a column; without one, angles are in degrees."""
    return next((UNITS[word] for word in words_of(title) if word in UNITS), 1.0)


def _is_counting(column: Floats) -> bool:
    return len(column) > 1 and column[0] in (0, 1) and bool((np.diff(column) == 1).all())


def _is_steady(column: Floats) -> bool:
    steps = np.diff(column)
    return bool((steps >= 0).all() or (steps <= 0).all())
