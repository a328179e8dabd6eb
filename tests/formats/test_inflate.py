"""Streams without random access, inflated once."""

import bz2
import errno
import gzip
import os
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from pellucid import settings
from pellucid.errors import Corrupted, EmptyFile, Truncated
from pellucid.formats.flat import inflate
from pellucid.formats.flat.inflate import InflatedBytes, inflated_head, make_room, numbers_in_text

CONTENT = np.random.default_rng(0).integers(0, 50, 3_000_000, np.uint8).tobytes()
COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "bzip2": bz2.compress, "zlib": zlib.compress}


def fill(source: InflatedBytes, position: int, length: int) -> bytes:
    out = bytearray(length)
    source.fill(position, memoryview(out))
    return bytes(out)


def entries(cache_folder: Path) -> list[Path]:
    folder = cache_folder / "inflated"
    return sorted(folder.iterdir()) if folder.exists() else []


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    path = tmp_path / "packed.gz"
    path.write_bytes(gzip.compress(CONTENT))
    return path


@pytest.mark.parametrize("codec", COMPRESSORS)
def test_every_codec(codec: str, tmp_path: Path, cache_folder: Path) -> None:
    (tmp_path / "packed").write_bytes(b"head" + COMPRESSORS[codec](CONTENT))
    source = InflatedBytes(tmp_path / "packed", codec, len(CONTENT), 4)
    assert fill(source, 1_500_000, 1000) == CONTENT[1_500_000:1_501_000]
    source.close()
    assert [entry.stat().st_size for entry in entries(cache_folder)] == [len(CONTENT)]


def test_nothing_is_inflated_before_it_is_needed(packed: Path, cache_folder: Path) -> None:
    InflatedBytes(packed, "gzip", len(CONTENT)).close()
    assert inflated_head(packed, "gzip", 100) == CONTENT[:100]
    assert entries(cache_folder) == []


def test_second_opening_uses_the_first_ones_work(packed: Path) -> None:
    for _ in range(2):
        source = InflatedBytes(packed, "gzip", len(CONTENT))
        with mock.patch.object(inflate, "decoded", wraps=inflate.decoded) as decoded:
            assert fill(source, 5, 5) == CONTENT[5:10]
        source.close()
    assert decoded.call_count == 0


def test_changed_file_is_inflated_again(packed: Path) -> None:
    first = InflatedBytes(packed, "gzip", 10)
    assert fill(first, 0, 10) == CONTENT[:10]
    packed.write_bytes(gzip.compress(b"0123456789abc"))
    second = InflatedBytes(packed, "gzip", 10)
    assert fill(second, 0, 10) == b"0123456789"
    assert fill(first, 0, 10) == CONTENT[:10], "an open one keeps what it has"
    first.close()
    second.close()


def test_many_at_once_get_the_same(packed: Path, cache_folder: Path) -> None:
    sources = [InflatedBytes(packed, "gzip", len(CONTENT)) for _ in range(4)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: fill(sources[number % 4], number * 1000, 500), range(32)))
    assert found == [CONTENT[number * 1000 : number * 1000 + 500] for number in range(32)]
    assert len(entries(cache_folder)) == 1


def test_several_members_are_one_stream(tmp_path: Path) -> None:
    (tmp_path / "packed").write_bytes(gzip.compress(CONTENT[:1000]) + gzip.compress(CONTENT[1000:2000]))
    source = InflatedBytes(tmp_path / "packed", "gzip", 2000)
    assert fill(source, 0, 2000) == CONTENT[:2000]
    source.close()


@pytest.mark.parametrize("codec", COMPRESSORS)
def test_stream_cut_short(codec: str, tmp_path: Path, cache_folder: Path) -> None:
    stream = COMPRESSORS[codec](CONTENT)
    (tmp_path / "packed").write_bytes(stream[: len(stream) // 2])
    source = InflatedBytes(tmp_path / "packed", codec, len(CONTENT))
    with pytest.raises(Truncated, match=r"expected 3,000,000 bytes, found [\d,]+"):
        fill(source, 0, 10)
    assert entries(cache_folder) == []


@pytest.mark.parametrize("codec", COMPRESSORS)
def test_broken_stream(codec: str, tmp_path: Path, cache_folder: Path) -> None:
    stream = bytearray(COMPRESSORS[codec](CONTENT))
    stream[len(stream) // 2 : len(stream) // 2 + 50] = bytes(50)
    (tmp_path / "packed").write_bytes(stream)
    source = InflatedBytes(tmp_path / "packed", codec, len(CONTENT))
    with pytest.raises(Corrupted, match=f"its {codec} stream is invalid"):
        fill(source, 0, 10)
    assert entries(cache_folder) == []


def test_wrong_checksum_at_the_very_end_is_found(packed: Path) -> None:
    stream = bytearray(packed.read_bytes())
    stream[-6] ^= 1
    packed.write_bytes(stream)
    with pytest.raises(Corrupted, match="CRC"):
        fill(InflatedBytes(packed, "gzip", len(CONTENT)), 0, 10)


def test_empty_file(tmp_path: Path) -> None:
    (tmp_path / "packed").touch()
    with pytest.raises(EmptyFile, match="is empty"):
        InflatedBytes(tmp_path / "packed", "gzip", 10)


@pytest.mark.parametrize("why", ["too small", "not a folder", "disk full"])
def test_nameless_file_where_the_cache_will_not_do(why: str, packed: Path, cache_folder: Path) -> None:
    limit = 1000 if why == "too small" else 1 << 40
    if why == "not a folder":
        cache_folder.write_bytes(b"")
    full = OSError(errno.ENOSPC, "No space left on device")
    failing = mock.patch("pellucid.formats.flat.inflate.os.fdopen", side_effect=full)
    with settings.use(replace(settings.current(), cache_bytes=limit)):
        source = InflatedBytes(packed, "gzip", len(CONTENT))
        if why == "disk full":
            with failing:
                assert fill(source, 5, 5) == CONTENT[5:10]
        assert fill(source, 2_999_990, 10) == CONTENT[-10:]
        source.close()
    assert cache_folder.is_file() or entries(cache_folder) == []


def test_oldest_entries_go_first(tmp_path: Path) -> None:
    for age, name in enumerate(["new", "old", "oldest"]):
        (tmp_path / name).write_bytes(bytes(100))
        os.utime(tmp_path / name, ns=(0, 10**18 - age))
    (tmp_path / "writing.part").write_bytes(bytes(100))
    (tmp_path / "abandoned.part").write_bytes(bytes(100))
    os.utime(tmp_path / "abandoned.part", ns=(0, 0))
    with settings.use(replace(settings.current(), cache_bytes=250)):
        make_room(tmp_path, 100)
    assert {path.name for path in tmp_path.iterdir()} == {"new", "writing.part"}


def test_numbers_in_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflate, "_PIECE_BYTES", 7)  # numbers across the border of two pieces
    numbers = np.array([1, -20, 300, -4000, 5, 66, 777, 8888], ">i2")
    (tmp_path / "text").write_text("1 -20,300\n-4000 5\t66 777 8888")
    source = InflatedBytes(tmp_path / "text", "text", 16, 0, numbers_in_text(numbers.dtype))
    assert fill(source, 0, 16) == numbers.tobytes()
    source.close()
    (tmp_path / "text").write_text("1 two 3")
    with pytest.raises(Corrupted, match="its text stream is invalid"):
        fill(InflatedBytes(tmp_path / "text", "text", 6, 0, numbers_in_text(numbers.dtype)), 0, 6)
