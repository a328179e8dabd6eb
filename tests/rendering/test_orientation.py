"""Volumes stand as their files state, however they are stored, and none is mirrored."""

from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest

from pellucid.formats.orientation import Orientation
from pellucid.formats.protocol import Voxels
from pellucid.rendering.annotations import Annotations, annotated, axes
from pellucid.rendering.camera import Camera
from pellucid.rendering.first_view.orientation import index_signs
from pellucid.rendering.first_view.volumes import automatic_camera, automatic_scene
from pellucid.rendering.geometry.isosurfaces import extract_isosurface
from pellucid.rendering.geometry.shapes import Mesh
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import Isosurface, MeshLayer, Scene
from pellucid.volume.slice_planes import planes_of
from pellucid.volume.volume import Volume

SIZE = 40
NAMED = {"R": (1, 0, 0), "L": (-1, 0, 0), "A": (0, 1, 0), "P": (0, -1, 0), "S": (0, 0, 1), "I": (0, 0, -1)}


def patient() -> Voxels:
    """(x, y, z) to the right, the front and the head: a block, more of it to the right, above, and at the front."""
    voxels = np.zeros((24, 20, 28), np.uint8)
    voxels[6:18, 5:15, 6:22] = 120
    voxels[13:18, 5:15, 16:22] = 250
    voxels[8:12, 12:15, 8:12] = 30
    return voxels


def stored(code: str) -> Volume:
    """The patient with x, y and z of the volume running where the three letters say."""
    axes = [tuple(float(n) for n in NAMED[letter]) for letter in code]
    order = [int(np.argmax(np.abs(axis))) for axis in axes]
    voxels = patient().transpose(order)
    for axis, direction in enumerate(axes):
        voxels = np.flip(voxels, axis) if sum(direction) < 0 else voxels
    return Volume.from_array(np.ascontiguousarray(voxels.T), orientation=Orientation(tuple(axes), is_anatomical=True))  # type: ignore[arg-type]


def centred(camera: Camera, volume: Volume) -> Camera:
    """The same direction without perspective, at the middle of the volume."""
    shift = (np.array(volume.shape[::-1]) - 1) / 2 - camera.target
    position, target = (tuple(float(n) for n in place + shift) for place in (camera.position, camera.target))
    return replace(camera, position=position, target=target, field_of_view_deg=None, height=32.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("code", ["RAS", "LPS", "LAS", "RPS", "RSP", "PIR", "ASL", "IPL", "SAR"])
@pytest.mark.parametrize("view", ["front", "right", "top"])
def test_one_patient_is_seen_however_it_is_stored(renderer: Renderer, code: str, view: str) -> None:
    images = []
    for volume in (stored("RAS"), stored(code)):
        renderer.add(volume)
        (layer,) = automatic_scene(volume).volumes
        camera = automatic_camera(volume, view=view)  # type: ignore[arg-type]
        scene = Scene((replace(layer, mode="max"),), centred(camera, volume))
        images.append(renderer.render(scene, SIZE, SIZE).rgba[..., 0].astype(int))
    assert images[0].std() > 20
    assert np.abs(images[0] - images[1]).mean() < 2


def test_the_front_view_faces_the_patient(renderer: Renderer) -> None:
    volume = stored("LAS")
    renderer.add(volume)
    (layer,) = automatic_scene(volume).volumes
    scene = Scene((replace(layer, mode="max"),), automatic_camera(volume, view="front"))
    image = renderer.render(scene, SIZE, SIZE).rgba[..., 0]
    row, column = (float(part.mean()) for part in np.nonzero(image > 240))
    assert row < SIZE / 2, "the head is up"
    assert column < SIZE / 2, "the patient's right is on the left"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("RAS", [("-y", "x"), ("-z", "x"), ("-z", "y")]),
        ("LPS", [("y", "x"), ("-z", "x"), ("-z", "y")]),
        ("RIP", [("y", "x"), ("z", "x"), ("y", "z")]),
        ("SAR", [("-x", "y"), ("-x", "z"), ("-y", "z")]),
    ],
)
def test_slices_have_the_head_or_the_front_at_the_top(code: str, expected: list[tuple[str, str]]) -> None:
    assert [(plane.down, plane.right) for plane in planes_of(stored(code))] == expected


def test_what_a_file_states_wins_over_the_face_that_a_sample_goes_through() -> None:
    voxels = np.zeros((20, 20, 20), np.uint8)
    voxels[6:, 6:14, 6:14] = 200
    assert automatic_scene(Volume.from_array(voxels)).camera.up == (0.0, 0.0, -1.0)
    upright = Orientation(((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))
    assert automatic_scene(Volume.from_array(voxels, orientation=upright)).camera.up == (0.0, 0.0, 1.0)


ALL_CODES = ["".join(letters) for order in permutations(("RL", "AP", "SI")) for letters in product(*order)]


@pytest.mark.parametrize("code", ALL_CODES)
def test_a_mesh_coincides_with_its_volume_and_is_no_mirror_image(renderer: Renderer, code: str) -> None:
    volume = stored(code)
    renderer.add(volume)
    mesh = extract_isosurface(volume, 100)
    scene = automatic_scene(volume)
    surface = replace(scene.volumes[0], mode="isosurface", isosurfaces=(Isosurface(100),))
    scene = replace(scene, volumes=(surface,))
    drawn = renderer.render(scene, SIZE, SIZE).depth
    alone = renderer.render(replace(scene, volumes=(), meshes=(MeshLayer(mesh.name),)), SIZE, SIZE).depth
    both = np.isfinite(drawn) & np.isfinite(alone)
    assert both.sum() > 100
    assert (np.isfinite(drawn) != np.isfinite(alone)).mean() < 0.02
    assert np.median(np.abs(drawn[both] - alone[both])) < 0.1
    assert signed_volume(mesh) > 0, "triangles face outwards"


def signed_volume(mesh: Mesh) -> float:
    a, b, c = (mesh.vertices[mesh.triangles[:, corner]].astype(float) for corner in range(3))
    return float((a * np.cross(b, c)).sum() / 6)


def corners(mesh: Mesh, turn: Voxels) -> Voxels:
    """The vertices about their middle, turned, in an order of their own."""
    vertices = mesh.vertices.astype(float) @ turn.T
    vertices = np.round(vertices - (vertices.min(axis=0) + vertices.max(axis=0)) / 2, 3) + 0.0
    return np.unique(vertices, axis=0)


@pytest.mark.parametrize("code", ALL_CODES)
def test_meshes_of_one_patient_differ_by_a_turn_alone(code: str) -> None:
    expected, mesh = (extract_isosurface(stored(name), 100) for name in ("RAS", code))
    signed = [
        np.eye(3)[list(order)] * signs for order in permutations(range(3)) for signs in product((1, -1), repeat=3)
    ]
    fits = [turn for turn in signed if np.array_equal(corners(mesh, turn), corners(expected, np.eye(3)))]
    assert [round(np.linalg.det(turn)) for turn in fits] == [1]


@pytest.mark.parametrize("code", ALL_CODES)
def test_the_arms_of_the_axes_point_to_higher_indices(code: str) -> None:
    """Where they would be in space: an arm shows the letter of its axis."""
    scene = automatic_scene(stored(code), view="front")
    arms = {arm.name: arm for arm in axes(scene.camera, 100, 100, index_signs(scene))}
    # From the front the patient's right is on the left, the head is up, and the front is towards the eye.
    shown = {"R": (-1, 0, 0), "L": (1, 0, 0), "S": (0, -1, 0), "I": (0, 1, 0), "A": (0, 0, -1), "P": (0, 0, 1)}
    for name, letter in zip("xyz", code, strict=True):
        across, down = np.subtract(arms[name].tip, arms[name].root) / 7.5
        assert (across, down, arms[name].depth) == pytest.approx(shown[letter], abs=1e-6)


def test_the_arms_are_drawn_for_the_first_volume(renderer: Renderer) -> None:
    volume = stored("LAS")
    renderer.add(volume)
    scene = automatic_scene(volume, view="front")
    scene = replace(scene, annotations=Annotations(is_axes=True))
    drawn = renderer.render(scene, 200, 200).rgba
    marks = annotated(np.zeros((200, 200, 4), np.uint8), scene.camera, scene.annotations, (-1.0, 1.0, 1.0))
    is_red = (marks[..., 0] > 200) & (marks[..., 2] < 120)
    assert is_red.sum() > 10
    assert (drawn[is_red][:, 0] > 200).all()
