"""Pictures that can be computed by hand."""

from dataclasses import replace

import numpy as np
import pytest

from pellucid.device import Device, launch, runtime
from pellucid.fields.dense import DenseField
from pellucid.fields.sizes import CELL
from pellucid.rendering.camera import Camera
from pellucid.rendering.drawing import packing
from pellucid.rendering.light import HEADLIGHT
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import Isosurface, Scene, VolumeLayer
from pellucid.rendering.transfer import TransferFunction
from pellucid.volume.volume import Volume

FRONT = Camera((0.0, 0.0, -100.0), (0.0, 0.0, 0.0), (0.0, 1.0, 0.0), None, 4.0)


def constant(opacity: float) -> TransferFunction:
    return TransferFunction(((0.0, (1.0, 1.0, 1.0)),), ((0.0, opacity),), (0.0, 2.0))


@pytest.mark.parametrize("step", [0.1, 0.25, 0.5, 1.0])
def test_what_passes_a_homogeneous_cube_does_not_depend_on_the_step(renderer: Renderer, step: float) -> None:
    volume = Volume.from_array(np.ones((20, 20, 20), np.uint8))
    camera = replace(FRONT, position=(9.5, 9.5, -99.8), target=(9.5, 9.5, 0.0))
    layer = VolumeLayer(str(volume.location), constant(0.1), shading="none")
    scene = Scene((layer,), camera, step=step, is_jittered=False, background=(0.0, 0.0, 0.0, 0.0))
    alpha = renderer.render(scene, 8, 8).rgba[4, 4, 3] / 255
    assert alpha == pytest.approx(1 - 0.9**20, abs=0.006)


def test_a_sphere_has_its_silhouette_and_its_depth(renderer: Renderer) -> None:
    z, y, x = np.meshgrid(*[np.arange(64.0)] * 3, indexing="ij")
    distance = np.sqrt((z - 31.5) ** 2 + (y - 31.5) ** 2 + (x - 31.5) ** 2)
    volume = Volume.from_array((20 - distance).astype(np.float32))
    camera = replace(FRONT, position=(31.5, 31.5, -100.0), target=(31.5, 31.5, 0.0), height=64.0)
    layer = VolumeLayer(str(volume.location), mode="isosurface", isosurfaces=(Isosurface(0.0),))
    frame = renderer.render(Scene((layer,), camera, background=(0.0, 0.0, 0.0, 0.0)), 128, 128)
    row, column = np.indices((128, 128))
    radius = np.hypot(row - 63.5, column - 63.5) / 2
    assert (frame.rgba[radius < 19.7, 3] == 255).all()
    assert (frame.rgba[radius > 20.3, 3] == 0).all()
    inside = radius < 18
    expected = 131.5 - np.sqrt(20**2 - radius[inside] ** 2)
    assert np.abs(frame.depth[inside] - expected).max() < 0.1


def test_the_gradient_of_a_ramp_lights_it_evenly(renderer: Renderer) -> None:
    ramp = np.broadcast_to(np.arange(32.0, dtype=np.float32)[:, None, None], (32, 32, 32)).copy()
    volume = Volume.from_array(ramp)
    camera = replace(FRONT, position=(15.5, 15.5, -100.0), target=(15.5, 15.5, 0.0), height=20.0)
    layer = VolumeLayer(str(volume.location), mode="isosurface", isosurfaces=(Isosurface(10.2, (0.5, 0.5, 0.5)),))
    frame = renderer.render(Scene((layer,), camera, HEADLIGHT), 16, 16)
    # Seen along the gradient: all of the diffuse light, and all of the shine of the headlight.
    assert (frame.rgba[..., 0] == round(255 * (0.5 * 1.0 + 0.25))).all()
    assert np.abs(frame.depth - 110.2).max() < 0.01


def test_skipping_empty_cells_changes_no_bit(device: Device) -> None:
    from pellucid.rendering.kernels import composite

    voxels = np.random.default_rng(0).integers(0, 60, (50, 60, 70)).astype(np.uint8)
    voxels[20:30, 25:40, 10:50] += 120
    volume = Volume.from_array(voxels)
    transfer = TransferFunction(opacities=((0.0, 0.0), (0.4, 0.0), (1.0, 0.3)), value_range=(0.0, 200.0))
    layer = VolumeLayer(str(volume.location), transfer)
    camera = Camera((150.0, -80.0, 110.0), (35.0, 30.0, 25.0), (0.0, 0.0, 1.0))
    scene, field, warp = Scene((layer,), camera), DenseField(volume, device), runtime.start()
    packed = packing.pack_layer(scene, layer, field, 0.5)
    images = []
    vacancy = packed.vacancy.numpy()
    assert 0 < (vacancy == 0).mean() < 0.5
    assert vacancy.max() > 2
    for cells in (vacancy, np.zeros_like(vacancy)):
        packed.vacancy = warp.array(cells, device=device.name)
        color = warp.zeros((90, 110), dtype=warp.vec4, device=device.name)
        depth = warp.zeros((90, 110), dtype=warp.float32, device=device.name)
        view = packing.pack_view(scene, (90, 110), 0.5, device)
        launch(composite.composite, (90, 110), [view, packed], [color, depth], device)
        images.append((color.numpy(), depth.numpy()))
    assert np.array_equal(images[0][0], images[1][0])
    assert np.array_equal(images[0][1], images[1][1])
    assert images[0][0].max() > 0.1


def test_the_range_of_a_cell_holds_every_sample_in_it(device: Device) -> None:
    voxels = np.random.default_rng(1).normal(size=(17, 20, 9)).astype(np.float32)
    field = DenseField(Volume.from_array(voxels), device)
    ranges = field.ranges.numpy()
    for z, y, x in np.ndindex(field.cells):
        around = voxels[
            max(z * CELL - 1, 0) : (z + 1) * CELL + 1,
            max(y * CELL - 1, 0) : (y + 1) * CELL + 1,
            max(x * CELL - 1, 0) : (x + 1) * CELL + 1,
        ]
        assert tuple(ranges[z, y, x]) == (around.min(), around.max())


def test_the_number_of_threads_changes_no_bit(renderer: Renderer) -> None:
    from pellucid.settings import load, use

    volume = Volume.from_array(np.random.default_rng(0).integers(0, 255, (30, 30, 30), dtype=np.uint8))
    layer = VolumeLayer(str(volume.location), replace(constant(0.05), value_range=(0.0, 255.0)))
    scene = Scene((layer,), Camera((80.0, 60.0, 90.0), (15.0, 15.0, 15.0)))
    with use(load(threads=1)):
        one = renderer.render(scene, 100, 100)
    with use(load(threads=2)):
        two = renderer.render(scene, 100, 100)
    assert (one.rgba == two.rgba).all()
