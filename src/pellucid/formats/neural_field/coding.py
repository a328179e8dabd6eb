"""Parameters as few bytes: rounded to steps, and entropy-coded with tables that the data itself gives.

Here: coded_array and decoded_array.
Not here: how large the steps may be (training), where the bytes lie (container).

Symbols are grouped in blocks of 64. A block belongs to a class by its mean magnitude, and every class has a table of
frequencies. All tables are whole numbers in the file, so that every machine decodes alike.
"""

import struct
from typing import Any

import constriction
import numpy as np

from pellucid.formats.neural_field.field import Floats

BLOCK = 64
CLASSES = 24
MAX_SYMBOL = 1 << 20
_HEAD = struct.Struct("<fIII")  # step, symbols, words of classes, words of symbols
_CLASS_HEAD = struct.Struct("<iH")  # smallest symbol, length of the table

Symbols = np.ndarray[Any, np.dtype[np.int32]]


def rounded(values: Floats, step: float) -> Symbols:
    """Whole numbers of steps."""
    return np.clip(np.rint(values / np.float32(step)), -MAX_SYMBOL, MAX_SYMBOL).astype(np.int32)


def coded_array(values: Floats, step: float) -> bytes:
    """An array as bytes; decoded, its values are whole numbers of ``step``."""
    symbols = rounded(values, step).reshape(-1)
    classes = _classes(symbols)
    of_symbol = np.repeat(classes, BLOCK)[: symbols.size]
    tables, coder = [], constriction.stream.stack.AnsCoder()
    class_table, class_bytes = _table(classes)
    for number in range(CLASSES):
        members = symbols[of_symbol == number]
        table, stored = _table(members) if members.size else (None, _CLASS_HEAD.pack(0, 0))
        tables.append(stored)
        if table is not None:
            coder.encode_reverse(members - table[0], _model(table[1]))
    words = coder.get_compressed()
    class_coder = constriction.stream.stack.AnsCoder()
    class_coder.encode_reverse(classes - class_table[0], _model(class_table[1]))
    class_words = class_coder.get_compressed()
    head = _HEAD.pack(step, symbols.size, len(class_words), len(words))
    return b"".join([head, class_bytes, *tables, class_words.astype("<u4").tobytes(), words.astype("<u4").tobytes()])


def decoded_array(data: bytes, shape: tuple[int, ...]) -> Floats:
    """The array of this shape. ValueError where the bytes do not describe one."""
    step, count, class_words, word_count = _HEAD.unpack_from(data)
    if count != int(np.prod(shape)) or not np.isfinite(step) or step <= 0:
        raise ValueError(f"{count} parameters are stored for {shape}")
    position = _HEAD.size
    class_table, position = _read_table(data, position)
    tables = []
    for _ in range(CLASSES):
        table, position = _read_table(data, position)
        tables.append(table)
    if len(data) != position + 4 * (class_words + word_count):
        raise ValueError("the coded parameters have another length than stated")
    words = np.frombuffer(data, "<u4", offset=position).astype(np.uint32)
    classes = _decode(words[:class_words], [class_table], [-(-count // BLOCK)])[0]
    of_symbol = np.repeat(classes, BLOCK)[:count]
    sizes = np.bincount(of_symbol, minlength=CLASSES)[:CLASSES]
    symbols = np.empty(count, np.int32)
    # The coder is a stack: the class that was coded last comes first.
    parts = _decode(words[class_words:], tables[::-1], [int(size) for size in sizes[::-1]])
    for number, part in zip(range(CLASSES - 1, -1, -1), parts, strict=True):
        symbols[of_symbol == number] = part
    return (symbols * np.float32(step)).reshape(shape)


def _decode(words: Any, tables: list[tuple[int, Any] | None], sizes: list[int]) -> list[Symbols]:
    coder = constriction.stream.stack.AnsCoder(words)
    parts = []
    for table, size in zip(tables, sizes, strict=True):
        if size and table is None:
            raise ValueError("a table of frequencies is missing")
        symbols = coder.decode(_model(table[1]), size) + table[0] if size and table else np.empty(0, np.int32)
        parts.append(symbols.astype(np.int32))
    return parts


def _classes(symbols: Symbols) -> Symbols:
    """The class of every block: by the logarithm of its mean magnitude, in steps of the square root of two."""
    blocks = np.zeros(-(-symbols.size // BLOCK) * BLOCK, np.float64)
    blocks[: symbols.size] = np.abs(symbols)
    means = blocks.reshape(-1, BLOCK).mean(axis=1)
    steps = np.rint(2 * np.log2(np.maximum(means, 1 / BLOCK)) + 12)
    return np.where(means == 0, 0, np.clip(steps + 1, 1, CLASSES - 1)).astype(np.int32)


def _table(symbols: Symbols) -> tuple[tuple[int, Any], bytes]:
    """Smallest symbol and frequencies of all from there on, and the bytes that say so."""
    low, high = int(symbols.min()), int(symbols.max())
    counts = np.bincount(symbols - low, minlength=high - low + 1)
    # Frequencies in steps of the fourth root of two are 8 bits, and cost a thousandth of the file.
    codes = np.where(counts > 0, np.clip(np.rint(4 * np.log2(np.maximum(counts, 1))) + 1, 1, 255), 0).astype(np.uint8)
    if codes.size > 0xFFFF:
        raise ValueError("the step is too small for these parameters")
    return (low, _frequencies(codes)), _CLASS_HEAD.pack(low, codes.size) + codes.tobytes()


def _read_table(data: bytes, position: int) -> tuple[tuple[int, Any] | None, int]:
    low, length = _CLASS_HEAD.unpack_from(data, position)
    position += _CLASS_HEAD.size
    codes = np.frombuffer(data, np.uint8, length, position)
    if length and not codes.any():
        raise ValueError("a table of frequencies is empty")
    return ((low, _frequencies(codes)) if length else None), position + length


_ROOTS = (1024, 1218, 1448, 1722)  # 1024 times 2 to the 0, 1/4, 1/2, 3/4


def _frequencies(codes: Any) -> Any:
    """Relative frequencies that codes stand for: whole numbers, exact in float64."""
    exponents = np.maximum(codes.astype(np.int64) - 1, 0)
    roots = np.array(_ROOTS, np.int64)[exponents % 4]
    return np.where(codes > 0, roots << np.minimum(exponents // 4, 40), 1).astype(np.float64)


def _model(frequencies: Any) -> Any:
    # The coder's tables have at least two symbols.
    padded = frequencies if len(frequencies) > 1 else np.append(frequencies, 1.0)
    return constriction.stream.model.Categorical(padded / padded.sum(), perfect=False)
