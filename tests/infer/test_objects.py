"""Boundaries to objects: the definition, one voxel and one pair at a time, and the same whatever the blocks."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import ndimage

from pellucid.box import Box
from pellucid.cli.main import main
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.infer.apply import RunControl
from pellucid.infer.job import InferenceOptions
from pellucid.infer.objects import object_tasks
from pellucid.infer.objects.agglomeration import agglomerate, join_contacts
from pellucid.infer.objects.object_job import ObjectOptions, segment_objects
from pellucid.infer.objects.watershed import HALO, drain, heights
from pellucid.settings import load, use
from pellucid.volume.blocks import split
from pellucid.volume.volume import open_volume
from tests.conversion.interrupted import StopsAfter
from tests.infer.small_networks import convolution


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with use(load(cache_folder=tmp_path_factory.getbasetemp() / "networks", threads=1)):
        yield


def ends(height: Voxels) -> Voxels:
    """The definition: follow every voxel to its lowest neighbour, one by one; of equal ones, the last counts."""
    found = np.zeros(height.shape, np.int64)
    for start in np.ndindex(height.shape):
        place = start
        while True:
            near = [place]
            for axis in range(3):
                for step in (-1, 1):
                    other = tuple(n + step * (axis == a) for a, n in enumerate(place))
                    if all(0 <= n < length for n, length in zip(other, height.shape, strict=True)):
                        near.append(other)
            lowest = min(near, key=lambda one: (height[one], -int(np.ravel_multi_index(one, height.shape))))
            if lowest == place:
                break
            place = lowest
        found[start] = np.ravel_multi_index(place, height.shape) + 1
    return found


@pytest.mark.parametrize("steps", [3, 1000])
def test_voxels_drain_into_minima(steps: int) -> None:
    """steps: few make plateaus."""
    height = np.random.default_rng(0).integers(0, steps, (7, 6, 8)).astype(np.float32)
    box = Box.whole(height.shape)
    found = drain(height, box, box, height.shape)
    assert np.array_equal(found.fragments, ends(height)) and not len(found.exits)


def test_blocks_lead_to_the_same_minima() -> None:
    shape = (9, 10, 11)
    height = np.random.default_rng(1).integers(0, 5, shape).astype(np.float32)
    whole, fragments = Box.whole(shape), np.zeros(shape, np.int64)
    into: dict[int, int] = {}
    for block in split(shape, (4, 5, 6), (1, 1, 1)):
        found = drain(height[block.outer.slices], block.outer, block.core, shape)
        fragments[block.core.slices] = found.fragments
        into |= {int(fragment): int(voxel) for fragment, voxel in found.exits}
    expected = drain(height, whole, whole, shape).fragments
    flat = fragments.ravel()
    for number, end in enumerate(expected.ravel()):
        fragment = flat[number]
        while int(fragment) in into:
            fragment = flat[into[int(fragment)]]
        assert fragment == end


def test_heights_do_not_depend_on_the_box() -> None:
    boundary = np.random.default_rng(0).random((2 * HALO + 6, 30, 31)).astype(np.float32)
    whole = heights(boundary)
    part = heights(boundary[4:])
    assert np.array_equal(part[HALO:], whole[4 + HALO :])


def one_by_one(count: int, edges: dict[tuple[int, int], tuple[float, float]], threshold: float) -> list[set[int]]:
    """The definition: join the two objects with the weakest boundary, again and again."""
    groups = [{number} for number in range(count)]
    while True:
        scores = []
        for a, one in enumerate(groups):
            for b in range(a + 1, len(groups)):
                between = [
                    values for (i, j), values in edges.items()
                    if (i in one and j in groups[b]) or (j in one and i in groups[b])
                ]  # fmt: skip
                if between:
                    scores.append((sum(v[0] for v in between) / sum(v[1] for v in between), a, b))
        if not scores or min(scores)[0] >= threshold:
            return groups
        _, a, b = min(scores)
        groups[a] |= groups.pop(b)


@pytest.mark.parametrize("seed", range(8))
def test_fragments_are_joined_as_one_pair_after_the_other(seed: int) -> None:
    random = np.random.default_rng(seed)
    count = 14
    pairs = sorted({tuple(sorted(random.choice(count, 2, replace=False).tolist())) for _ in range(30)})
    total, area = random.integers(1, 2000, len(pairs)), random.integers(1, 9, len(pairs))
    edges = {pair: (float(t), float(a)) for pair, t, a in zip(pairs, total, area, strict=True)}
    first, second = np.array(pairs).T
    contacts = join_contacts(count, (first, second), (total, area), np.full(count, 5))
    labels = agglomerate(contacts, 250.0)
    expected = one_by_one(count, edges, 250.0)
    found = [set(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)]
    assert sorted(map(sorted, found)) == sorted(map(sorted, expected))


def test_small_objects_are_joined_to_the_neighbour_with_the_weakest_boundary() -> None:
    pair, sums = (np.array([0, 1, 2]), np.array([1, 2, 3])), (np.array([200, 150, 240]), np.array([1, 1, 1]))
    contacts = join_contacts(4, pair, sums, np.array([50, 3, 60, 2]))
    assert agglomerate(contacts, 100.0).tolist() == [0, 1, 2, 3]
    assert agglomerate(contacts, 100.0, min_size=10).tolist() == [0, 1, 1, 1]


def cells(shape: tuple[int, int, int], count: int, seed: int = 0) -> tuple[Voxels, Voxels]:
    """Cells around random points, and a volume that is 1 on their faces and 0 elsewhere, smoothed a little."""
    points = (np.random.default_rng(seed).random((count, 3)) * shape).astype(int)
    far = np.ones(shape)
    far[tuple(points.T)] = 0
    seeds = np.zeros(shape, np.int32)
    seeds[tuple(points.T)] = np.arange(1, count + 1)
    _, nearest = ndimage.distance_transform_edt(far, return_indices=True)
    truth = seeds[tuple(nearest)]
    edge = sum(np.abs(np.diff(truth, axis=axis, append=np.take(truth, [-1], axis))) > 0 for axis in range(3)) > 0
    return truth, np.asarray(ndimage.gaussian_filter(edge.astype(np.float32), 0.7) / 0.6).clip(0, 1)


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Path:
    kernel = np.zeros((1, 1, 3, 3, 3))
    kernel[0, 0, 1, 1, 1] = 1
    return convolution(tmp_path_factory.mktemp("net") / "same.onnx", kernel)


@pytest.fixture(scope="module")
def volume(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Voxels]:
    truth, boundary = cells((40, 44, 48), 24)
    path = tmp_path_factory.mktemp("cells") / "a.npy"
    np.save(path, boundary.astype(np.float32))
    return path, truth


def objects_of(source: Path, target: Path, network: Path, chunk: int, engine: Any = None) -> Voxels:
    made, report = segment_objects(
        source, target, network, InferenceOptions(chunk=(chunk,) * 3), ObjectOptions(0.45, 30),
        RunControl(engine, is_checked=False),
    )  # fmt: skip
    assert report.networks[0].kind == "3D"
    with made:
        return made.read()


def test_objects_are_the_cells(volume: tuple[Path, Voxels], identity: Path, tmp_path: Path) -> None:
    path, truth = volume
    found = objects_of(path, tmp_path / "a.zarr", identity, 64)
    assert found.dtype == np.uint32 and found.min() == 1
    for label in np.unique(truth):
        inside = found[ndimage.binary_erosion(truth == label, iterations=2)]
        if inside.size > 200:
            assert np.bincount(inside).max() > 0.97 * inside.size
    pairs = {(t, f) for t, f in zip(truth.ravel().tolist(), found.ravel().tolist(), strict=True)}
    assert abs(len(np.unique(found)) - len(np.unique(truth))) <= 3 and len(pairs) < 6 * len(np.unique(truth))


def test_blocks_and_interruptions_do_not_change_a_voxel(
    volume: tuple[Path, Voxels], identity: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = volume
    whole = objects_of(path, tmp_path / "a.zarr", identity, 64)
    monkeypatch.setattr(object_tasks, "BLOCK", (16, 16, 32))
    stops = StopsAfter(40, memory_bytes=2**29)
    with pytest.raises(KeyboardInterrupt):
        objects_of(path, tmp_path / "b.n5", identity, 16, stops)
    again = StopsAfter(10**9, memory_bytes=2**29)
    assert np.array_equal(objects_of(path, tmp_path / "b.n5", identity, 16, again), whole)
    assert 0 < again.finished < stops.finished
    assert not (tmp_path / "b.n5.partial").exists()


def test_boundaries_between_voxels_along_each_axis(tmp_path: Path) -> None:
    """Two halves that touch: only the channel along x has the face between them, which is no voxel thick."""
    values = np.zeros((12, 12, 24), np.float32)
    values[:, :, 12:] = 1
    np.save(tmp_path / "a.npy", values)
    kernel = np.zeros((3, 1, 3, 3, 3))
    kernel[2, 0, 1, 1, 1], kernel[2, 0, 1, 1, 0] = 1, -1
    network = convolution(tmp_path / "net.onnx", kernel)
    made, _ = segment_objects(
        tmp_path / "a.npy",
        tmp_path / "o.zarr",
        network,
        objects=ObjectOptions(0.5, 0),
        control=RunControl(is_checked=False),
    )
    with made:
        found = made.read()
    assert len(np.unique(found)) == 2
    assert (found[:, :, :12] == found[0, 0, 0]).all() and (found[:, :, 12:] == found[0, 0, 12]).all()


def test_the_command_writes_objects(
    volume: tuple[Path, Voxels], identity: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, _ = volume
    command = [
        "segment",
        str(path),
        "--network",
        str(identity),
        "-o",
        str(tmp_path / "o.zarr"),
        "--quiet",
        "--no-check",
    ]
    assert main([*command, "--objects", "--threshold", "0.45", "--min-size", "30"]) == 0
    assert "uint32" in capsys.readouterr().out
    with open_volume(tmp_path / "o.zarr") as objects:
        assert 15 < len(np.unique(objects.read())) < 30
    two = convolution(tmp_path / "two.onnx", np.ones((2, 1, 3, 3, 3)))
    with pytest.raises(InvalidInput, match="2 channels, which are not boundaries"):
        segment_objects(path, tmp_path / "p.zarr", two)
    assert main([*command, "--overwrite", "--min-size", "30"]) == 1
    assert "--min-size" in capsys.readouterr().err
