"""Angles in text files: one per line, a table with a column of angles, or a log that names them.

Here: AngleTable, read from a file.
Not here: which file belongs to a scan (angle_files), ranges such as 0:180 (angles).
"""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.formats.sources import read_text
from pellucid.tomo.reading.names import words_of
from pellucid.tomo.scan import Floats

ANGLE_WORDS = {"angle", "angles", "theta", "thetas", "rotation", "rot", "omega", "phi", "deg", "degrees", "degree"}
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_LABELLED = re.compile(rf"\b(?:angle|theta)\b[\"']?\s*(?:\((?:deg|degrees|°)\)\s*)?[:=]\s*({_NUMBER})", re.IGNORECASE)
_MAX_BYTES = 64 << 20


@dataclass(frozen=True, eq=False)
class AngleTable:
    """angles_deg: one per line. is_named: the file says that they are angles, in a header or on every line."""

    angles_deg: Floats
    is_named: bool


def read_table(path: Path) -> AngleTable:
    """The angles of a text file; an error where it is not clear which of its columns they are."""
    if path.stat().st_size > _MAX_BYTES:
        raise InvalidInput(f"{path} is too large for a list of angles.", do="Pass a file with one angle per line.")
    lines = read_text(path).splitlines()
    labelled = [found for line in lines if (found := _LABELLED.search(line))]
    if len(labelled) > 1:
        return AngleTable(np.array([float(found[1]) for found in labelled]), is_named=True)
    return _columns(path, lines)


def _columns(path: Path, lines: list[str]) -> AngleTable:
    """The column that is called so, the only one with numbers, or the one beside a count of the lines."""
    header, rows = _split(lines)
    if not rows:
        raise InvalidInput(f"{path} holds no angles.", do="Keep one angle in degrees per line.")
    named = [n for n, cell in enumerate(header) if _is_angle(cell)]
    width = max(map(len, rows))
    is_radians = _is_radians(" ".join(header))
    if width == 1:
        column, is_named = 0, bool(named)
    elif len(named) == 1 and len(header) == width:
        column, is_named, is_radians = named[0], True, _is_radians(header[named[0]])
    else:
        column, is_named = _beside_count(path, rows, width), bool(named)
    values = _numbers(path, rows, column)
    return AngleTable(np.rad2deg(values) if is_radians else values, is_named)


def _split(lines: list[str]) -> tuple[list[str], list[list[str]]]:
    """The cells of the line above the numbers, and those of the lines from there on."""
    header: list[str] = []
    rows: list[list[str]] = []
    for line in filter(None, map(str.strip, lines)):
        cells = _cells(line.lstrip("#%! "))
        if not line.startswith(("#", "%", "!")) and (rows or _is_number(cells[0]) or _is_number(cells[-1])):
            rows.append(cells)
        elif not rows:
            header = cells
    return header, rows


def _beside_count(path: Path, rows: list[list[str]], width: int) -> int:
    """The only column whose numbers go steadily up or down, apart from a count of the lines."""
    numbers = [n for n in range(width) if all(len(row) > n and _is_number(row[n]) for row in rows)]
    values = {n: _numbers(path, rows, n) for n in numbers}
    others = [n for n in numbers if not _is_counting(values[n])] or numbers[-1:]
    if len(others) == 1 and len(numbers) <= 2 and _is_steady(values[others[0]]):
        return others[0]
    raise InvalidInput(
        f"{path} has {width} columns, and it is not clear which of them holds the angles.",
        do="Name the columns in a first line such as 'number,angle', or keep one angle per line.",
    )


def _cells(text: str) -> list[str]:
    """Of a line: separated by tabs, commas or semicolons where it has any, else by spaces outside of brackets."""
    for separator in ("\t", ",", ";"):
        if separator in text:
            return [cell.strip() for cell in text.rstrip(separator).split(separator)]
    joined = re.sub(r"\s*([\[(][^\])]*[\])])", lambda found: found[1].replace(" ", ""), text)
    return joined.split() or [""]


def _numbers(path: Path, rows: list[list[str]], column: int) -> Floats:
    try:
        values = np.array([float(row[column]) for row in rows])
    except (ValueError, IndexError):
        wrong = next(row for row in rows if len(row) <= column or not _is_number(row[column]))
        raise InvalidInput(
            f"{path} holds a line without an angle: {' '.join(wrong)[:80]!r}.", do="Keep one number per line."
        ) from None
    if not np.isfinite(values).all():
        raise InvalidInput(f"{path} holds angles that are not finite.", do="Keep one number per line.")
    return values


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_angle(cell: str) -> bool:
    return bool(set(words_of(cell)) & ANGLE_WORDS)


def _is_radians(cell: str) -> bool:
    return bool({"rad", "radian", "radians"} & set(words_of(cell)))


def _is_counting(column: Floats) -> bool:
    return len(column) > 1 and column[0] in (0, 1) and bool((np.diff(column) == 1).all())


def _is_steady(column: Floats) -> bool:
    steps = np.diff(column)
    return bool((steps >= 0).all() or (steps <= 0).all())
