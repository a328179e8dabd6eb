"""Windows for PyTorch's DataLoader: the right voxels, from any process, in a bounded amount of memory."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader  # noqa: E402

from pellucid.box import Box, Shape  # noqa: E402
from pellucid.conversion.convert import convert  # noqa: E402
from pellucid.errors import InvalidInput  # noqa: E402
from pellucid.formats.protocol import Voxels  # noqa: E402
from pellucid.learn.data.augmentation import Augmentation  # noqa: E402
from pellucid.learn.data.chunk_cache import ChunkCache  # noqa: E402
from pellucid.learn.data.datasets import (  # noqa: E402
    VolumeChannels,
    WindowDataset,
    WindowOptions,
    window_loader,
)
from pellucid.learn.data.stored_windows import StoredWindows, store_windows  # noqa: E402
from pellucid.learn.data.window_grid import RandomWindows, WindowGrid  # noqa: E402
from pellucid.volume.volume import Volume, open_volume  # noqa: E402
from tests.learn.window_memory import Resident, resident_kib  # noqa: E402

edges = st.integers(1, 12)
shapes = st.tuples(edges, edges, edges)
LARGE, SMALL = (20, 24, 28), (8, 9, 10)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two volumes with labels in small chunks."""
    folder = tmp_path_factory.mktemp("windows")
    random = np.random.default_rng(0)
    for name, shape in (("a", LARGE), ("b", SMALL)):
        convert(random.integers(0, 200, shape, dtype=np.uint8), folder / f"{name}.zarr", chunk=(8, 8, 8)).close()
        convert(random.integers(0, 3, shape, dtype=np.uint8), folder / f"{name}-labels.n5", chunk=(8, 8, 8)).close()
    return folder


@pytest.fixture
def pairs(folder: Path) -> list[VolumeChannels | Any]:
    return [VolumeChannels((folder / f"{name}.zarr",), (folder / f"{name}-labels.n5",)) for name in "ab"]


def voxels(path: Path) -> Voxels:
    with open_volume(path) as volume:
        return volume.read()


@given(shapes, shapes, shapes)
def test_a_grid_covers_every_voxel_with_whole_windows(shape: Shape, window: Shape, step: Shape) -> None:
    step = tuple(min(s, w) for s, w in zip(step, window, strict=True))  # type: ignore[assignment]
    grid = WindowGrid((shape,), window, step)
    covered = np.zeros(shape, int)
    for number in range(grid.counts[0]):
        box = grid.box(0, number, np.random.default_rng())
        assert box.shape == tuple(map(min, zip(window, shape, strict=True)))
        covered[box.slices] += 1
    assert covered.min() >= 1


@given(st.lists(shapes, min_size=1, max_size=4), shapes, st.integers(1, 50), st.integers(0, 9))
def test_random_windows_lie_inside(several: list[Shape], window: Shape, count: int, seed: int) -> None:
    places = RandomWindows(several, window, count)
    assert sum(places.counts) == count
    for volume, shape in enumerate(several):
        for number in range(places.counts[volume]):
            assert Box.whole(shape).contains(places.box(volume, number, np.random.default_rng(seed)))


def test_items_are_the_windows_of_the_volumes(folder: Path, pairs: Any) -> None:
    dataset = WindowDataset(pairs, WindowOptions(window=(8, 8, 8), step=(6, 8, 8)))
    assert dataset.shape == (2, 36, 2, 8, 8, 8) and len(dataset) == 36 + 4
    a, labels = voxels(folder / "a.zarr"), voxels(folder / "a-labels.n5")
    for number, start in ((0, (0, 0, 0)), (1, (0, 0, 8)), (14, (6, 0, 16)), (35, (12, 16, 20))):
        source, target = dataset[number]
        box = Box(start, tuple(n + 8 for n in start)).slices  # type: ignore[arg-type]
        assert source.shape == (1, 8, 8, 8) and source.dtype == torch.float32 and target.dtype == torch.uint8
        assert (source[0].numpy() == a[box]).all() and (target[0].numpy() == labels[box]).all()
        assert (dataset[0, number][0] == source).all()
    assert (dataset[-1][0][0].numpy() == voxels(folder / "b.zarr")[:, 1:, 2:]).all()
    assert (dataset[1, 3][0] == dataset[-1][0]).all()
    for wrong in (40, -41, (2, 0), (1, 4)):
        with pytest.raises(IndexError, match="There is no window"):
            dataset[wrong]


def test_a_volume_that_is_smaller_than_the_window_is_reflected(folder: Path) -> None:
    dataset = WindowDataset([folder / "b.zarr"], WindowOptions(window=(12, 9, 4)))
    expected = np.pad(voxels(folder / "b.zarr"), ((0, 4), (0, 0), (0, 0)), mode="reflect")
    assert (dataset[0][0].numpy() == expected[:, :, :4]).all()


def test_random_windows_are_the_same_for_the_same_epoch(pairs: Any) -> None:
    options = WindowOptions(window=(6, 6, 6), random=20, augmentation=Augmentation(noise=0.5), seed=3)
    dataset, again = WindowDataset(pairs, options), WindowDataset(pairs, options)
    assert len(dataset) == 20 and dataset.places.counts[0] > dataset.places.counts[1] > 0
    first = [dataset[number][0] for number in range(20)]
    assert all((again[number][0] == first[number]).all() for number in range(20))
    again.set_epoch(1)
    assert not any((again[number][0] == first[number]).all() for number in range(20))


def test_augmentation_changes_source_and_target_alike() -> None:
    source = np.arange(4 * 6 * 6).reshape(1, 4, 6, 6).astype(np.float32)
    seen = set()
    for seed in range(60):
        changed, target = Augmentation().apply((source, source + 1), np.random.default_rng(seed))
        assert (target == changed + 1).all() and sorted(changed.ravel()) == sorted(source.ravel())
        seen.add(changed.tobytes())
    assert len(seen) == 16  # 8 symmetries of a square, and upside down.
    brighter = Augmentation(flips="", turns=(), gain=0.5, offset=2.0)
    changed, target = brighter.apply((source, source), np.random.default_rng(0))
    gain, offset = np.polyfit(source.ravel(), changed.ravel(), 1)
    assert (target == source).all() and 0.5 <= gain <= 1.5 and abs(offset) <= 2


def test_the_cache_keeps_to_its_size_and_reads_a_chunk_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_volume(folder / "a.zarr") as volume:
        cache, reads = ChunkCache(8 * 512), list[Any]()
        whole, read = volume.read(), Volume.read

        def counted(volume: Volume, box: Box | None = None, out: Any = None) -> Voxels:
            reads.append(box)
            return read(volume, box, out)

        monkeypatch.setattr(Volume, "read", counted)
        for _ in range(3):
            box = Box((1, 2, 3), (15, 16, 16))
            assert (cache.read(volume, (0, 0), box) == whole[box.slices]).all()
        assert len(reads) == 8
        cache.read(volume, (0, 0), volume.box)
        assert cache._bytes <= 8 * 512 == cache._max_bytes
        assert sum(chunk.nbytes for chunk in cache._chunks.values()) == cache._bytes


@pytest.mark.parametrize("iterations", [1, 2])
def test_stored_windows_are_those_of_the_dataset(iterations: int, pairs: Any, tmp_path: Path) -> None:
    options = WindowOptions(window=(8, 8, 8), random=12, augmentation=Augmentation())
    dataset = WindowDataset(pairs, options)
    store_windows(dataset, tmp_path / "data.n5", iterations=iterations)
    stored = StoredWindows(tmp_path / "data.n5")
    batch = max(dataset.places.counts)
    assert stored.shape == (*([2] if iterations == 2 else []), 2, batch, 1, 8, 8, 8)
    assert len(stored) == 12 * iterations
    for number in range(len(stored)):
        dataset.set_epoch(number // 12)
        for one, other in zip(stored[number], dataset[number % 12], strict=True):
            assert one.dtype == other.dtype and (one == other).all()
    block = tmp_path / "data.n5/tensors/source/0/0/0/0/0/0"
    assert (block / "0").is_file() if iterations == 2 else block.is_file()
    with pytest.raises(InvalidInput, match="exists"):
        store_windows(dataset, tmp_path / "data.n5")


def test_memory_stays_flat_over_a_thousand_batches(folder: Path) -> None:
    options = WindowOptions(window=(8, 8, 8), random=4000, cache_bytes=2**16, augmentation=Augmentation(noise=1.0))
    loader = window_loader(WindowDataset([folder / "a.zarr"], options), 4, workers=0)
    used = []
    for number, batch in enumerate(loader):
        assert batch.shape == (4, 1, 8, 8, 8)
        if number % 100 == 99:
            used.append(resident_kib())
    assert len(used) == 10 and used[-1] - used[1] < 4096


def test_workers_that_are_not_forks_give_the_same_and_stay_flat(folder: Path) -> None:
    options = WindowOptions(window=(8, 8, 8), random=2000, cache_bytes=2**16)
    dataset = WindowDataset([folder / "a.zarr"], options)
    loader = window_loader(Resident(dataset), 2, workers=1, is_shuffled=False)
    used = []
    for number, (batch, kib) in enumerate(loader):
        if number < 10:
            assert (batch == torch.stack([dataset[2 * number], dataset[2 * number + 1]])).all()
        assert batch.is_shared()
        used.append(int(kib.max()))
    assert len(used) == 1000 and used[-1] - used[200] < 4096


def test_forks_are_refused(folder: Path) -> None:
    dataset = WindowDataset([folder / "a.zarr"], WindowOptions(window=(8, 8, 8)))
    with pytest.raises(RuntimeError, match=r"are forks, which may not open volumes\. Use window_loader"):
        next(iter(DataLoader(dataset, 1, num_workers=1, multiprocessing_context="fork")))


def test_a_dataset_travels_without_open_files(folder: Path) -> None:
    dataset = WindowDataset([folder / "a.zarr"], WindowOptions(window=(8, 8, 8)))
    packed = pickle.dumps(dataset.__getstate__()["options"])
    assert len(packed) < 2000 and dataset.__getstate__()["_opened"] == []


@pytest.mark.parametrize(
    ("volumes", "options", "message"),
    [
        ([], {}, "No volumes were given"),
        ([("a.zarr", "b.zarr")], {}, "have different shapes"),
        ([("a.zarr",), ("b.zarr", "b.zarr")], {}, "have different channels"),
        ([("a.zarr",)], {"step": (9, 8, 8)}, "leave gaps"),
        ([("a.zarr",)], {"window": (0, 8, 8)}, "have no voxels"),
    ],
)
def test_mistakes(volumes: Any, options: dict[str, Any], message: str, folder: Path) -> None:
    named = [VolumeChannels(tuple(folder / name for name in names)) for names in volumes]
    with pytest.raises(InvalidInput, match=message):
        WindowDataset(named, WindowOptions(**{"window": (8, 8, 8), **options}))
