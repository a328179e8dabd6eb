"""Layers, presets, cameras and positions of a viewer, by the methods that C has too."""

from collections.abc import Iterator

import numpy as np
import pytest

import pellucid
from pellucid.client.viewer import Viewer
from pellucid.errors import InvalidInput
from pellucid.rendering.first_view.value_range import informative_histogram
from pellucid.rendering.first_view.volumes import automatic_transfer
from pellucid.rendering.presets.builtin import PRESETS
from pellucid.volume.volume import Volume

EDGE = 16
VOXELS = np.zeros((EDGE, EDGE, EDGE), np.uint16)
VOXELS[4:12, 4:12, 4:12] = np.arange(512, dtype=np.uint16).reshape(8, 8, 8) + 600


@pytest.fixture(scope="module")
def running() -> Iterator[Viewer]:
    with pellucid.start(device="cpu") as viewer:
        yield viewer


@pytest.fixture
def viewer(running: Viewer) -> Viewer:
    running.render_volume(VOXELS, name="block")
    labels = np.zeros_like(VOXELS)
    labels[4:12, 4:12, 4:8], labels[4:12, 4:12, 8:12] = 1, 2
    running.render_volume(labels, how="labels", name="halves")
    triangles = np.array([[0, 1, 2]])
    running.render_mesh(np.array([[0, 0, 0], [9, 0, 0], [0, 9, 0]], np.float32), triangles, how="add")
    return running


def test_layers_are_listed_hidden_and_removed(viewer: Viewer) -> None:
    block, halves, mesh = viewer.layers
    assert (block.path, halves.path, mesh.path) == (("volumes", 0), ("volumes", 1), ("meshes", 0))
    assert (block.name, halves.name, block.facts["shape"]) == ("block", "halves", [EDGE] * 3)
    assert (block.opacity, halves.opacity, mesh.opacity) == (None, 0.5, 1.0)
    viewer.layers.hide(0, 2)
    assert [one.is_visible for one in viewer.layers] == [False, True, False]
    viewer.layers.show(2)
    viewer.layers.set_opacity(1, 0.25)
    viewer.layers.set_opacity(2, 0.5)
    scene = viewer.scene
    assert scene.meshes[0].is_visible and scene.meshes[0].opacity == 0.5
    assert scene.volumes[1].labels is not None and scene.volumes[1].labels.opacity == 0.25
    viewer.layers.remove(1)
    assert [one.path for one in viewer.layers] == [("volumes", 0), ("meshes", 0)] and len(viewer.layers) == 2
    with pytest.raises(InvalidInput, match="Layer 0 has no opacity of its own"):
        viewer.layers.set_opacity(0, 0.5)
    with pytest.raises(InvalidInput, match="The scene has no layer 7"):
        viewer.layers.remove(7)
    with pytest.raises(InvalidInput, match="The scene has no layer -1"):
        _ = viewer.layers[-1]


def test_a_preset_is_what_the_command_line_draws(viewer: Viewer) -> None:
    counted = informative_histogram(Volume.from_array(VOXELS))
    for name in ("gold", "viridis"):
        viewer.use_preset(name)
        expected, found = automatic_transfer(counted, name), viewer.transfer
        np.testing.assert_allclose(found.value_range, expected.value_range)
        np.testing.assert_allclose([at for at, _ in found.opacities], [at for at, _ in expected.opacities], atol=0.02)
        np.testing.assert_allclose(
            np.concatenate([color for _, color in found.colors]),
            np.concatenate([color for _, color in expected.colors]),
        )
    assert viewer.shading == PRESETS["gold"].shading
    viewer.undo()
    assert viewer.transfer.colors[0][1] == PRESETS["gold"].colors[0][1]
    with pytest.raises(InvalidInput, match="Unknown preset 'silver'"):
        viewer.use_preset("silver")
    with pytest.raises(InvalidInput, match="no layer 9"):
        viewer.use_preset("gold", layer=9)


def test_a_window_is_a_range_of_values(viewer: Viewer) -> None:
    before = viewer.transfer
    viewer.value_range = (600, 900)
    assert viewer.value_range == (600.0, 900.0) and viewer.transfer.opacities == before.opacities
    with pytest.raises(InvalidInput, match="Invalid value range"):
        viewer.value_range = (3, 3)


def test_the_camera_goes_back_to_all_that_is_shown(viewer: Viewer) -> None:
    first = viewer.camera
    viewer.camera = first.orbited(40, 10).zoomed(20)
    moved = viewer.camera
    viewer.fit_camera(aspect=1.0, is_from_here=True)
    fitted = viewer.camera
    assert moved.visible_height < 2 and EDGE / 2 < fitted.visible_height < 2 * EDGE

    def side(camera: pellucid.Camera) -> np.ndarray:
        return np.subtract(camera.position, camera.target) / camera.distance

    np.testing.assert_allclose(side(fitted), side(moved), atol=1e-9)
    viewer.fit_camera()
    np.testing.assert_allclose(side(viewer.camera), side(first), atol=1e-9)
    viewer.change("volumes", 0, "shading", value="shadow")
    viewer.restore_first_view()
    assert viewer.layer.shading == "gradient"


def test_what_is_at_a_position(viewer: Viewer) -> None:
    hit = viewer.probe((9.0, 6.0, 5.0))
    assert (hit["layer"], hit["voxel"], hit["value"]) == (0, [5, 6, 9], float(VOXELS[5, 6, 9]))
    assert (hit["label"], hit["label_layer"]) == (2, 1)
    outside = viewer.probe((-50.0, 0.0, 0.0))
    assert (outside["layer"], outside["value"], outside["label"]) == (-1, None, None)
