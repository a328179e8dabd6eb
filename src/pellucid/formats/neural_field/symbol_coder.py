"""Symbols as bits: an adaptive range coder whose probabilities follow from what was coded before.

Here: SymbolEncoder and SymbolDecoder, which do the same in the same order.
Not here: the neighbours that a symbol is expected from (coding).

A symbol's context is the magnitude of its neighbours and the sum of the two beside it. Every context counts what it has
seen, in whole numbers; no table is stored. Symbols of large magnitude are coded in two parts, of which the lower bits
are taken as equally probable.
"""

from typing import Any

import constriction
import numpy as np

Symbols = np.ndarray[Any, np.dtype[np.int32]]

MAX_SYMBOL = 1 << 20
_REACH = 31  # The largest upper part that has a probability of its own.
_SIZE = 2 * _REACH + 2
_ESCAPE = _SIZE - 1
_LEANS = 16
_SEEN = 8  # What one symbol adds to its count.
_MAX_TOTAL = 1 << 14
_BORROWED = 256  # Of the counts of a similar context.
_MIN_CHUNK, _MAX_CHUNK = 512, 1 << 16
_RAW_BITS = 11
# Twelve times a mean magnitude, in about two steps per octave.
_THRESHOLDS = np.array([1, 2, 3, 4, *(base << octave for octave in range(1, 23) for base in (3, 4))], np.int64)


class SymbolCoder:
    """What encoder and decoder share: contexts, and their counts."""

    def __init__(self) -> None:
        self._counts: dict[int, Any] = {}
        self._total = 0

    def code(self, symbols: Symbols, magnitude: Symbols, beside: Symbols) -> Symbols:
        """Code symbols, and return them; a decoder returns those that it finds, whatever is passed.

        magnitude: twelve times the mean magnitude of their neighbours. beside: the sum of the two next to each.
        """
        shape = symbols.shape
        flat, size, lean = symbols.reshape(-1), magnitude.reshape(-1), beside.reshape(-1)
        found = np.empty(flat.size, np.int32)
        start = 0
        while start < flat.size:
            count = min(_MAX_CHUNK, max(_MIN_CHUNK, self._total // 8))
            part = slice(start, start + count)
            found[part] = self._code_chunk(flat[part], size[part], lean[part])
            start += count
            self._total += count
        return found.reshape(shape)

    def _code_chunk(self, symbols: Symbols, magnitude: Symbols, beside: Symbols) -> Symbols:
        """Symbols with probabilities that are learnt from earlier chunks only."""
        shifts = _shifts(magnitude)
        signs = np.where(beside < 0, -1, 1).astype(np.int32)
        toward = symbols * signs
        upper, lower = toward >> shifts, toward & ((1 << shifts) - 1)
        contexts = np.searchsorted(_THRESHOLDS, magnitude, side="right") * _LEANS
        contexts += np.minimum(np.abs(beside) >> (shifts + 1), _LEANS - 1)
        upper = self._code_upper(upper, contexts)
        for shift in np.unique(shifts[shifts > 0]):
            chosen = shifts == shift
            lower[chosen] = self._exchange(_uniform(int(shift)), lower[chosen])
        return np.asarray(((upper << shifts) | np.where(shifts > 0, lower, 0)) * signs, np.int32)

    def _code_upper(self, upper: Symbols, contexts: Any) -> Symbols:
        indices = np.where(np.abs(upper) <= _REACH, upper + _REACH, _ESCAPE).astype(np.int32)
        order = np.argsort(contexts, kind="stable")
        names, starts = np.unique(contexts[order], return_index=True)
        for name, members in zip(names, np.split(order, starts[1:]), strict=True):
            counts = self._counts_of(int(name))
            model = constriction.stream.model.Categorical(counts / counts.sum(), perfect=False)
            indices[members] = self._exchange(model, indices[members])
            counts += _SEEN * np.bincount(indices[members], minlength=_SIZE)
            while counts.sum() > _MAX_TOTAL:
                counts[:] = (counts + 1) // 2
        escaped = indices == _ESCAPE
        found = indices - _REACH
        if escaped.any():
            found[escaped] = self._code_raw(upper[escaped])
        return found

    def _counts_of(self, context: int) -> Any:
        """The counts of a context; a new one begins with some of those of one that leans less."""
        if context not in self._counts:
            similar = self._counts.get(context - 1) if context % _LEANS else None
            self._counts[context] = _prior(context) if similar is None else _some_of(similar)
        return self._counts[context]

    def _code_raw(self, values: Symbols) -> Symbols:
        """Numbers of up to 22 bits, as they are."""
        shifted = values + (1 << (2 * _RAW_BITS - 1))
        model = _uniform(_RAW_BITS)
        high = self._exchange(model, shifted >> _RAW_BITS)
        low = self._exchange(model, shifted & ((1 << _RAW_BITS) - 1))
        return np.asarray((high << _RAW_BITS) + low - (1 << (2 * _RAW_BITS - 1)), np.int32)

    def _exchange(self, model: Any, symbols: Symbols) -> Symbols:
        """Encode symbols and return them, or decode as many."""
        raise NotImplementedError


class SymbolEncoder(SymbolCoder):
    def __init__(self) -> None:
        super().__init__()
        self._coder = constriction.stream.queue.RangeEncoder()

    def finished(self) -> bytes:
        """Everything that was coded."""
        return bytes(self._coder.get_compressed().astype("<u4").tobytes())

    def _exchange(self, model: Any, symbols: Symbols) -> Symbols:
        self._coder.encode(np.ascontiguousarray(symbols, np.int32), model)
        return symbols


class SymbolDecoder(SymbolCoder):
    """data: whole words of 4 bytes."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self._coder = constriction.stream.queue.RangeDecoder(np.frombuffer(data, "<u4").astype(np.uint32))

    def _exchange(self, model: Any, symbols: Symbols) -> Symbols:
        return np.asarray(self._coder.decode(model, len(symbols)), np.int32)


def _shifts(magnitude: Symbols) -> Symbols:
    """How many lower bits are coded apart: so many that the upper part is about 4 to 8."""
    octaves = np.searchsorted(3 << np.arange(5, 23), magnitude, side="right")
    return np.asarray(octaves, np.int32)


def _uniform(bits: int) -> Any:
    return constriction.stream.model.Uniform(1 << bits)


def _some_of(counts: Any) -> Any:
    return counts * _BORROWED // int(counts.sum()) + 1


def _prior(context: int) -> Any:
    """Counts before anything was seen: falling by half with every mean magnitude of distance."""
    step, lean = divmod(context, _LEANS)
    twelvefold = int(_THRESHOLDS[step - 1]) if step else 0
    width = 1 + min(twelvefold // 12, 6)
    distance = np.abs(np.arange(_SIZE) - _REACH - lean) * 2 // width
    weights = 256 >> np.minimum(distance, 8)
    weights[_ESCAPE] = 0
    return (weights * 64 // int(weights.sum()) + 1).astype(np.int64)
