"""Surfaces of many labels in one pass: each is the isosurface of "is this label", and closed by itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.box import Shape, triple
from pellucid.device import devices, runtime
from pellucid.formats.protocol import Voxels
from pellucid.rendering.geometry.label_surfaces import GroupedSurfaces, extract_label_surfaces, group_by_label
from pellucid.rendering.geometry.shapes import Mesh
from pellucid.rendering.geometry.surface_extraction import SurfacePlace
from pellucid.rendering.reference.isosurfaces import surface_of
from tests.rendering.test_isosurfaces import is_closed

DTYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64")
PLACE = SurfacePlace((3, 50, 7), (2.0, 1.0, 0.7))


def cells(shape: Shape, numbers: Voxels, dtype: str, seed: int = 0) -> Voxels:
    """The nearest of some seeds, each with a number, in voxels some of which have any label: every case occurs."""
    random = np.random.default_rng(seed)
    seeds = random.uniform(0, shape, (len(numbers), 3))
    voxels = np.indices(shape).reshape(3, -1).T
    nearest = ((voxels[:, None] - seeds) ** 2).sum(-1).argmin(1)
    is_any = random.random(len(nearest)) < 0.2
    nearest[is_any] = random.integers(0, len(numbers), is_any.sum())
    volume: Voxels = numbers.astype(dtype)[nearest].reshape(shape)
    return volume


def meshes(found: GroupedSurfaces) -> dict[int, Mesh]:
    whole, split, vertex, triangle = found.surface, {}, 0, 0
    for label, vertices, triangles in found.parts:
        own = whole.triangles[triangle : triangle + triangles]
        split[label] = Mesh(whole.vertices[vertex : vertex + vertices], own)
        vertex, triangle = vertex + vertices, triangle + triangles
    assert (vertex, triangle) == (len(whole.vertices), len(whole.triangles))
    return split


def check(volume: Voxels, labels: list[int], place: SurfacePlace = PLACE) -> dict[int, Mesh]:
    """Against the isosurfaces of all labels, one by one."""
    found = meshes(group_by_label(extract_label_surfaces(volume, labels, place)))
    expected = {}
    for label in sorted(set(labels)):
        vertices, triangles = surface_of((volume == label).astype(np.uint8), 0.5, place.start, place.spacing)
        if len(triangles):
            expected[label] = Mesh(vertices, triangles)
    assert list(found) == list(expected)
    for label, mesh in expected.items():
        np.testing.assert_array_equal(found[label].vertices, mesh.vertices)
        np.testing.assert_array_equal(found[label].triangles, mesh.triangles)
    return found


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_label_has_the_isosurface_of_itself(dtype: str) -> None:
    numbers = np.array([0, 1, 2, 5, 9, 100, 101, 127])
    volume = cells((9, 7, 70), numbers, dtype)
    assert len(check(volume, [2, 5, 100, 127, 77])) == 4  # 77 is absent; the others touch each other and the border.
    assert len(check(volume, numbers.tolist())) == 8


@pytest.mark.parametrize(
    ("dtype", "numbers"),
    [
        ("uint64", [0, 3, 2**32 + 3, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1]),
        ("uint64", [2**64 - 2, 2**64 - 1]),
        ("int64", [-(2**63), -5, 0, 3, 2**32 + 3, 2**63 - 1]),
        ("int16", [-(2**15), -1, 0, 1, 2**15 - 1]),
        ("float64", [-(2**53), -1, 0, 2**53]),
    ],
)
def test_labels_far_apart(dtype: str, numbers: list[int]) -> None:
    volume = cells((6, 6, 9), np.array(numbers, dtype), dtype)
    assert len(check(volume, numbers)) == len(numbers)
    check(volume, numbers[1:])


def test_labels_that_voxels_cannot_hold_are_absent() -> None:
    volume = cells((5, 6, 7), np.array([0, 3, 255]), "uint8")
    found = extract_label_surfaces(volume, [259, -1, 3, 2**70, -253])
    assert [label for label, _, _ in group_by_label(found).parts] == [3]
    fractions = np.where(volume == 3, np.float32(3.5), np.where(volume == 255, np.float32(np.nan), np.float32(4)))
    assert [label for label, _, _ in group_by_label(extract_label_surfaces(fractions, [3, 4])).parts] == [4]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_label_volumes(data: st.DataObject) -> None:
    shape = triple([data.draw(st.integers(1, 9)), data.draw(st.integers(1, 9)), data.draw(st.integers(1, 140))])
    count = data.draw(st.integers(1, 12))
    dtype = data.draw(st.sampled_from(DTYPES))
    scale = 10 if np.dtype(dtype).itemsize == 1 else data.draw(st.sampled_from([1, 2000]))
    volume = cells(shape, np.arange(count) * scale, dtype, data.draw(st.integers(0, 999)))
    if data.draw(st.booleans()):  # Rows of a larger array.
        volume = np.pad(volume, 2)[2:-2, 2:-2, 2:-2]
    check(volume, data.draw(st.lists(st.integers(0, count), max_size=count)))
    check(volume, [scale * n for n in data.draw(st.lists(st.integers(0, count), max_size=count))])


def test_every_surface_is_closed() -> None:
    volume = np.pad(cells((12, 11, 80), np.arange(30), "uint32"), 1)
    found = check(volume, list(range(1, 30)))
    assert len(found) == 29
    assert all(is_closed(mesh) for mesh in found.values())


def test_owners_without_grouping() -> None:
    volume = cells((8, 9, 10), np.arange(6), "uint16")
    found = extract_label_surfaces(volume, [1, 3, 4], PLACE)
    owners = found.vertex_owners[found.surface.triangles]
    assert found.labels == (1, 3, 4)
    assert (owners == found.triangle_owners[:, None]).all()
    parts = group_by_label(found).parts
    assert [triangles for _, _, triangles in parts] == np.bincount(found.triangle_owners).tolist()


@pytest.mark.gpu
@pytest.mark.parametrize("labels", [[3, 40, 41, 90], list(range(0, 200, 3)), [2**40, 5, 6]])
def test_on_a_gpu_the_surfaces_are_the_same(labels: list[int]) -> None:
    device = next((device for device in devices() if device.is_cuda), None)
    if device is None:
        pytest.skip("needs a CUDA device")
    numbers = np.append(np.arange(150), 2**40)
    volume = cells((20, 30, 150), numbers, "int64")
    warp = runtime.start()
    there = warp.array(volume, dtype=warp.int64, device=device.name)
    found = group_by_label(extract_label_surfaces(there, labels, PLACE, device), device)
    expected = group_by_label(extract_label_surfaces(volume, labels, PLACE))
    assert found.parts == expected.parts
    np.testing.assert_array_equal(found.surface.vertices.get(), expected.surface.vertices)
    np.testing.assert_array_equal(found.surface.triangles.get(), expected.surface.triangles)
