"""Ranges, histograms, and where they are kept."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pellucid
from pellucid.box import Box, Shape, triple
from pellucid.formats.location import Location
from pellucid.formats.protocol import Voxels
from pellucid.settings import load, use
from pellucid.volume import statistics
from pellucid.volume.volume import Volume


@settings(max_examples=30)
@given(st.tuples(*[st.integers(1, 40)] * 3), st.sampled_from([4, 7, 32]))
def test_every_brick_has_its_own_range(shape: Shape, brick: int) -> None:
    voxels = np.random.default_rng(0).integers(-100, 100, shape).astype(np.int16)
    ranges = Volume.from_array(voxels).brick_ranges(brick)
    for cell in Box.whole(shape).cells((brick, brick, brick)):
        inside = voxels[tuple(slice(i * brick, i * brick + brick) for i in cell)]
        assert (ranges.lowest[cell], ranges.highest[cell]) == (inside.min(), inside.max())


def test_pieces_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    voxels = np.random.default_rng(0).normal(size=(70, 80, 90)).astype(np.float32)
    monkeypatch.setattr(statistics, "PIECE_BYTES", 10_000)
    volume = Volume.from_array(voxels)
    assert volume.value_range == (voxels.min(), voxels.max())
    counts, edges = np.histogram(voxels, 100, (float(voxels.min()), float(voxels.max())))
    assert (volume.histogram(100).counts == counts).all()
    assert np.allclose(volume.histogram(100).edges, edges)


@pytest.mark.parametrize(("piece_bytes", "planes"), [(1, 1), (2 * 40 * 50 * 4, 2), (9 * 40 * 50 * 4, 8)])
def test_large_planes_are_read_a_few_at_a_time(
    piece_bytes: int, planes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    voxels = np.random.default_rng(0).normal(size=(70, 40, 50)).astype(np.float32)
    voxels[3] = np.nan
    np.save(tmp_path / "a.npy", voxels)
    monkeypatch.setattr(statistics, "PIECE_BYTES", piece_bytes)
    sizes, read = set[int](), Volume.read

    def counted(volume: Volume, box: Box) -> Voxels:
        sizes.add(box.shape[0])
        return read(volume, box)

    monkeypatch.setattr(Volume, "read", counted)
    with use(replace(load(), cache_folder=tmp_path / "cache")), pellucid.open(tmp_path / "a.npy") as volume:
        ranges = volume.brick_ranges()
    assert max(sizes) == planes
    for cell in Box.whole(voxels.shape).cells((32, 32, 32)):
        inside = voxels[tuple(slice(i * 32, i * 32 + 32) for i in cell)]
        assert (ranges.lowest[cell], ranges.highest[cell]) == (np.nanmin(inside), np.nanmax(inside))


@pytest.mark.parametrize(("memory_bytes", "threads"), [(1, 1), (5 * 32 * 32 * 4, 2), (10**9, 64)])
def test_threads_fit_into_memory(
    memory_bytes: int, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "a.npy", np.ones((4, 40, 50), np.float32))
    monkeypatch.setattr(statistics, "PIECE_BYTES", 1)
    started = list[int]()

    def counted(count: int) -> ThreadPoolExecutor:
        started.append(count)
        return ThreadPoolExecutor(count)

    monkeypatch.setattr(statistics, "ThreadPoolExecutor", counted)
    chosen = replace(load(), cache_folder=tmp_path / "cache", memory_bytes=memory_bytes, threads=64)
    with use(chosen), pellucid.open(tmp_path / "a.npy") as volume:
        assert volume.value_range == (1, 1)
    assert started == [threads]


def test_pieces_are_handed_out_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    voxels = np.random.default_rng(0).integers(0, 200, (40, 40, 40)).astype(np.uint8)
    monkeypatch.setattr(statistics, "PIECE_BYTES", 1)
    monkeypatch.setattr(statistics, "PIECES_AT_ONCE", 3)
    volume = Volume.from_array(voxels)
    assert volume.value_range == (voxels.min(), voxels.max())
    assert volume.histogram(16).counts.sum() == voxels.size


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "int32"])
def test_whole_numbers_are_counted_as_any_others(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "COUNTED_TOGETHER", 1000)
    voxels = np.random.default_rng(0).integers(-100, 120, (17, 18, 19)).astype(dtype)
    for bins, ends in ((256, (-100.0, 119.0)), (7, (0.5, 100.25))):
        wanted = np.histogram(voxels.astype(np.float64), bins, ends)[0]
        assert statistics.count_values(voxels, bins, ends).tolist() == wanted.tolist()


def test_nan_is_left_out() -> None:
    voxels = np.array([[[np.nan, 1.0, 3.0]]], np.float32)
    volume = Volume.from_array(voxels)
    assert volume.value_range == (1.0, 3.0)
    assert volume.histogram(2).counts.tolist() == [1, 1]


def test_infinities_are_left_out_and_the_array_stays_as_it_was() -> None:
    voxels = np.array([[[np.inf, -np.inf, 3.0, 5.0]]], np.float32)
    volume = Volume.from_array(voxels)
    assert volume.value_range == (3.0, 5.0)
    assert volume.histogram(2).counts.tolist() == [1, 1]
    assert np.isinf(voxels).sum() == 2


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_voxels_that_are_not_finite_are_counted_over_all_pieces(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "PIECE_BYTES", 512)
    voxels = np.random.default_rng(0).uniform(0, 1, (9, 10, 11)).astype(dtype)
    voxels[voxels < 0.1] = np.nan
    voxels[voxels > 0.95], voxels[(voxels > 0.9) & (voxels < 0.95)] = np.inf, -np.inf
    found = Volume.from_array(voxels).non_finite()
    assert (found.nan, found.infinite) == (np.isnan(voxels).sum(), np.isinf(voxels).sum())
    assert Volume.from_array(np.ones((2, 2, 2), np.int16)).non_finite() == statistics.NonFiniteCounts(0, 0)


def test_a_volume_without_any_value_has_an_empty_histogram() -> None:
    assert Volume.from_array(np.full((2, 2, 2), np.nan)).histogram(4).counts.sum() == 0


def test_percentiles_of_a_ramp() -> None:
    volume = Volume.from_array(np.arange(1000, dtype=np.uint16).reshape(10, 10, 10))
    assert volume.histogram(1000).percentile(50) == pytest.approx(499.5, abs=1)
    assert volume.histogram().percentile(0) == 0
    assert volume.histogram().percentile(100) == 999


def test_a_constant_volume_has_a_histogram() -> None:
    volume = Volume.from_array(np.full((3, 3, 3), 7, np.uint8))
    assert volume.histogram(4).counts.sum() == 27


def test_computed_once_then_cached_until_the_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "a.npy", np.arange(27, dtype=np.uint8).reshape(3, 3, 3))
    with use(load(cache_folder=tmp_path / "cache")):
        assert pellucid.open(tmp_path / "a.npy").value_range == (0.0, 26.0)
        with monkeypatch.context() as patched:
            patched.setattr(Volume, "read", None)
            assert pellucid.open(tmp_path / "a.npy").value_range == (0.0, 26.0)
        np.save(tmp_path / "a.npy", np.full((3, 3, 4), 5, np.uint8))
        assert pellucid.open(tmp_path / "a.npy").value_range == (5.0, 5.0)


def test_a_cache_that_cannot_be_written_is_only_slower(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(27, dtype=np.uint8).reshape(3, 3, 3))
    (tmp_path / "cache").write_text("a file where a folder should be")
    with use(load(cache_folder=tmp_path / "cache")):
        assert pellucid.open(tmp_path / "a.npy").value_range == (0.0, 26.0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npy", "cache"]


def test_percentiles_are_exact_or_say_how_exact_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """One bright voxel makes the bins of a histogram wide: the median must not become half of one."""
    voxels = np.random.default_rng(5).normal(size=(10, 20, 30)).astype(np.float32)
    voxels[0, 0, 0], voxels[0, 0, 1] = 1e6, np.nan
    expected = np.nanpercentile(voxels.astype(np.float64), (1, 50, 99))
    exact = Volume.from_array(voxels).percentiles(1, 50, 99)
    assert exact.tolerance == 0
    np.testing.assert_allclose(list(exact.values.values()), expected)
    monkeypatch.setattr("pellucid.volume.statistics.EXACT_BYTES", 1000)
    counted = Volume.from_array(voxels).percentiles(1, 50, 99)
    assert counted.tolerance == pytest.approx(1e6 / 4096, rel=1e-3)
    np.testing.assert_allclose(list(counted.values.values()), expected, atol=counted.tolerance)
    assert np.isnan(Volume.from_array(np.full((2, 2, 2), np.nan)).percentiles(50).values[50])


SIZES = st.tuples(st.integers(1, 5000), st.integers(1, 100_000), st.integers(1, 100_000))


@given(SIZES, SIZES, st.sampled_from([1, 8, 32]), st.integers(2**20, 2**40), st.integers(1, 64))
def test_a_piece_fits_into_its_share_of_the_memory(
    shape: Shape, chunk: Shape, multiple: int, memory_bytes: int, threads: int
) -> None:
    volume = DescribedVolume(shape, triple(map(min, shape, chunk)), np.dtype(np.float32))
    with use(replace(load(), memory_bytes=memory_bytes, threads=threads)):
        piece = statistics.piece_shape(volume, multiple)
    share = max(statistics.PIECE_BYTES, memory_bytes // (8 * threads))
    assert 4 * prod(piece) <= max(share, 4 * multiple**3)
    assert all(edge == n or (0 < edge < n and edge % multiple == 0) for edge, n in zip(piece, shape, strict=True))


def test_a_few_very_wide_planes() -> None:
    volume = DescribedVolume((4, 60_000, 60_000), (1, 60_000, 60_000), np.dtype(np.uint8))
    with use(replace(load(), memory_bytes=2**33, threads=16)):
        assert statistics.piece_shape(volume, 8) == (4, 272, 60_000)


@dataclass
class DescribedVolume:
    """A volume of which nothing is read."""

    shape: Shape
    chunk: Shape
    dtype: np.dtype[Any]
    location: Location = field(default_factory=lambda: Location("memory:described"))

    def read(self, box: Box) -> Voxels:
        raise AssertionError(box)
