"""Transfer functions with a second axis, and steps that take all values between their ends."""

from dataclasses import replace

import numpy as np
import pytest

from pellucid.box import Box
from pellucid.device import Device, launch, runtime
from pellucid.errors import InvalidInput
from pellucid.fields.dense import DenseField
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Camera, framing
from pellucid.rendering.drawing import packing
from pellucid.rendering.light import Light
from pellucid.rendering.reference import classification
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import Isosurface, Scene, Transform, VolumeLayer
from pellucid.rendering.transfer import Edges, TransferFunction, summed
from pellucid.volume.volume import Volume
from tests.rendering.test_against_reference import CAMERA, TRANSFER, psnr
from tests.rendering.test_analytic import FRONT

EDGES = Edges(((0.0, 0.0), (0.2, 0.0), (0.7, 1.0)), (0.0, 20.0))
SPIKY = TransferFunction(
    colors=((0.0, (1.0, 0.2, 0.1)), (0.42, (1.0, 0.2, 0.1)), (0.43, (0.1, 0.4, 1.0)), (1.0, (0.1, 0.4, 1.0))),
    opacities=((0.0, 0.0), (0.3, 0.0), (0.31, 0.9), (0.32, 0.0), (0.55, 0.0), (0.56, 0.95), (0.57, 0.0), (1.0, 0.0)),
    value_range=(0.0, 255.0),
)
KEPT: list[Volume] = []
"""Volumes in memory are found by name as long as somebody holds them."""


@pytest.fixture(scope="module")
def ball() -> Volume:
    """A ball whose values fall from 250 in its middle to 0, ten for every voxel, (48, 48, 48)."""
    z, y, x = np.indices((48, 48, 48)) - 23.5
    KEPT.append(Volume.from_array(np.clip(250 - 11 * np.sqrt(z**2 + y**2 + x**2), 0, 250).astype(np.float32)))
    return KEPT[-1]


def scene_of(volume: Volume, transfer: TransferFunction, **changes: object) -> Scene:
    layer = replace(VolumeLayer(str(volume.location), transfer, shading="none"), **changes)  # type: ignore[arg-type]
    z, y, x = (n * s for n, s in zip(volume.shape, volume.spacing, strict=True))
    return Scene((layer,), framing((0.0, 0.0, 0.0), (x, y, z), direction=(1.0, -0.7, 0.4)))


def difference(one: Voxels, other: Voxels) -> float:
    """Root of the mean square, in 8-bit values."""
    return float(np.sqrt(np.mean((one.astype(float) - other.astype(float)) ** 2)))


@pytest.fixture(scope="module")
def balls() -> Volume:
    """Two balls with sharp borders on a slope, (20, 26, 30), not of one edge length."""
    z, y, x = np.meshgrid(*(np.arange(n) for n in (20, 26, 30)), indexing="ij")
    first = ((z - 8) / 5) ** 2 + ((y - 9) / 6) ** 2 + ((x - 10) / 6) ** 2 < 1
    second = ((z - 14) / 4) ** 2 + ((y - 18) / 5) ** 2 + ((x - 22) / 5) ** 2 < 1
    KEPT.append(Volume.from_array((20 + 100 * first + 170 * second + x).astype(np.uint8), spacing=(2.0, 1.0, 1.0)))
    return KEPT[-1]


@pytest.mark.parametrize(
    "changes",
    [
        {"edges": EDGES},
        {"is_preintegrated": True},
        {"is_preintegrated": True, "edges": EDGES},
        {"is_preintegrated": True, "value_range": (60.0, 120.0)},
    ],
    ids="-".join,
)
@pytest.mark.parametrize("step", [0.5, 3.0])
def test_the_picture_is_the_reference_s(
    renderer: Renderer, balls: Volume, changes: dict[str, object], step: float
) -> None:
    transfer = replace(TRANSFER, **changes)  # type: ignore[arg-type]
    layer = VolumeLayer(str(balls.location), transfer, transform=Transform((1.2, 0.8, 1.0), (20.0, -35.0, 50.0)))
    assert psnr(renderer, Scene((layer,), CAMERA, step=step), {str(balls.location): balls}) >= 45


@pytest.mark.parametrize("shading", ["shadow", "full"])
def test_what_the_gradient_hides_takes_no_light(renderer: Renderer, balls: Volume, shading: str) -> None:
    transform = Transform((1.2, 0.8, 1.0), (20.0, -35.0, 50.0))
    layer = VolumeLayer(str(balls.location), replace(TRANSFER, edges=EDGES), shading=shading, transform=transform)  # type: ignore[arg-type]
    scene = Scene((layer,), CAMERA, light=Light(direction=(0.3, 1.0, -0.5)))
    assert psnr(renderer, scene, {str(balls.location): balls}) >= 45


def test_beside_other_volumes_too(renderer: Renderer, balls: Volume) -> None:
    first = VolumeLayer(str(balls.location), replace(TRANSFER, edges=EDGES))
    moved = Transform(rotation_deg=(0.0, 30.0, 10.0), translation=(6.0, 2.0, -5.0))
    second = VolumeLayer(str(balls.location), replace(TRANSFER, is_preintegrated=True), transform=moved)
    assert psnr(renderer, Scene((first, second), CAMERA), {str(balls.location): balls}) >= 45


@pytest.mark.parametrize("opacity", [0.95, 0.3])
def test_whole_steps_meet_the_peaks_that_samples_miss(renderer: Renderer, ball: Volume, opacity: float) -> None:
    spiky = replace(SPIKY, opacities=tuple((at, opacity if level else 0.0) for at, level in SPIKY.opacities))
    scene = replace(scene_of(ball, spiky), step=0.04, is_jittered=False)
    fine = renderer.render(scene, 96, 96).rgba
    by_samples = renderer.render(replace(scene, step=1.0, is_jittered=True), 96, 96).rgba
    whole = scene_of(ball, replace(spiky, is_preintegrated=True))
    by_steps = renderer.render(replace(whole, step=1.0), 96, 96).rgba
    assert difference(by_samples, fine) > 4
    assert difference(by_steps, fine) < difference(by_samples, fine) / 10


def test_a_peak_between_two_invisible_values_is_seen(renderer: Renderer) -> None:
    """Two halves, 0 and 200, neither visible; the peak takes a fifth of the voxel between them."""
    voxels = np.zeros((40, 20, 20), np.float32)
    voxels[20:] = 200
    volume = Volume.from_array(voxels)
    peak = ((0.0, 0.0), (0.4, 0.0), (0.4, 0.9), (0.6, 0.9), (0.6, 0.0), (1.0, 0.0))
    transfer = TransferFunction(((0.0, (1.0, 1.0, 1.0)),), peak, (0.0, 200.0), is_preintegrated=True)
    scene = scene_of(volume, transfer)
    camera = replace(FRONT, position=(9.5, 9.5, -100.0), target=(9.5, 9.5, 0.0))
    scene = replace(scene, camera=camera, step=1.0, is_jittered=False, background=(0.0, 0.0, 0.0, 0.0))
    assert renderer.render(scene, 8, 8).rgba[4, 4, 3] / 255 == pytest.approx(1 - 0.1**0.2, abs=0.01)
    (layer,) = scene.volumes
    sampled = replace(layer, transfer=replace(transfer, is_preintegrated=False))
    half_way = replace(camera, position=(9.5, 9.5, -100.5))
    assert renderer.render(replace(scene, volumes=(sampled,), camera=half_way), 8, 8).rgba[4, 4, 3] == 0


@pytest.mark.parametrize(
    ("changes", "step"),
    [({"edges": EDGES}, 0.5), ({"is_preintegrated": True}, 0.5), ({"is_preintegrated": True}, 20.0)],
    ids=str,
)
def test_skipping_empty_cells_changes_no_bit(device: Device, changes: dict[str, object], step: float) -> None:
    from pellucid.rendering.kernels.classification import composite_classified

    voxels = np.random.default_rng(0).integers(0, 60, (50, 60, 70)).astype(np.uint8)
    voxels[20:30, 25:40, 10:50] += 120
    voxels[:, :, :30] = 100  # Visible by its value, nowhere by its gradient.
    volume = Volume.from_array(voxels)
    opacities = ((0.0, 0.0), (0.4, 0.0), (0.41, 0.3), (0.8, 0.1))
    transfer = replace(TransferFunction(opacities=opacities, value_range=(0.0, 200.0)), **changes)  # type: ignore[arg-type]
    layer = VolumeLayer(str(volume.location), transfer)
    camera = Camera((150.0, -80.0, 110.0), (35.0, 30.0, 25.0), (0.0, 0.0, 1.0))
    scene, field, warp = Scene((layer,), camera), DenseField(volume, device), runtime.start()
    packed = packing.pack_layer(scene, layer, field, step)
    images = []
    vacancy = packed.vacancy.numpy()
    assert vacancy.max() > 0
    assert (vacancy[:, :, 1] > 0).all() == (transfer.edges is not None)
    for cells in (vacancy, np.zeros_like(vacancy)):
        packed.vacancy = warp.array(cells, device=device.name)
        color = warp.zeros((90, 110), dtype=warp.vec4, device=device.name)
        depth = warp.zeros((90, 110), dtype=warp.float32, device=device.name)
        view = packing.pack_view(scene, (90, 110), step, device)
        launch(composite_classified, (90, 110), [view, packed], [color, depth], device)
        images.append(color.numpy())
    assert np.array_equal(*images)
    assert images[0].max() > 0.1


@pytest.mark.parametrize("is_preintegrated", [False, True])
def test_half_of_the_material_counts_where_the_gradient_says_so(renderer: Renderer, is_preintegrated: bool) -> None:
    ramp = np.broadcast_to(np.arange(22, dtype=np.float32)[:, None, None] * 4, (22, 20, 20)).copy()
    volume = Volume.from_array(ramp)
    edges = Edges(((0.0, 0.0), (1.0, 1.0)), (0.0, 8.0))
    transfer = TransferFunction(((0.0, (1.0, 1.0, 1.0)),), ((0.0, 0.1),), (0.0, 88.0), 1.0, edges, is_preintegrated)
    clip = Box((1, 0, 0), (21, 20, 20))  # Beside the border the gradient is another.
    scene = scene_of(volume, transfer, clip=clip)
    camera = replace(FRONT, position=(9.5, 9.5, -100.0), target=(9.5, 9.5, 0.0))
    frame = renderer.render(replace(scene, camera=camera, background=(0.0, 0.0, 0.0, 0.0)), 8, 8)
    assert frame.rgba[4, 4, 3] / 255 == pytest.approx(1 - 0.9**10, abs=0.01)


def test_values_beyond_the_table_go_on_as_its_last_row() -> None:
    transfer = TransferFunction(((0.0, (1.0, 1.0, 1.0)),), ((0.0, 0.5), (0.999, 0.5), (1.0, 0.0)), (0.0, 1.0))
    table = transfer.table(1.0)
    (seen,) = classification.by_steps(transfer, table, np.array([-1.0]), np.array([1.0]))
    assert seen[3] == pytest.approx(0.5, abs=1e-3)
    assert summed(table)[-1, 3] == pytest.approx(-np.log(0.5) * len(table), rel=2e-3)


@pytest.mark.parametrize("wrong", [{"gradient_range": (2.0, 1.0)}, {"gradient_range": (-1.0, 1.0)}, {"factors": ()}])
def test_edges_are_checked(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match=r"Invalid (gradient range|.* points)"):
        Edges(**wrong)  # type: ignore[arg-type]


def test_a_scene_keeps_them() -> None:
    scene = Scene((VolumeLayer("scan.zarr", replace(TRANSFER, edges=EDGES, is_preintegrated=True)),))
    assert Scene.from_json(scene.to_json()) == scene


@pytest.mark.parametrize("changes", [{}, {"shading": "gradient"}, {"mode": "isosurface"}])
def test_the_narrowest_range_of_values_is_drawn(renderer: Renderer, ball: Volume, changes: dict[str, object]) -> None:
    """A page may send any two numbers; a multiple of this difference is 0. Nearly all values are above the range, so
    that the image is that of a range below them."""
    surfaces = {"isosurfaces": (Isosurface(100.0),)} if "mode" in changes else {}
    images = [
        renderer.render(scene_of(ball, replace(TRANSFER, value_range=(0.0, high)), **changes, **surfaces), 64, 48).rgba
        for high in (5e-324, 1e-30)
    ]
    assert images[1][..., :3].any()
    assert difference(*images) < 1
