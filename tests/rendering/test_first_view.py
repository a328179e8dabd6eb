"""The first picture, without touching anything: the sample visible, the air gone, framed and standing."""

from dataclasses import replace
from math import inf, tan

import numpy as np
import pytest

from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import ANGLE_DEG, framing
from pellucid.rendering.camera_path import turntable
from pellucid.rendering.first_view.orientation import VIEWS, find_up_axis, view_direction
from pellucid.rendering.first_view.value_range import BINS, air_threshold, informative_histogram
from pellucid.rendering.first_view.volumes import automatic_camera, automatic_scene, holds_labels
from pellucid.rendering.renderer import Renderer
from pellucid.volume.volume import Volume, open_volume
from tests.shared_data import shared

SIZE = 160
SAMPLES = ("volumes/bonsai.nrrd", "volumes/engine.nii.gz", "volumes/spm152.nii.gz")
BLOCKS = ("em/fibsem_1.h5:/raw", "em/fibsem_2.h5:/raw", "ct/k11_diad/k11-18014.nxs", "ct/savu_tiff:/raw_*.tiff")


def ball(noise: float = 0.02) -> Voxels:
    """A ball of 1 with a bright core of 2 in noisy air."""
    z, y, x = np.meshgrid(*[np.arange(48) - 23.5] * 3, indexing="ij")
    radius = np.sqrt(z * z + y * y + x * x)
    levels = (radius < 14).astype(float) + (radius < 6)
    noisy: Voxels = levels + np.random.default_rng(3).normal(0, noise, levels.shape)
    return noisy


def image(renderer: Renderer, volume: Volume) -> Voxels:
    renderer.add(volume)
    rgba: Voxels = renderer.render(automatic_scene(volume), SIZE, SIZE).rgba
    return rgba


def visible(rgba: Voxels) -> Voxels:
    """Which pixels are not background."""
    found: Voxels = rgba[..., :3].max(axis=-1) > 12
    return found


def margins(seen: Voxels) -> list[float]:
    """Empty part of the picture at the top, bottom, left and right."""
    rows, columns = np.nonzero(seen.any(axis=1))[0], np.nonzero(seen.any(axis=0))[0]
    height, width = seen.shape
    return [rows[0] / height, 1 - (rows[-1] + 1) / height, columns[0] / width, 1 - (columns[-1] + 1) / width]


@pytest.mark.parametrize(
    ("dtype", "scale", "shift"),
    [("uint8", 60, 40), ("int8", 50, -60), ("uint16", 9000, 12000), ("int16", 1000, -1000), ("float32", 0.003, 0.0)],
)
def test_a_ball_in_air_is_seen_in_every_type(renderer: Renderer, dtype: str, scale: float, shift: float) -> None:
    volume = Volume.from_array((ball() * scale + shift).astype(dtype))
    rgba = image(renderer, volume)
    seen = visible(rgba)
    assert seen[SIZE // 2, SIZE // 2]
    assert not seen[:5].any() and not seen[:, :5].any() and not seen[-5:].any() and not seen[:, -5:].any()
    assert 0.25 < seen.mean() < 0.65  # A disc that nearly fills the picture has π/4 of it.
    lit = rgba[..., :3][seen].mean(axis=-1)
    assert np.percentile(lit, 90) > 120
    assert np.percentile(lit, 90) - np.percentile(lit, 10) > 40
    air = air_threshold(volume.histogram(BINS))
    assert air is not None and 0.1 < (air - shift) / scale < 0.9


def test_noisy_air_vanishes(renderer: Renderer) -> None:
    rgba = image(renderer, Volume.from_array(ball(0.12).astype(np.float32)))
    corners = [rgba[:20, :20], rgba[-20:, :20], rgba[:20, -20:], rgba[-20:, -20:]]
    assert max(corner[..., :3].max() for corner in corners) == 0


def test_air_is_dark_in_a_projection(renderer: Renderer) -> None:
    volume = Volume.from_array((ball() * 60 + 10).clip(0, 255).astype(np.uint8))
    renderer.add(volume)
    scene = automatic_scene(volume)
    layers = tuple(replace(layer, mode="max") for layer in scene.volumes)
    rgba = renderer.render(replace(scene, volumes=layers), SIZE, SIZE).rgba
    assert np.median(rgba[:, :20, :3]) < 20
    assert rgba[SIZE // 2, SIZE // 2, :3].min() > 200


def test_a_full_block_is_drawn_with_its_greys(renderer: Renderer) -> None:
    ramp = np.broadcast_to(np.arange(40, dtype=np.uint8)[:, None, None] * 6, (40, 40, 40)).copy()
    volume = Volume.from_array(ramp)
    scene = automatic_scene(volume)
    assert air_threshold(volume.histogram(BINS)) is None
    assert scene.volumes[0].shading == "none"
    rgba = image(renderer, volume)
    column = rgba[:, SIZE // 2, 0].astype(int)
    face = column[np.nonzero(column > 8)[0]]
    assert face[5] < 30 and face[-3] > 220  # Dark above, where slice 0 is, and bright below.
    assert (np.diff(face[10:-4]) >= -1).all()


@pytest.mark.parametrize("levels", [np.zeros((4, 4, 4), np.uint8), np.full((4, 4, 4), np.nan, np.float32)])
def test_nothing_to_see_is_no_failure(renderer: Renderer, levels: Voxels) -> None:
    assert image(renderer, Volume.from_array(levels)).shape == (SIZE, SIZE, 4)


@pytest.mark.parametrize(("face", "up"), [("-y", "y"), ("z", "-z"), ("-z", "z"), ("x", "-x")])
def test_a_sample_stands_on_the_face_that_it_goes_through(face: str, up: str) -> None:
    voxels = np.zeros((20, 20, 20), np.uint8)
    voxels[6:14, 6:14, 6:14] = 200
    index: list[slice] = [slice(4, 16)] * 3
    index["zyx".index(face[-1])] = slice(0, 10) if face.startswith("-") else slice(10, 20)
    voxels[tuple(index)] = 200
    assert find_up_axis(Volume.from_array(voxels), 100) == up


def test_a_core_through_both_ends_stands_upright() -> None:
    voxels = np.zeros((20, 20, 20), np.uint8)
    voxels[:, 4:16, 4:16] = 200
    assert find_up_axis(Volume.from_array(voxels), 100) == "-z"


@pytest.mark.parametrize("up", ["x", "y", "z", "-x", "-y", "-z"])
@pytest.mark.parametrize("view", VIEWS)
def test_up_is_up_from_every_side(view: str, up: str) -> None:
    direction, upwards = view_direction(view, up)  # type: ignore[arg-type]
    assert abs(np.dot(direction, upwards)) < 0.4
    camera = framing((0.0, 0.0, 0.0), (1.0, 1.0, 1.0), direction, upwards)
    sign, axis = (-1 if up.startswith("-") else 1), "xyz".index(up[-1])
    if view not in ("top", "bottom"):
        assert camera.axes()[1][axis] * sign > 0.9
    else:
        assert camera.axes()[2][axis] * sign == pytest.approx(-1 if view == "top" else 1)


def test_an_unknown_side_is_refused() -> None:
    with pytest.raises(InvalidInput, match="Choose one of: corner, front"):
        view_direction("inside")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="Choose one of: x, y, z"):
        view_direction("front", "w")


@pytest.mark.parametrize("aspect", [0.5, 1.0, 2.0])
def test_all_of_the_sample_is_in_a_picture_of_any_shape(aspect: float) -> None:
    volume = Volume.from_array((ball() > 0.5).astype(np.uint8), spacing=(3.0, 1.0, 1.0))
    camera = automatic_camera(volume, (0.5, inf), aspect=aspect)
    z, y, x = np.nonzero(volume.read())
    seen = np.stack([x, y, z * 3.0], axis=1) - camera.position
    right, up, forward = camera.axes()
    half = tan(np.radians(ANGLE_DEG) / 2) * (seen @ forward)
    across, along = np.abs(seen @ right) / half / aspect, np.abs(seen @ up) / half
    assert max(across.max(), along.max()) < 1.0
    assert max(across.max(), along.max()) > 0.75


@pytest.mark.parametrize(("up", "aspect"), [("z", 1.0), ("x", 0.7), ("-y", 1.6)])
def test_all_of_the_sample_stays_in_the_picture_on_the_way_around(up: str, aspect: float) -> None:
    volume = Volume.from_array(np.ones((10, 60, 20), np.uint8))
    nearest, around = (
        automatic_camera(volume, None, up, aspect=aspect, is_turning=turning) for turning in (False, True)
    )
    assert around.axes()[2] == pytest.approx(nearest.axes()[2])
    corners = np.array([[x, y, z] for x in (0, 20) for y in (0, 60) for z in (0, 10)], float) - 0.5
    reach = []
    for camera in turntable(around, 48):
        right, top, forward = camera.axes()
        seen = corners - camera.position
        half = tan(np.radians(ANGLE_DEG) / 2) * (seen @ forward)
        reach.append(max((np.abs(seen @ right) / half / aspect).max(), (np.abs(seen @ top) / half).max()))
    assert 0.9 < max(reach) < 1.0


@pytest.mark.parametrize("name", SAMPLES)
def test_a_real_sample_is_seen_whole_without_its_air(renderer: Renderer, name: str) -> None:
    shared(name)
    with open_volume(shared(name)) as volume:
        rgba = image(renderer, volume)
        scene = automatic_scene(volume)
    seen = visible(rgba)
    assert 0.12 < seen.mean() < 0.7
    assert min(margins(seen)) > 0.01
    assert max(min(margins(seen)[:2]), min(margins(seen)[2:])) < 0.2  # Not lost in the middle either.
    lit = rgba[..., :3][seen].mean(axis=-1)
    assert np.percentile(lit, 90) - np.percentile(lit, 10) > 60
    assert scene.camera.up == ((0.0, 1.0, 0.0) if "bonsai" in name else (0.0, 0.0, 1.0))
    if "bonsai" in name:  # The pot, which is wide, stands below the crown.
        assert seen[: SIZE // 4].sum() < seen[-SIZE // 3 :].sum()


@pytest.mark.parametrize("name", BLOCKS)
def test_a_real_block_is_seen_whole_with_its_greys(renderer: Renderer, name: str) -> None:
    path, _, inside = name.partition(":")
    with open_volume(f"{shared(path)}{':' if inside else ''}{inside}") as volume:
        rgba = image(renderer, volume)
    seen = visible(rgba)
    assert min(margins(seen)) > 0.005
    assert rgba[..., :3][seen].mean() > 60
    assert (rgba[..., 0] == rgba[..., 2]).all()
    if "fibsem" in name:
        assert 0.3 < seen.mean() < 0.7
        assert rgba[..., 0][seen].std() > 45


def test_labels_are_drawn_each_in_a_colour(renderer: Renderer) -> None:
    voxels = np.zeros((20, 20, 20), np.uint32)
    voxels[5:15, 5:15, 3:10], voxels[5:15, 5:15, 10:17] = 7, 70000
    volume = Volume.from_array(voxels)
    assert automatic_scene(volume).volumes[0].labels is not None
    rgba = image(renderer, volume)
    assert (rgba[..., :3].max(axis=-1) - rgba[..., :3].min(axis=-1).astype(int)).max() > 60
    assert 0.1 < visible(rgba).mean() < 0.7


@pytest.mark.parametrize("dtype", ["uint8", "int32"])
def test_values_are_not_taken_for_labels(dtype: str) -> None:
    assert not holds_labels(Volume.from_array((ball() * 1000 + 100).clip(0, None).astype(dtype)))


def test_real_labels_are_known() -> None:
    path = shared("em/fibsem_2.h5")
    with open_volume(f"{path}:/labels") as labels, open_volume(f"{path}:/raw") as raw:
        assert [holds_labels(labels), holds_labels(raw)] == [True, False]


@pytest.mark.parametrize("value", [0.0, 7.0, -7.5, 1e30])
def test_one_value_everywhere_is_a_grey_block(renderer: Renderer, value: float) -> None:
    rgba = image(renderer, Volume.from_array(np.full((9, 9, 9), value, np.float32)))
    assert np.abs(rgba[SIZE // 2, SIZE // 2, :3].astype(int) - 127).max() <= 3


def test_the_few_voxels_that_differ_are_seen(renderer: Renderer) -> None:
    voxels = np.zeros((41, 41, 41), np.uint8)
    voxels[19:22, 19:22, 19:22] = 200
    seen = visible(image(renderer, Volume.from_array(voxels)))
    assert seen[SIZE // 2, SIZE // 2]
    assert not seen[:, :5].any() and not seen[:5].any()


def test_a_small_range_far_from_zero(renderer: Renderer) -> None:
    volume = Volume.from_array((1000 + 0.005 * ball()).astype(np.float32))
    low, high = automatic_scene(volume).volumes[0].transfer.value_range
    assert 999.99 < low < 1000 and 1000.009 < high < 1000.02
    assert visible(image(renderer, volume))[SIZE // 2, SIZE // 2]


def test_a_hot_voxel_changes_nothing_else(renderer: Renderer) -> None:
    levels = ball().astype(np.float32)
    expected = image(renderer, Volume.from_array(levels))
    levels[3, 4, 5] = 1e6
    seen = visible(image(renderer, Volume.from_array(levels)))
    assert (seen == visible(expected)).mean() > 0.98


def test_padding_below_air_is_not_seen(renderer: Renderer) -> None:
    _, y, x = np.meshgrid(*[np.arange(48) - 23.5] * 3, indexing="ij")
    hounsfield = (1000 * (np.minimum(ball(), 1.5) - 1)).astype(np.int16)
    expected = image(renderer, Volume.from_array(hounsfield))
    hounsfield[np.hypot(x, y) > 22] = -3024
    seen = visible(image(renderer, Volume.from_array(hounsfield)))
    assert (seen == visible(expected)).mean() > 0.98


@pytest.mark.parametrize("outlier", [1e6, -1e9])
def test_padding_is_recognised_beside_a_value_far_outside(outlier: float) -> None:
    _, y, x = np.meshgrid(*[np.arange(48) - 23.5] * 3, indexing="ij")
    hounsfield = (1000 * (np.minimum(ball(), 1.5) - 1)).astype(np.float32)
    hounsfield[np.hypot(x, y) > 22] = -3024
    hounsfield[10, 24, 24] = outlier
    histogram = informative_histogram(Volume.from_array(hounsfield))
    air = air_threshold(histogram)
    assert histogram.edges[0] > -1200 and histogram.edges[-1] < 3000
    assert air is not None and -950 < air < -100


def test_a_spike_below_materials_is_air_and_no_padding() -> None:
    levels = np.zeros((32, 32, 32), np.float32) - 1.0
    levels[8:24, 8:24, 8:24] = 1.0
    levels[12:20, 12:20, 12:20] = 2.0
    air = air_threshold(informative_histogram(Volume.from_array(levels)))
    assert air is not None and -1 < air < 1


@pytest.mark.parametrize(
    ("axis", "toward", "upwards"), [(0, (0, 0, -1), (0, -1, 0)), (1, (0, 1, 0), (0, 0, -1)), (2, (1, 0, 0), (0, 0, -1))]
)
def test_two_slices_are_seen_face_on(axis: int, toward: tuple[int, ...], upwards: tuple[int, ...]) -> None:
    shape = [120, 120, 120]
    shape[axis] = 2
    levels = np.random.default_rng(1).normal(100, 10, shape).astype(np.float32)
    camera = automatic_scene(Volume.from_array(levels)).camera
    eye = np.subtract(camera.position, camera.target)
    assert np.allclose(eye / np.linalg.norm(eye), toward)
    assert np.allclose(camera.up, upwards)


def test_all_of_two_slices_is_in_the_image(renderer: Renderer) -> None:
    levels = np.random.default_rng(1).normal(100, 3, (2, 90, 120)).astype(np.float32)
    levels[:, 5:20, 3:20] += 100
    seen = visible(image(renderer, Volume.from_array(levels)))
    assert seen[: SIZE // 2, : SIZE // 2].any() and not seen[SIZE // 2 :, SIZE // 2 :].any()


@pytest.mark.parametrize("seed", range(4))
def test_a_value_far_outside_leaves_the_histogram_of_the_others(seed: int) -> None:
    random = np.random.default_rng(seed)
    levels = (ball() * random.uniform(0.1, 10) + random.normal(0, 0.02, ball().shape)).astype(np.float32)
    alone = informative_histogram(Volume.from_array(levels.copy()))
    levels[tuple(random.integers(0, len(levels), 3))] = 10.0 ** random.integers(4, 9)
    beside = informative_histogram(Volume.from_array(levels))
    for percent in (1, 50, 99):
        width = float(alone.edges[-1] - alone.edges[0])
        assert abs(beside.percentile(percent) - alone.percentile(percent)) < 0.01 * width


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 3, 9), (5, 4, 3)])
def test_a_volume_is_in_the_middle_of_its_image(shape: tuple[int, int, int]) -> None:
    camera = automatic_scene(Volume.from_array(np.full(shape, 7, np.uint8))).camera
    assert camera.target == pytest.approx([(n - 1) / 2 for n in reversed(shape)])
