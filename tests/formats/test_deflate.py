"""One gzip stream made by several threads."""

import gzip
import io
import zlib
from dataclasses import replace

import numpy as np
import pytest

from pellucid import settings
from pellucid.formats.flat import deflate
from pellucid.formats.flat.deflate import gzip_stream

CONTENT = np.random.default_rng(0).integers(0, 9, 100_000, np.uint8).tobytes()


def packed(content: bytes, threads: int) -> bytes:
    target = io.BytesIO()
    with settings.use(replace(settings.current(), threads=threads)):
        gzip_stream(io.BytesIO(content), target)
    return target.getvalue()


@pytest.mark.parametrize("length", [0, 1, 999, 1000, 1001, 100_000])
def test_every_reader_takes_it(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deflate, "_PIECE_BYTES", 1000)
    stream = packed(CONTENT[:length], 3)
    assert gzip.decompress(stream) == CONTENT[:length]
    one_member = zlib.decompressobj(zlib.MAX_WBITS | 16)
    assert one_member.decompress(stream) == CONTENT[:length]
    assert (one_member.eof, one_member.unused_data) == (True, b"")


def test_number_of_threads_does_not_change_a_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deflate, "_PIECE_BYTES", 10_000)
    assert packed(CONTENT, 1) == packed(CONTENT, 4)
    assert len(packed(CONTENT, 1)) < len(CONTENT) * 0.55
