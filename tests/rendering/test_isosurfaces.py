"""Extracted isosurfaces: closed, the same for any slab, and as large as geometry says."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.box import Box, Shape
from pellucid.device import choose, devices, primitives, runtime
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.rendering.geometry.cube_cases import EDGES, triangle_table
from pellucid.rendering.geometry.isosurfaces import extract_isosurface, isosurface_slabs, save_isosurface
from pellucid.rendering.geometry.mesh_files import load_mesh
from pellucid.rendering.geometry.shapes import Mesh
from pellucid.rendering.geometry.surface_extraction import SurfacePlace, extract_surface
from pellucid.rendering.reference.isosurfaces import surface_of
from pellucid.volume.volume import Volume


def ball(edge: int, radius: float, spacing: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> Volume:
    """Values that fall from the centre, 0 on the sphere; spacing and radius in the world."""
    axes = [np.arange(round(edge / step)) * step for step in spacing]
    z, y, x = np.meshgrid(*axes, indexing="ij")
    centre = edge / 2 - 0.3
    distance = np.sqrt((z - centre) ** 2 + (y - centre) ** 2 + (x - centre) ** 2)
    return Volume.from_array((radius - distance).astype(np.float32), spacing)


EDGE = 22


def noise(edge: int = EDGE) -> Volume:
    """Every case of the table occurs; the border is empty, so that all surfaces are closed."""
    voxels = np.random.default_rng(0).integers(1, 255, (edge, edge, edge)).astype(np.uint8)
    voxels[[0, -1]] = voxels[:, [0, -1]] = voxels[:, :, [0, -1]] = 0
    return Volume.from_array(voxels, (2.0, 1.0, 0.5))


def sides(triangles: Voxels) -> Voxels:
    """The directed sides (3 m, 2) of triangles."""
    return np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])


def is_closed(mesh: Mesh) -> bool:
    """Every side has exactly two triangles, and they run along it in opposite directions."""
    directed = sides(mesh.triangles)
    _, counts = np.unique(np.sort(directed, axis=1), axis=0, return_counts=True)
    return bool((counts == 2).all()) and len(np.unique(directed, axis=0)) == len(directed)


def euler_characteristic(mesh: Mesh) -> int:
    edges = np.unique(np.sort(sides(mesh.triangles), axis=1), axis=0)
    return len(mesh.vertices) - len(edges) + len(mesh.triangles)


def area_and_volume(mesh: Mesh) -> tuple[float, float]:
    a, b, c = (mesh.vertices[mesh.triangles[:, corner]].astype(float) for corner in range(3))
    return float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2), float((a * np.cross(b, c)).sum() / 6)


@pytest.mark.parametrize("spacing", [(1.0, 1.0, 1.0), (2.0, 1.0, 0.5)])
def test_a_sphere_is_closed_and_has_its_size(spacing: tuple[float, float, float]) -> None:
    mesh = extract_isosurface(ball(48, 18.0, spacing), 0.0)
    assert is_closed(mesh)
    assert euler_characteristic(mesh) == 2
    area, volume = area_and_volume(mesh)
    assert area == pytest.approx(4 * np.pi * 18**2, rel=0.01)
    assert volume == pytest.approx(4 / 3 * np.pi * 18**3, rel=0.01)
    assert np.abs(np.linalg.norm(mesh.vertices - 23.7, axis=1) - 18).max() < 0.06


def test_noise_is_closed_and_has_every_case() -> None:
    volume = noise()
    inside = volume.read() >= 127
    corner = [
        inside[z : EDGE - 1 + z, y : EDGE - 1 + y, x : EDGE - 1 + x] for z in (0, 1) for y in (0, 1) for x in (0, 1)
    ]
    cases = sum(part.astype(int) << bit for bit, part in enumerate(corner))
    assert len(np.unique(cases)) == 256
    mesh = extract_isosurface(volume, 127.0)
    assert is_closed(mesh)
    assert set(np.unique(mesh.triangles).tolist()) == set(range(len(mesh.vertices)))


@pytest.mark.parametrize("slab_voxels", [1, 2 * EDGE**2, 5 * EDGE**2, (EDGE - 1) * EDGE**2])
def test_the_height_of_slabs_changes_nothing(slab_voxels: int) -> None:
    volume = noise()
    whole = extract_isosurface(volume, 127.0)
    slabs = list(isosurface_slabs(volume, 127.0, None, slab_voxels))
    assert len(slabs) > 1
    assert np.array_equal(np.concatenate([slab.vertices for slab in slabs]), whole.vertices)
    assert np.array_equal(np.concatenate([slab.numbered for slab in slabs]), whole.triangles)
    assert all(slab.numbered.dtype == np.int64 for slab in slabs)


def test_chunks_are_read_whole_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    volume, box = noise(), Box((3, 0, 0), (EDGE, EDGE, EDGE))
    expected = extract_isosurface(volume, 127.0, box)
    read: list[str] = []
    plain = Volume.read

    def noted(self: Volume, box: Box | None = None, out: Voxels | None = None) -> Voxels:
        read.append(str(box).split(",")[0])
        return plain(self, box, out)

    monkeypatch.setattr(Volume, "array", property(lambda _: None))
    monkeypatch.setattr(Volume, "chunk", property(lambda _: (8, EDGE, EDGE)))
    monkeypatch.setattr(Volume, "read", noted)
    slabs = list(isosurface_slabs(volume, 127.0, box, 3 * EDGE**2))
    assert read == ["3:8", "8:16", "16:22"]
    assert len(slabs) == 7
    assert np.array_equal(np.concatenate([slab.numbered for slab in slabs]), expected.triangles)


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_kernels_find_what_the_definition_says(seed: int) -> None:
    random = np.random.default_rng(seed)
    shape = tuple(random.integers(1, [6, 6, 150]).tolist())
    kind = random.choice(["u1", "i1", "u2", "i2", ">i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", ">f4", "?"])
    voxels = random.integers(-3 if np.dtype(kind).kind in "if" else 0, 4, shape).astype(kind)
    if np.dtype(kind).kind == "f":
        voxels[random.random(shape) < 0.1] = random.choice([np.nan, np.inf])
    value = float(random.choice([-3.5, -1.0, 0.0, 0.5, 1.0, 2.75, 300.0]))
    some = voxels[:, ::2] if random.random() < 0.3 else voxels
    place = SurfacePlace((3, 5, 7), (0.5, 1.25, 2.0), is_last=bool(random.integers(2)))
    found = extract_surface(some, value, place)
    with np.errstate(invalid="ignore"):
        vertices, triangles = surface_of(some, value, place.start, place.spacing, is_last=place.is_last)
    assert np.array_equal(found.vertices, vertices)
    assert np.array_equal(found.triangles, triangles)


@pytest.mark.gpu
def test_on_a_gpu_the_surface_is_the_same() -> None:
    if not any(device.is_cuda for device in devices()):
        pytest.skip("needs a CUDA device")
    device = choose("cuda")
    voxels = np.ascontiguousarray(noise().read())
    on_device = primitives(device).to_device(voxels)
    found = extract_surface(runtime.start().array(on_device, device=device.name), 127.0, device=device)
    vertices, triangles = surface_of(voxels, 127.0)
    assert np.allclose(primitives(device).to_host(found.vertices), vertices, atol=1e-5)
    assert np.array_equal(primitives(device).to_host(found.triangles), triangles)


def test_a_box_has_its_part_at_its_place() -> None:
    volume, box = ball(48, 18.0), Box((6, 10, 3), (40, 30, 45))
    whole, part = extract_isosurface(volume, 0.0), extract_isosurface(volume, 0.0, box)
    inside = (whole.vertices >= [3, 10, 6]).all(axis=1) & (whole.vertices <= [44, 29, 39]).all(axis=1)
    assert np.array_equal(np.unique(whole.vertices[inside], axis=0), np.unique(part.vertices, axis=0))
    assert not is_closed(part)


def test_a_value_that_voxels_have_exactly_makes_no_empty_triangle() -> None:
    voxels = np.zeros((6, 6, 6), np.uint8)
    voxels[2:4, 2:4, 2:4] = 7
    mesh = extract_isosurface(Volume.from_array(voxels), 7.0)
    a, b, c = (mesh.vertices[mesh.triangles[:, corner]] for corner in range(3))
    assert np.linalg.norm(np.cross(b - a, c - a), axis=1).min() > 0
    assert is_closed(mesh)


def test_not_a_number_is_outside() -> None:
    voxels = np.full((5, 5, 5), np.nan, np.float32)
    voxels[2, 2, 2] = 1.0
    mesh = extract_isosurface(Volume.from_array(voxels), 0.5)
    assert is_closed(mesh)
    assert np.abs(mesh.vertices - 2).sum(axis=1).tolist() == [0.5] * 6


def test_the_table_has_no_triangle_twice_on_a_face() -> None:
    counts, table = triangle_table()
    assert (int(counts[0]), int(counts[255]), int(counts[1]), int(counts[0b10010110])) == (0, 0, 1, 4)
    # Corner 0 alone: its three edges.
    assert sorted(EDGES[edge] for edge in table[1, 0]) == [(0, 0), (0, 1), (0, 2)]


@pytest.mark.parametrize("suffix", [".ply", ".obj", ".stl", ".vtp"])
def test_a_surface_is_saved_as_it_is_extracted(tmp_path: Path, suffix: str) -> None:
    volume, path = ball(24, 8.0), tmp_path / f"ball{suffix}"
    mesh = extract_isosurface(volume, 0.0)
    assert save_isosurface(volume, 0.0, path) == (len(mesh.vertices), len(mesh.triangles))
    read = load_mesh(str(path))
    assert np.array_equal(read.vertices[read.triangles], mesh.vertices[mesh.triangles])
    assert len(read.vertices) == len(mesh.vertices)
    assert [left.name for left in tmp_path.iterdir()] == [path.name]


def test_no_surface_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"The isovalue 99 is outside the values of the volume, which are from"):
        save_isosurface(ball(12, 4.0), 99.0, tmp_path / "none.ply")
    with pytest.raises(InvalidInput, match=r"not a valid mesh file name\. Use .* ends in \.ply, \.obj, \.stl, \.vtp"):
        save_isosurface(ball(12, 4.0), 0.0, tmp_path / "ball.xyz")
    with pytest.raises(InvalidInput, match="The isovalue 0 has no surface in "):
        save_isosurface(ball(12, 4.0), 0.0, tmp_path / "none.ply", Box((0, 0, 0), (2, 2, 2)))
    assert list(tmp_path.iterdir()) == []
    assert len(extract_isosurface(ball(12, 4.0), 99.0).triangles) == 0


@pytest.mark.parametrize(("shape", "thin"), [((1, 5, 6), "z"), ((5, 1, 6), "y"), ((5, 1, 1), "y, x")])
def test_a_volume_one_voxel_thick_has_no_surface(shape: Shape, thin: str, tmp_path: Path) -> None:
    volume = Volume.from_array(np.arange(np.prod(shape), dtype=np.uint8).reshape(shape))
    with pytest.raises(InvalidInput, match=rf"is one voxel thick along {thin}, so it has no isosurface\. Use a volume"):
        save_isosurface(volume, 3.5, tmp_path / "thin.ply")
    with pytest.raises(InvalidInput, match=f"one voxel thick along {thin}"):
        extract_isosurface(volume, 3.5)
    assert list(tmp_path.iterdir()) == []
