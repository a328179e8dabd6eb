"""Voxel types, byte orders, shapes and spacings as users write them.

Here: parsing and printing those texts, from names of files and from options of a location.
Not here: the formats' own spellings (each header has its own).
"""

import re
from math import inf
from typing import Any, Literal

import numpy as np

from pellucid.box import Shape
from pellucid.errors import InvalidInput
from pellucid.formats.location import Location
from pellucid.formats.protocol import VOXEL_TYPES, Spacing

MAX_NAMED_FILES = 100_000
_ORDERS: dict[str, Literal["<", ">"]] = {"le": "<", "little": "<", "be": ">", "big": ">"}


def parse_shape(text: str) -> Shape:
    """``Z,Y,X`` with commas, or ``XxYxZ`` as in the names of files.

    >>> parse_shape("361,512,256"), parse_shape("256x512x361")
    ((361, 512, 256), (361, 512, 256))
    """
    numbers = text.split(",") if "," in text else text.lower().split("x")[::-1]
    if len(numbers) != 3 or not all(re.fullmatch(r"\s*[1-9]\d*\s*", number) for number in numbers):
        raise InvalidInput(f"Invalid shape {text!r}.", remedy="Write shape=Z,Y,X or shape=XxYxZ.")
    z, y, x = map(int, numbers)
    return (z, y, x)


def print_shape(shape: Shape) -> str:
    """The form with x first that names of files carry.

    >>> print_shape((361, 512, 256))
    '256x512x361'
    """
    return "x".join(str(length) for length in reversed(shape))


def type_name(dtype: Any) -> str:
    """The name of a voxel type that is given by any name of NumPy's, without its byte order.

    >>> type_name("u1"), type_name(">f4"), type_name(float)
    ('uint8', 'float32', 'float64')
    """
    try:
        name = str(np.dtype(dtype).name)
    except (TypeError, ValueError):
        name = ""
    if name not in VOXEL_TYPES:
        raise InvalidInput(f"Unknown voxel type {dtype!r}.", remedy=f"Choose one of: {', '.join(VOXEL_TYPES)}.")
    return name


def parse_dtype(name: str, order: str = "le") -> np.dtype[Any]:
    """A voxel type in a byte order (``le`` or ``be``)."""
    order = "be" if name.startswith(">") else order
    name = type_name(name)
    if order not in _ORDERS:
        raise InvalidInput(f"Unknown byte order {order!r}.", remedy="Write order=le (little endian) or order=be.")
    return np.dtype(name).newbyteorder(_ORDERS[order])


def numbered_names(text: str) -> tuple[str, ...]:
    """Names of files from a pattern, its first number, its last and, unless it is 1, the step.

    >>> numbered_names("plane%02d.raw 1 3")
    ('plane01.raw', 'plane02.raw', 'plane03.raw')
    """
    found = re.match(r"(\S*?)%(0\d{1,2})?d(\S*)\s+(-?\d{1,15})\s+(-?\d{1,15})(?:\s+([1-9]\d{0,14}))?(?!\d)", text)
    if found is None:
        raise InvalidInput(f"Invalid file name pattern {text!r}.", remedy="Write it like plane%03d.raw 1 100 1.")
    head, width, tail, first, last, step = found.groups()
    numbers = range(int(first), int(last) + 1, int(step or "1"))
    if len(numbers) > MAX_NAMED_FILES:
        raise InvalidInput(
            f"{text!r} refers to {len(numbers):,} files; the maximum for one volume is {MAX_NAMED_FILES:,}.",
            remedy="Correct the numbers in the header, or put the planes into one file.",
        )
    return tuple(f"{head}{number:{width or ''}}{tail}" for number in numbers)


def spacing_option(location: Location) -> Spacing:
    """The spacing given with a location: ``spacing=0.5`` or ``spacing=2,0.5,0.5`` (z, y, x); else 1."""
    text = location.option("spacing")
    if text is None:
        return (1.0, 1.0, 1.0)
    try:
        numbers = [float(number) for number in text.split(",")]
        z, y, x = numbers * 3 if len(numbers) == 1 else numbers
    except ValueError:
        z = y = x = 0.0
    if not all(0 < step < inf for step in (z, y, x)):
        raise InvalidInput(f"Invalid spacing {text!r}.", remedy="Write spacing=Z,Y,X or one number for all, above 0.")
    return (z, y, x)
