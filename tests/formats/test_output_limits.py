"""Outputs stay within the bytes and the processor time that they may take, or are refused before anything runs."""

from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.cli.main import main
from pellucid.errors import InvalidInput
from pellucid.formats.chunked.levels import CODECS
from pellucid.formats.chunked.output_limits import ENCODED_BYTES_PER_S, with_limits
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Level
from pellucid.volume.volume import open_volume


@dataclass(frozen=True)
class Limits:
    max_files: int | None = None
    max_bytes: int | None = None
    max_compression_s: float | None = None


def layout(codec: str | None = None, dtype: str = "uint16", levels: int = 2) -> Layout:
    made = tuple(Level((128 >> n, 96 >> n, 64 >> n), (32, 32, 32)) for n in range(levels))
    return Layout(made, np.dtype(dtype), codec=codec)


@given(max_bytes=st.integers(1, 10**7), dtype=st.sampled_from(["uint8", "uint16", "float32"]), levels=st.integers(1, 3))
def test_what_may_take_more_is_refused(max_bytes: int, dtype: str, levels: int) -> None:
    made = layout(None, dtype, levels)
    needs = sum(prod(level.shape) * np.dtype(dtype).itemsize for level in made.levels)
    if needs <= max_bytes:
        assert with_limits(Location.parse("out.zarr"), made, Limits(max_bytes=max_bytes)) == made
        return
    with pytest.raises(InvalidInput, match=r"out\.zarr may take .* which is more than .*\. Allow "):
        with_limits(Location.parse("out.zarr"), made, Limits(max_bytes=max_bytes))


@pytest.mark.parametrize(
    ("seconds", "codec"), [(20.0, None), (15.9, None), (15.6, "zstd"), (10.0, "lz4"), (5.0, "none"), (1e-9, "none")]
)
def test_the_first_codec_that_is_fast_enough_is_used(seconds: float, codec: str | None) -> None:
    """2.7 GB, of which a core compresses 170 MB a second with blosc, 260 with zstd, 420 with lz4."""
    large = Layout((Level((1000, 1000, 1340), (64, 64, 64)),), np.dtype(np.uint16))
    assert with_limits(Location.parse("out.zarr"), large, Limits(max_compression_s=seconds)).codec == codec


def test_a_codec_that_was_chosen_is_not_replaced() -> None:
    large = Layout((Level((1000, 1000, 1200), (64, 64, 64)),), np.dtype(np.uint8), codec="gzip")
    with pytest.raises(InvalidInput, match=r"gzip takes about 10 s .* which is more than 9 s\. Allow 10 s"):
        with_limits(Location.parse("out.n5"), large, Limits(max_compression_s=9.0))
    assert with_limits(Location.parse("out.n5"), large, Limits(max_compression_s=11.0)) == large


def test_every_codec_has_a_speed() -> None:
    assert set(ENCODED_BYTES_PER_S) == set(CODECS)


def test_the_command_refuses_before_it_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "a.npy", np.zeros((64, 64, 64), np.uint16))
    source, target = str(tmp_path / "a.npy"), tmp_path / "out.zarr"
    assert main(["convert", source, str(target), "--max-size", "100KiB"]) != 0
    assert "may take 512.0 KiB, which is more than 100.0 KiB" in capsys.readouterr().err
    assert list(tmp_path.glob("out*")) == []
    assert main(["convert", source, str(target), "--max-size", "1MiB", "--max-compression", "1h"]) == 0
    with open_volume(target) as volume:
        assert volume.shape == (64, 64, 64)
