"""Arguments that several commands take, parsed once.

Here: text to numbers, shapes, ranges, sizes, times and colours; headerless files; device and memory; check_folder.
Not here: what the commands do with them.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pellucid.box import Shape, triple
from pellucid.errors import InvalidInput
from pellucid.formats.location import Location
from pellucid.settings import parse_size

Group = argparse.ArgumentParser | argparse._ArgumentGroup
TIME_UNITS_S = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
OPTION = re.compile(r"--[a-z][a-z-]*")
NEGATIVE = re.compile(r"-(\.?\d|inf|nan|[xyz]$)", re.IGNORECASE)

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add_source(parser: argparse.ArgumentParser, *, is_optional: bool = False) -> None:
    """The volume to read, and what a headerless file cannot say itself."""
    what = "file, folder or s3:// address; file.h5:/dataset; file:t=3,c=0"
    parser.add_argument("source", nargs="?" if is_optional else None, help=what)
    raw = parser.add_argument_group("headerless files")
    raw.add_argument("--shape", help="Z,Y,X voxels (or XxYxZ, as in file names)")
    raw.add_argument("--source-dtype", help="voxel type in the file, such as uint16")
    raw.add_argument("--byte-order", choices=("le", "be"), help="little (default) or big endian")
    raw.add_argument("--offset", type=int, help="bytes before the first voxel")


def source_location(options: argparse.Namespace) -> Location:
    return Location.parse(options.source).with_options(
        **{
            name: value
            for name, value in {
                "shape": options.shape,
                "dtype": options.source_dtype,
                "order": options.byte_order,
                "offset": options.offset,
            }.items()
            if value is not None
        }
    )


def add_device(group: Group, default: str | None = None) -> None:
    group.add_argument("--device", default=default, help="cpu, cuda or cuda:1 (default: a GPU if available)")


def add_memory(group: Group) -> None:
    group.add_argument("--memory", help="maximum memory, such as 4GiB (default: half of the free memory)")


def join_negative_numbers(words: Sequence[str]) -> list[str]:
    """Values that begin with a minus, joined to their options: argparse would take them for options.

    >>> join_negative_numbers(["--range", "-0.01,0.05", "--up", "-y"])
    ['--range=-0.01,0.05', '--up=-y']
    """
    joined: list[str] = []
    for word in words:
        if joined and OPTION.fullmatch(joined[-1]) and NEGATIVE.match(word):
            joined[-1] = f"{joined[-1]}={word}"
        else:
            joined.append(word)
    return joined


def check_folder(output: Path) -> None:
    """Refuse a place without a folder, before anything is made that could not be written there."""
    folder = output.absolute().parent
    if not folder.is_dir():
        raise InvalidInput(f"The folder {folder} does not exist.", remedy="Create it, or choose another output.")


def count_argument(text: str) -> int:
    """A whole number from 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


def bytes_argument(text: str) -> int:
    """Bytes: ``131kB``, ``1MB``, ``4GiB`` or a number.

    >>> bytes_argument("1.5MB")
    1500000
    """
    try:
        size = parse_size(text)
    except ValueError:
        size = -1
    if not 0 <= size <= sys.maxsize:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a size. Use a number of bytes, such as 131kB or 4GiB")
    return size


def time_argument(text: str) -> float:
    """Seconds: ``60``, ``60s``, ``5min`` or ``2h``.

    >>> time_argument("5min")
    300.0
    """
    match = re.fullmatch(r"(\d+(?:\.\d*)?)\s*(s|min|m|h|)", text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a time. Use a number and a unit, such as 60s or 5min")
    return float(match[1]) * TIME_UNITS_S[match[2]]


def shape_argument(text: str) -> Shape:
    """``64`` or ``64,128,128``."""
    numbers = [int(part) if part.isdecimal() else 0 for part in text.split(",")]
    if len(numbers) not in (1, 3) or min(numbers) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not one or three whole numbers from 1 (Z,Y,X)")
    return triple(numbers * 3 if len(numbers) == 1 else numbers)


def size_argument(text: str) -> str:
    """``1920x1080``, or a size on paper such as ``17x12cm``."""
    from pellucid.rendering.figures.image_files import pixel_size

    try:
        pixel_size(text, 300)
    except InvalidInput as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not WIDTHxHEIGHT, in pixels, cm, mm or in") from error
    return text


def range_argument(text: str) -> tuple[float, float] | Literal["auto"]:
    """``LOW,HIGH`` or ``auto``."""
    if text == "auto":
        return "auto"
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not LOW,HIGH or auto") from None
    if not (isfinite(low) and isfinite(high)):
        raise argparse.ArgumentTypeError(f"{text!r} is not LOW,HIGH in finite numbers")
    return low, high


def parameter_argument(text: str) -> tuple[str, float]:
    """``NAME=VALUE``."""
    name, _, value = text.partition("=")
    try:
        return name.strip(), number_argument(value)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE, with a finite number") from None


def shading_argument(text: str) -> str:
    """The name of a shading; ``ao`` is what most call ambient occlusion."""
    return "occlusion" if text == "ao" else text


def levels_argument(text: str) -> int | Literal["auto"]:
    """A number of levels, or ``auto``."""
    return "auto" if text == "auto" else count_argument(text)


def number_argument(text: str) -> float:
    """A finite number: nothing is at NaN degrees or at an infinite value."""
    try:
        number = float(text)
    except ValueError:
        number = nan
    if not isfinite(number):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number")
    return number


def positive_argument(text: str) -> float:
    """A number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number


def slice_argument(text: str) -> tuple[str, int]:
    """``z=120``: an axis and a voxel along it."""
    axis, _, number = text.partition("=")
    if axis not in ("x", "y", "z") or not number.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not AXIS=N, such as z=120")
    return axis, int(number)


NAMED = {
    "black": (0.0, 0.0, 0.0, 1.0),
    "white": (1.0, 1.0, 1.0, 1.0),
    "gray": (0.5, 0.5, 0.5, 1.0),
    "transparent": (0.0, 0.0, 0.0, 0.0),
}


def background_argument(text: str) -> tuple[float, float, float, float]:
    """``white``, ``transparent`` or ``#20242c``."""
    if text in NAMED:
        return NAMED[text]
    if not re.fullmatch(r"#[0-9a-fA-F]{6}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not {', '.join(NAMED)} or #rrggbb")
    red, green, blue = (int(text[start : start + 2], 16) / 255 for start in (1, 3, 5))
    return red, green, blue, 1.0
