"""Compressing parameters: rounded to steps, and entropy-coded with a prediction from their neighbours.

Here: coded_arrays and decoded_arrays, which visit the nodes of a grid from coarse to fine.
Not here: probabilities of symbols (symbol_coder), where bytes lie (container), nor the choice of steps.

Every eighth node of a grid comes first. Then the spacing is halved three times, along one axis after the other, so that
every new node lies between two that are known. Everything is computed in whole numbers: all machines decode alike.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.formats.neural_field.field import Floats
from pellucid.formats.neural_field.symbol_coder import MAX_SYMBOL, SymbolCoder, SymbolDecoder, SymbolEncoder, Symbols

SYMBOLS_PER_BYTE = 2048
"""More symbols than this have never so few bytes: probabilities have a lower limit."""

_COARSEST = 8
_ARRAY = struct.Struct("<fI")  # step, mean magnitude of the symbols


def rounded(values: Floats, step: float) -> Symbols:
    """Whole numbers of steps."""
    return np.asarray(np.clip(np.rint(values / np.float32(step)), -MAX_SYMBOL, MAX_SYMBOL), np.int32)


def coded_arrays(arrays: Sequence[tuple[Floats, float]]) -> bytes:
    """Arrays and the steps to which they are rounded, as bytes. What is learnt from one serves the next."""
    heads, coder = [], SymbolEncoder()
    for values, step in arrays:
        symbols = rounded(values, step)
        mean = int(np.abs(symbols).mean())
        heads.append(_ARRAY.pack(step, mean))
        _visit(symbols.reshape(_grid_shape(values.shape)), coder, mean)
    return b"".join([*heads, coder.finished()])


def array_steps(data: bytes, count: int) -> list[float]:
    """The steps to which so many coded arrays were rounded."""
    return [_ARRAY.unpack_from(data, number * _ARRAY.size)[0] for number in range(count)]


def decoded_arrays(data: bytes, shapes: Sequence[tuple[int, ...]]) -> list[Floats]:
    """The arrays of these shapes. ValueError, struct.error or AssertionError where the bytes do not describe them."""
    start = _ARRAY.size * len(shapes)
    # In Python's whole numbers, which do not overflow.
    if sum(_count(shape) for shape in shapes) > SYMBOLS_PER_BYTE * (len(data) + 1):
        raise ValueError("it has more parameters than its bytes can hold")
    if len(data) < start or (len(data) - start) % 4:
        raise ValueError("the coded parameters have an invalid length")
    coder = SymbolDecoder(data[start:])
    arrays = []
    for number, shape in enumerate(shapes):
        step, mean = _ARRAY.unpack_from(data, number * _ARRAY.size)
        if not np.isfinite(step) or not 0 < step < 1e30 or mean > MAX_SYMBOL:
            raise ValueError(f"an invalid step: {step}")
        symbols = np.zeros(_grid_shape(shape), np.int32)
        _visit(symbols, coder, mean)
        arrays.append(np.asarray(symbols * np.float32(step), np.float32).reshape(shape))
    return arrays


def _count(shape: tuple[int, ...]) -> int:
    count = 1
    for n in shape:
        count *= int(n)
    return count


def _grid_shape(shape: tuple[int, ...]) -> tuple[int, int, int, int]:
    """(features, z, y, x): a matrix is one plane."""
    f, z, y, x = (*(1,) * (4 - len(shape)), *shape)
    return f, z, y, x


@dataclass(frozen=True)
class _Refinement:
    """Nodes halfway between known ones along an axis. Indices along (z, y, x): nodes that are new, and known ones."""

    axis: int
    new: tuple[Any, Any, Any]
    below: tuple[Any, Any, Any]
    above: tuple[Any, Any, Any]


def _refinements(shape: tuple[int, ...]) -> Iterator[_Refinement]:
    spacing = _COARSEST
    while spacing > 1:
        half = spacing // 2
        for axis in range(3):
            steps = [half if other < axis else spacing for other in range(3)]
            axes = [np.arange(0, n, step) for n, step in zip(shape, steps, strict=True)]
            middle = np.arange(half, shape[axis], spacing)
            above = np.where(middle + half < shape[axis], middle + half, middle - half)
            if middle.size:
                new, low, high = ((*axes[:axis], ends, *axes[axis + 1 :]) for ends in (middle, middle - half, above))
                yield _Refinement(axis, _triple(new), _triple(low), _triple(high))
        spacing = half


def _triple(indices: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    z, y, x = indices
    return z[:, None, None], y[:, None], x


def _visit(symbols: Symbols, coder: SymbolCoder, mean: int) -> None:
    """Code all symbols of a (features, z, y, x) array, or fill it with those that are decoded."""
    first = symbols[:, ::_COARSEST, ::_COARSEST, ::_COARSEST]
    magnitude = np.full(first.shape, 12 * mean + 1, np.int32)
    first[...] = coder.code(first, magnitude, np.zeros_like(magnitude))
    for part in _refinements(symbols.shape[1:]):
        below, above = symbols[:, *part.below], symbols[:, *part.above]
        sizes = np.abs(below) + np.abs(above)
        magnitude = 2 * sizes
        for axis in range(1, 4):
            if axis != part.axis + 1:
                magnitude += _beside(sizes, axis)
        symbols[:, *part.new] = coder.code(symbols[:, *part.new], magnitude, below + above)


def _beside(sizes: Symbols, axis: int) -> Symbols:
    """The sum of both neighbours along an axis; at an end, the node itself stands for the one that is missing."""
    ends = [(0, 0)] * sizes.ndim
    ends[axis] = (1, 1)
    wide = np.pad(sizes, ends, mode="edge")
    n = sizes.shape[axis]
    return np.asarray(wide.take(range(n), axis) + wide.take(range(2, n + 2), axis), np.int32)
