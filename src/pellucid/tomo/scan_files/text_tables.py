"""Tables in text files: which characters separate cells, and which are decimal commas.

Here: TextTable, the names of columns and the cells below them; AnglesUnclear, where they can be read in two ways.
Not here: what the columns mean (angle_tables).
"""

import re
from dataclasses import dataclass
from pathlib import Path

from pellucid.errors import InvalidInput

_COMMENTS = ("#", "%", "!")
_DECIMAL = re.compile(r"[-+]?\d+,\d+(?:[eE][-+]?\d+)?")
_PLAIN = re.compile(r"[-+]?\d+")


class AnglesUnclear(InvalidInput):
    """A table that holds angles, but does not say clearly where."""


@dataclass(frozen=True)
class TextTable:
    """header: the cells of the line above the numbers, empty where there is no such line. rows: with decimal points."""

    header: list[str]
    rows: list[list[str]]

    @classmethod
    def of(cls, lines: list[str], path: Path) -> "TextTable":
        """path: named in errors."""
        lines = [stripped for line in lines if (stripped := line.strip())]
        header: list[str] = []
        rows: list[list[str]] = []
        has_decimals = _has_decimal_commas(lines, path)
        for line in lines:
            cells = _cells(line.lstrip("#%! "), has_decimals)
            if not line.startswith(_COMMENTS) and (rows or is_number(cells[0]) or is_number(cells[-1])):
                rows.append(cells)
            elif not rows:
                header = cells
        return cls(header, rows)

    @property
    def width(self) -> int:
        return max(map(len, self.rows))

    def is_numeric(self, column: int) -> bool:
        return all(len(row) > column and is_number(row[column]) for row in self.rows)

    def has_names(self) -> bool:
        """Whether every column has a name."""
        return len(self.header) == self.width

    def title(self, column: int) -> str:
        """The name of a column, or its number from 1."""
        return f"column {self.header[column]!r}" if self.has_names() else f"column {column + 1}"


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _cells(text: str, has_decimals: bool) -> list[str]:
    """Of a line: separated by tabs, semicolons or commas where it has any, else by spaces outside of brackets."""
    for separator in ("\t", ";") if has_decimals else ("\t", ";", ","):
        if separator in text:
            cells = [cell.strip().strip('"').strip() for cell in text.rstrip(separator).split(separator)]
            break
    else:
        joined = re.sub(r"\s*([\[(][^\])]*[\])])", lambda found: found[1].replace(" ", ""), text)
        cells = joined.split() or [""]
    return [cell.replace(",", ".") if _DECIMAL.fullmatch(cell) else cell for cell in cells]


def _has_decimal_commas(lines: list[str], path: Path) -> bool:
    """Whether commas are parts of numbers, in lines that neither tabs nor semicolons separate."""
    lines = [line for line in lines if not any(separator in line for separator in "\t;")]
    numbers = [line for line in lines if not line.startswith(_COMMENTS) and any(map(str.isdigit, line))]
    with_commas = [line for line in numbers if "," in line]
    if not with_commas or any("," in line for line in lines if line not in numbers):
        return False  # A comma in the names of the columns separates them.
    words = [line.split() for line in with_commas]
    if not all(_DECIMAL.fullmatch(word) for line in words for word in line if "," in word):
        return False
    if any(len(line) > 1 for line in words) or len(with_commas) < len(numbers):
        return True
    return _is_one_column([line.split(",") for line in with_commas], path)


def _is_one_column(halves: list[list[str]], path: Path) -> bool:
    """Of lines such as 12,000: whether that is one number, and not a count and a whole number."""
    if not all(_PLAIN.fullmatch(half) for pair in halves for half in pair):
        return True
    wholes = [int(whole) for whole, _ in halves]
    if wholes[0] not in (0, 1) or wholes != list(range(wholes[0], wholes[0] + len(wholes))):
        return True
    fractions = {fraction for _, fraction in halves}
    if len(fractions) == 1:
        return True
    if len({len(fraction) for fraction in fractions}) > 1:
        return False
    raise AnglesUnclear(
        f"The commas in {path} may separate columns, or be decimal commas: {','.join(halves[0])!r}.",
        remedy="Write decimal points, or separate columns with semicolons.",
    )
