"""Images of slices beside the scene: kernels against the definition in NumPy, whole and in bricks."""

from dataclasses import replace

import numpy as np
import pytest

from pellucid.device import Device
from pellucid.formats.protocol import Voxels
from pellucid.rendering.labels import LabelColor, Labels
from pellucid.rendering.reference.slice_images import draw_slice_image
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import SliceLayer, Transform, VolumeLayer
from pellucid.rendering.slice_image import SliceImage, SliceRectangle, axis_rectangle, oblique_rectangle
from pellucid.rendering.transfer import TransferFunction
from pellucid.volume.slice_planes import planes_of_axes
from pellucid.volume.volume import Volume

SHAPE, SPACING = (20, 31, 45), (2.0, 0.5, 1.0)
GREY = TransferFunction(value_range=(0.0, 255.0), opacities=((0.0, 1.0), (1.0, 1.0)))
PLACED = Transform((1.5, 1.0, 0.7), (20.0, -30.0, 50.0), (3.0, -2.0, 5.0))


@pytest.fixture(scope="module")
def volume() -> Volume:
    return Volume.from_array(np.random.default_rng(5).integers(0, 256, SHAPE).astype(np.uint8), SPACING)


@pytest.fixture(scope="module")
def names() -> Volume:
    return Volume.from_array(np.random.default_rng(6).integers(0, 4, SHAPE).astype(np.int32), SPACING)


@pytest.fixture(scope="module")
def renderer(device: Device, volume: Volume, names: Volume) -> Renderer:
    made = Renderer(device)
    made.add(volume)
    made.add(names)
    return made


def layer_of(volume: Volume, transform: Transform = PLACED) -> VolumeLayer:
    return VolumeLayer(str(volume.location), GREY, transform=transform)


def defined(image: SliceImage, *layers: tuple[VolumeLayer, Volume]) -> Voxels:
    return draw_slice_image([(layer, one.read(), one.spacing) for layer, one in layers], image)


def check(renderer: Renderer, image: SliceImage, *layers: tuple[VolumeLayer, Volume], few: float = 0.005) -> None:
    rgba, is_complete = renderer.draw_slice([layer for layer, _ in layers], image)
    expected = defined(image, *layers)
    assert is_complete and rgba.shape == (image.height, image.width, 4)
    # float32 may round a place to another voxel; values themselves are equal but for the last bit.
    assert (np.abs(rgba[..., :3].astype(int) - expected).max(axis=2) > 1).mean() <= few
    assert expected.any()


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize(("thickness", "projection"), [(1, "mean"), (5, "mean"), (4, "max"), (3, "min")])
def test_slices_across_axes(renderer: Renderer, volume: Volume, axis: int, thickness: int, projection: str) -> None:
    place = axis_rectangle(planes_of_axes("-z")[axis], SHAPE[axis] // 3, volume, PLACED)
    image = SliceImage(place, 61, 47, (-0.1, 0.2, 0.8, 1.05), thickness, projection)  # type: ignore[arg-type]
    check(renderer, image, (layer_of(volume), volume))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_pixel_for_each_voxel_is_the_voxel(renderer: Renderer, volume: Volume, axis: int) -> None:
    plane = planes_of_axes("-z")[axis]
    place = axis_rectangle(plane, 7, volume, PLACED)
    height, width = plane.image(volume.read().take(7, axis)).shape
    rgba, _ = renderer.draw_slice([layer_of(volume)], SliceImage(place, width, height))
    np.testing.assert_array_equal(rgba[..., 0], plane.image(volume.read().take(7, axis)))


def test_several_voxels_in_a_pixel_are_averaged(renderer: Renderer, volume: Volume) -> None:
    place = axis_rectangle(planes_of_axes("-z")[0], 9, volume, PLACED)
    check(renderer, SliceImage(place, 15, 10), (layer_of(volume), volume), few=0.0)
    half = SliceImage(place, 15, 31)  # Three voxels side by side.
    rgba, _ = renderer.draw_slice([layer_of(volume)], half)
    means = volume.read()[9].reshape(31, 15, 3).mean(axis=2)
    assert np.abs(rgba[..., 0] - means).max() <= 1


@pytest.mark.parametrize("normal", [(1.0, 0.3, -0.2), (0.0, 0.0, 1.0), (-0.2, 1.0, 0.9)])
def test_oblique_slices(renderer: Renderer, volume: Volume, normal: tuple[float, float, float]) -> None:
    cut = SliceLayer(str(volume.location), (15.0, 3.0, 12.0), normal, transform=PLACED)
    place = oblique_rectangle(cut, volume, planes_of_axes("-z"))
    assert np.dot(place.right, place.down) == pytest.approx(0, abs=1e-9)
    assert np.dot(np.subtract(place.at(0.3, 0.8), cut.point), normal) == pytest.approx(0, abs=1e-9)
    check(renderer, SliceImage(place, 64, 64), (layer_of(volume), volume))


def test_labels_are_on_top_and_never_mixed(renderer: Renderer, volume: Volume, names: Volume) -> None:
    labels = Labels(0.4, (LabelColor(2, (1.0, 0.0, 0.0), 1.0), LabelColor(3, is_visible=False)))
    over = replace(layer_of(names), labels=labels)
    place = axis_rectangle(planes_of_axes("-z")[1], 4, volume, PLACED)
    image = SliceImage(place, 90, 40, thickness=3)
    check(renderer, image, (layer_of(volume), volume), (over, names))
    check(renderer, image, (over, names))


def test_what_has_no_value_is_left_out(device: Device) -> None:
    voxels = np.full((4, 4, 4), 100.0, np.float32)
    voxels[1] = np.nan
    volume = Volume.from_array(voxels)
    renderer = Renderer(device)
    renderer.add(volume)
    place = axis_rectangle(planes_of_axes("-z")[0], 1, volume, Transform())
    layer = layer_of(volume, Transform())
    for thickness, expected in ((1, 0), (3, 100)):
        rgba, _ = renderer.draw_slice([layer], SliceImage(place, 4, 4, thickness=thickness))
        assert (rgba[..., 0] == expected).all()


def test_bricks_come_at_the_resolution_that_pixels_have(device: Device) -> None:
    voxels = np.random.default_rng(2).integers(0, 256, (96, 96, 96)).astype(np.uint8)
    volume = Volume.from_array(voxels)
    place = axis_rectangle(planes_of_axes("-z")[0], 50, volume, Transform())
    with Renderer(device, budget_bytes=600_000) as renderer:
        renderer.add(volume)
        layer = layer_of(volume, Transform())
        rough, is_complete = renderer.draw_slice([layer], SliceImage(place, 96, 96), is_exact=False)
        assert not is_complete and rough[..., :3].any()
        exact, is_complete = renderer.draw_slice([layer], SliceImage(place, 96, 96))
        assert is_complete
        np.testing.assert_array_equal(exact[..., 0], voxels[50])


def test_slices_of_an_unmoved_volume_are_where_they_are_said_to_be(volume: Volume) -> None:
    place: SliceRectangle = axis_rectangle(planes_of_axes("-z")[1], 6, volume, Transform())
    assert place.origin == pytest.approx((-0.5, 3.0, -1.0)) and place.step == pytest.approx((0, 0.5, 0))
    assert place.at(1.0, 1.0) == pytest.approx((44.5, 3.0, 39.0))
