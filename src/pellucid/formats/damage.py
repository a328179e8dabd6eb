"""Damaged files: what libraries raise for invalid bytes, and headers with impossible values.

Here: naming_damage(), around everything that interprets a file; check_header() and known_spacing(), for
every header that was read.
Not here: faults that a format knows itself (each format), what the system refuses (system_errors).
"""

import logging
import math
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import prod

from pellucid.errors import Corrupted, InvalidInput, PellucidError
from pellucid.formats.protocol import Header, Level, Spacing
from pellucid.printable import printable

_log = logging.getLogger(__name__)

MAX_AXIS = 2**48
MAX_BYTES = 2**62

# Subclasses of these are what parsers, NumPy and the libraries for formats are seen to raise.
_BROKEN = (
    ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError, AssertionError, EOFError,
    struct.error, zlib.error,
)  # fmt: skip


@contextmanager
def naming_damage(path: str, what: str) -> Iterator[None]:
    """Turn whatever is raised while a file is interpreted into an error that names it."""
    try:
        yield
    except PellucidError:
        raise
    except MemoryError as error:
        raise InvalidInput(
            f"Not enough memory to read {path}.",
            remedy="Read a box or a coarser level of it; if that fails too, the file may be corrupted.",
        ) from error
    except OSError as error:
        if error.errno is not None:  # The system's own refusals are not the file's fault.
            raise
        raise _damaged(path, what, error) from error
    except _BROKEN as error:
        raise _damaged(path, what, error) from error


def _damaged(path: str, what: str, error: Exception) -> Corrupted:
    return Corrupted(path, f"{what} ({type(error).__name__}: {str(error)[:200]})")


def check_header(path: str, header: Header) -> None:
    """Raise Corrupted if the values of a header are invalid."""
    counts = (header.times, header.channels)
    for level in header.levels:
        if not all(type(n) is int and 0 < n < MAX_AXIS for n in (*level.shape, *level.chunk)):
            raise Corrupted(path, f"its shape {level.shape} or chunk {level.chunk} (z, y, x) is invalid")
    if not all(type(n) is int and 0 < n < MAX_AXIS for n in counts):
        raise Corrupted(path, f"its {header.times} time steps and {header.channels} channels are invalid")
    if prod((*header.levels[0].shape, *counts)) * header.dtype.itemsize > MAX_BYTES:
        raise Corrupted(path, f"its shape {header.levels[0].shape} (z, y, x) is invalid")


def known_spacing(path: str, header: Header) -> Header:
    """The header with spacings that are finite and above 0; a log entry where it had others.

    An axis whose spacing is unknown has the smallest one of the other axes; where none is known, all are 1, in no unit.
    """
    first = header.levels[0].spacing
    if all(_is_length(step) for level in header.levels for step in level.spacing):
        return header
    known = [step for step in first if _is_length(step)]
    z, y, x = (step if _is_length(step) else min(known, default=1.0) for step in first)
    levels = tuple(replace(level, spacing=_scaled(level, header.levels[0], (z, y, x))) for level in header.levels)
    _log.warning(
        "The spacing (%s) of %s is not finite and above 0; (%s) is used along z, y, x.",
        _listed(first),
        printable(path),
        _listed((z, y, x)),
    )
    return replace(header, levels=levels, unit=header.unit if known else "")


def _is_length(step: float) -> bool:
    return math.isfinite(step) and step > 0


def _scaled(level: Level, full: Level, spacing: Spacing) -> Spacing:
    """The spacing of a level; where it states none, from its shape."""
    z, y, x = (
        own if _is_length(own) and _is_length(stated) else step * round(long / short)
        for own, stated, step, long, short in zip(
            level.spacing, full.spacing, spacing, full.shape, level.shape, strict=True
        )
    )
    return (z, y, x)


def _listed(spacing: Spacing) -> str:
    return ", ".join(f"{step:g}" for step in spacing)
