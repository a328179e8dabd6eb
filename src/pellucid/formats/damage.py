"""Damaged files: what libraries raise on bytes that make no sense, and headers that no volume can have.

Here: naming_damage(), around everything that interprets a file; check_header(), for every header that was read.
Not here: faults that a format knows itself (each format), what the system refuses (sources).
"""

import math
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod

from pellucid.errors import Corrupted, InvalidInput, PellucidError
from pellucid.formats.protocol import Header

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
            raise Corrupted(path, f"its shape {level.shape} or chunk {level.chunk} is invalid")
        if not all(math.isfinite(step) and step > 0 for step in level.spacing):
            raise Corrupted(path, f"its spacing {level.spacing} is invalid")
    if not all(type(n) is int and 0 < n < MAX_AXIS for n in counts):
        raise Corrupted(path, f"its {header.times} time steps and {header.channels} channels are invalid")
    if prod((*header.levels[0].shape, *counts)) * header.dtype.itemsize > MAX_BYTES:
        raise Corrupted(path, f"its shape {header.levels[0].shape} is invalid")
