"""Pictures come in time, get better, end with the exact one, and are abandoned when nobody wants them."""

import threading
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import pellucid
from pellucid.device import Device, choose
from pellucid.errors import Cancelled
from pellucid.fields.bricks.brick_field import BrickField
from pellucid.fields.bricks.reader import BrickReader
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Camera, framing
from pellucid.rendering.drawing.draw_pass import DeviceFrame, DrawOptions, DrawRegion
from pellucid.rendering.drawing.packing import SubpixelOffset
from pellucid.rendering.drawing.refinement import IMAGES, SHARE_OF_BUDGET, FrameCost, FrameCostModel, subpixel_offset
from pellucid.rendering.frame import Frame, enlarged, enlarged_depth
from pellucid.rendering.geometry.shapes import Points
from pellucid.rendering.renderer import Renderer, render_progressive
from pellucid.rendering.scene import Isosurface, PointsLayer, Scene, VolumeLayer
from pellucid.rendering.transfer import TransferFunction
from pellucid.volume.volume import Volume
from tests.rendering.waves import waves
from tests.shared_data import shared

SHAPE = (70, 80, 96)
CAMERA = framing((0.0, 0.0, 0.0), SHAPE[::-1], direction=(1.0, -0.7, 0.4), up=(0.0, 0.0, 1.0))
TRANSFER = TransferFunction(
    colors=((0.0, (0.1, 0.2, 0.9)), (0.5, (0.9, 0.5, 0.1)), (1.0, (1.0, 1.0, 0.9))),
    opacities=((0.0, 0.0), (0.4, 0.0), (0.7, 0.1), (1.0, 0.4)),
    value_range=(0.0, 250.0),
)
WIDTH, HEIGHT = 96, 72


def scene_of(volume: Volume, **changes: object) -> Scene:
    layer = replace(VolumeLayer(str(volume.location), TRANSFER), **changes)  # type: ignore[arg-type]
    return Scene((layer,), CAMERA)


def is_later(count: int) -> Callable[[], bool]:
    """Cancelled when it is asked for the so-many-th time."""
    request = iter(range(count))
    return lambda: next(request, None) is None


def apart(one: Frame, other: Frame) -> float:
    return float(np.sqrt(np.mean((one.rgba.astype(float) - other.rgba.astype(float)) ** 2)))


def test_a_first_picture_then_the_exact_one_then_smoother_ones(device: Device) -> None:
    volume = Volume.from_array(waves(SHAPE))
    scene, renderer = scene_of(volume), Renderer(device)
    exact = Renderer(device).render(scene, WIDTH, HEIGHT)
    frames = list(renderer.render_progressive(scene, WIDTH, HEIGHT, budget_ms=1e-3))
    scales = [frame.statistics.scale for frame in frames]
    assert scales == sorted(scales)
    assert scales[0] < 0.1
    assert {frame.rgba.shape for frame in frames} == {(HEIGHT, WIDTH, 4)}
    assert {frame.depth.shape for frame in frames} == {(HEIGHT, WIDTH)}
    first_exact = scales.index(1)
    assert [frame.statistics.is_exact for frame in frames] == [scale == 1 for scale in scales]
    assert [frame.statistics.images for frame in frames[first_exact:]] == list(range(1, IMAGES + 1))
    assert np.array_equal(frames[first_exact].rgba, exact.rgba)
    assert np.array_equal(frames[first_exact].depth, exact.depth)
    errors = [apart(frame, exact) for frame in frames[: first_exact + 1]]
    assert errors == sorted(errors, reverse=True)
    assert set(frames[-1].statistics.times_s) >= {"load", "prepare", "draw", "finish"}


def test_what_fits_the_budget_is_exact_at_once(device: Device) -> None:
    volume = Volume.from_array(waves(SHAPE))
    frame = next(iter(Renderer(device).render_progressive(scene_of(volume), 24, 24, budget_ms=60_000.0)))
    assert frame.statistics.is_exact
    assert np.array_equal(frame.rgba, Renderer(device).render(scene_of(volume), 24, 24).rgba)


@pytest.mark.parametrize(
    "changes",
    [{}, {"mode": "max"}, {"mode": "isosurface", "isosurfaces": (Isosurface(120.0, opacity=0.5), Isosurface(180.0))}],
    ids="-".join,
)
def test_a_picture_in_pieces_has_the_same_bits(device: Device, changes: dict[str, object]) -> None:
    volume = Volume.from_array(waves(SHAPE))
    scene, renderer = scene_of(volume, **changes), Renderer(device)
    at_once = renderer.render(scene, WIDTH, HEIGHT)
    in_pieces = renderer.render(scene, WIDTH, HEIGHT, is_cancelled=lambda: False)
    assert np.array_equal(at_once.rgba, in_pieces.rgba)
    assert np.array_equal(at_once.depth, in_pieces.depth)
    assert at_once.rgba[..., :3].std() > 10


def test_a_picture_is_abandoned_between_two_pieces() -> None:
    volume = Volume.from_array(waves(SHAPE))
    renderer = Renderer(choose("cpu"))
    with pytest.raises(Cancelled, match="Rendering an image was cancelled"):
        renderer.render(scene_of(volume), 640, 480, is_cancelled=is_later(20))
    assert renderer.render(scene_of(volume), WIDTH, HEIGHT).statistics.is_exact


def test_progressive_pictures_end_when_they_are_cancelled_or_closed(device: Device) -> None:
    volume = Volume.from_array(waves(SHAPE))
    renderer, stop = Renderer(device), threading.Event()
    frames = renderer.render_progressive(scene_of(volume), WIDTH, HEIGHT, is_cancelled=stop.is_set)
    next(frames)
    stop.set()
    assert list(frames) == []
    closed = renderer.render_progressive(scene_of(volume), WIDTH, HEIGHT)
    next(closed)
    closed.close()
    assert list(closed) == []


def test_loading_bricks_is_abandoned_too(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    volume = Volume.from_array(waves(SHAPE))
    renderer, reading, stop = Renderer(device), threading.Event(), threading.Event()
    renderer.add_field(str(volume.location), BrickField(volume, device, 4 * volume.nbytes))
    read_group = BrickReader._read_group

    def hangs(self: BrickReader, level: int, pages: Voxels) -> object:
        reading.set()
        stop.wait(120)
        return read_group(self, level, pages)

    monkeypatch.setattr(BrickReader, "_read_group", hangs)
    with pytest.raises(Cancelled):
        renderer.render(scene_of(volume), WIDTH, HEIGHT, is_cancelled=reading.is_set)
    stop.set()
    assert renderer.render(scene_of(volume), WIDTH, HEIGHT).statistics.is_exact


def test_pictures_without_waiting_reach_full_resolution(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    volume = Volume.from_array(waves(SHAPE))
    scene, renderer = scene_of(volume), Renderer(device)
    renderer.add_field(str(volume.location), BrickField(volume, device, 4 * volume.nbytes))
    may_read, read_group = threading.Semaphore(0), BrickReader._read_group

    def waits(self: BrickReader, level: int, pages: Voxels) -> object:
        may_read.acquire(timeout=120)
        return read_group(self, level, pages)

    monkeypatch.setattr(BrickReader, "_read_group", waits)
    # Nothing can be read yet: these pictures are there nevertheless.
    before = [renderer.render(scene, WIDTH, HEIGHT, is_exact=False).statistics for _ in range(3)]
    assert [statistics.full_resolution for statistics in before] == [0, 0, 0]
    assert not before[0].is_exact
    may_read.release(1000)
    fractions = [0.0]
    while fractions[-1] < 1:
        frame = renderer.render(scene, WIDTH, HEIGHT, is_exact=False)
        fractions.append(frame.statistics.full_resolution)
    assert fractions == sorted(fractions)
    assert np.array_equal(frame.rgba, Renderer(device).render(scene, WIDTH, HEIGHT).rgba) or device.is_cuda


def test_progressive_pictures_of_bricks_end_with_the_exact_one(device: Device) -> None:
    volume = Volume.from_array(waves(SHAPE))
    scene, renderer = scene_of(volume), Renderer(device)
    renderer.add_field(str(volume.location), BrickField(volume, device, 4 * volume.nbytes))
    exact = Renderer(device).render(scene, WIDTH, HEIGHT)
    frames = []
    for frame in renderer.render_progressive(scene, WIDTH, HEIGHT, budget_ms=60_000.0):
        frames.append(frame)
        if frame.statistics.is_exact:
            break
    assert frames[0].statistics.full_resolution == 0
    assert frames[0].statistics.scale == 1
    assert np.abs(frames[-1].rgba.astype(int) - exact.rgba).max() <= (1 if device.is_cuda else 0)
    (seen,) = frames[-1].statistics.visible_bricks
    assert (np.diff(seen.weights) <= 0).all()
    assert len(seen.boxes()) > 10


def test_what_has_no_room_ends_too(device: Device) -> None:
    volume = Volume.from_array(waves(SHAPE))
    scene, renderer = scene_of(volume), Renderer(device)
    field = BrickField(volume, device, volume.nbytes)
    renderer.add_field(str(volume.location), field)
    frames = list(renderer.render_progressive(scene, WIDTH, HEIGHT))
    assert frames[-1].statistics.images == IMAGES
    assert 0 < frames[-1].statistics.full_resolution < 1
    assert not frames[-1].statistics.is_exact


def test_many_pictures_smooth_the_edges_of_a_sphere(device: Device) -> None:
    z, y, x = np.meshgrid(*[np.arange(48.0)] * 3, indexing="ij")
    distance = np.sqrt((z - 23.5) ** 2 + (y - 23.5) ** 2 + (x - 23.5) ** 2)
    volume = Volume.from_array((16 - distance).astype(np.float32))
    camera = Camera((23.5, 23.5, -100.0), (23.5, 23.5, 0.0), (0.0, 1.0, 0.0), None, 48.0)
    layer = VolumeLayer(str(volume.location), mode="isosurface", isosurfaces=(Isosurface(0.0),))
    scene, renderer = Scene((layer,), camera), Renderer(device)
    frames = [frame for frame in renderer.render_progressive(scene, 40, 40) if frame.statistics.is_exact]
    large = renderer.render(scene, 320, 320).rgba.astype(float)
    reference = large.reshape(40, 8, 40, 8, 4).mean(axis=(1, 3))
    first, last = (np.sqrt(np.mean((frame.rgba - reference) ** 2)) for frame in (frames[0], frames[-1]))
    assert first > 2
    assert last < 0.4 * first
    assert np.array_equal(frames[0].depth, frames[-1].depth)


def test_rays_fill_their_pixels_evenly() -> None:
    aims = [subpixel_offset(number) for number in range(IMAGES)]
    assert aims[0] == SubpixelOffset(0.0, 0.0, 0.0)
    places = np.array([(one.across, one.down) for one in aims])
    even = (np.arange(IMAGES) - IMAGES // 2) / IMAGES
    assert np.allclose(np.sort(places, axis=0), even[:, None])
    between = np.linalg.norm(places[:, None] - places[None], axis=-1) + np.eye(IMAGES)
    assert between.min() > 0.24
    assert np.allclose(np.sort([one.jitter for one in aims]), np.arange(IMAGES) / IMAGES)


def test_the_pace_follows_what_was_measured() -> None:
    pace = FrameCostModel()
    size = (720, 1280)
    height, width = pace.affordable("scene", size, 0.1, otherwise=FrameCost(1e-5))
    assert height * width * 1e-5 == pytest.approx(SHARE_OF_BUDGET * 0.1, rel=0.02)
    pace.measured("scene", (100, 100), drawing_s=0.01, beside_s=0.5)
    pace.measured("scene", (100, 100), drawing_s=0.01, beside_s=0.02)
    height, width = pace.affordable("scene", size, 0.1, FrameCost(1.0))
    assert height * width * 1e-6 == pytest.approx(SHARE_OF_BUDGET * 0.1 - 0.02, rel=0.02)
    assert pace.affordable("scene", size, 10.0, FrameCost(1.0)) == size
    assert pace.affordable("other", size, 0.1, FrameCost(1.0)) == (22, 40)


def test_a_scene_without_volumes_comes_in_time_too(device: Device) -> None:
    points = Points(np.random.default_rng(0).uniform(size=(50, 3)), np.full(50, 1.0))
    camera = Camera((3.0, 2.0, 4.0), (0.5, 0.5, 0.5))
    scene = Scene(camera=camera, points=(PointsLayer(points.name, radius_scale=0.1),))
    renderer = Renderer(device)
    frames = list(renderer.render_progressive(scene, WIDTH, HEIGHT, budget_ms=1e-3))
    exact = [frame for frame in frames if frame.statistics.is_exact]
    assert frames[0].statistics.scale < 0.1
    assert np.array_equal(exact[0].rgba, renderer.render(scene, WIDTH, HEIGHT).rgba)
    assert exact[0].rgba[..., :3].std() > 10


def test_small_pictures_are_enlarged_between_pixels() -> None:
    black_and_clear = np.array([[[200, 100, 0, 255], [0, 0, 0, 0]]], np.uint8)
    larger = enlarged(black_and_clear, (2, 8))
    assert larger.shape == (2, 8, 4)
    assert (larger[:, :7, :3][larger[:, :7, 3] > 8] - np.array([200, 100, 0]) <= 4).all()  # what is clear has no colour
    assert (np.diff(larger[0, :, 3].astype(int)) <= 0).all()
    depth = np.array([[1.0, np.inf]], np.float32)
    assert enlarged_depth(depth, (2, 4)).tolist() == [[1.0, 1.0, np.inf, np.inf]] * 2


def test_one_call_for_a_scene() -> None:
    volume = Volume.from_array(waves(SHAPE))
    frames = render_progressive(scene_of(volume), 32, 24, "cpu", budget_ms=50.0)
    assert next(frames).rgba.shape == (24, 32, 4)
    assert pellucid.render_progressive is render_progressive


def test_what_draws_may_be_anything_that_gives_pictures(device: Device) -> None:
    renderer = Renderer(device)
    volume = Volume.from_array(waves(SHAPE))
    images: list[DeviceFrame] = list(renderer.images(scene_of(volume), DrawRegion((12, 16)), DrawOptions()))
    assert [image.color.shape for image in images] == [(12, 16)]
    assert [image.seen[0].shape for image in images] == [SHAPE]


def test_a_smaller_budget_makes_a_coarser_first_picture() -> None:
    path = shared("volumes/bonsai.nrrd")
    with pellucid.open(path) as volume:
        scene = pellucid.automatic_scene(volume)
    renderer, scales = Renderer(choose("cpu")), []
    for turn, budget_ms in enumerate((0.1, 0.1, 600_000.0)):  # The first shows what this machine can do.
        view = replace(scene, camera=scene.camera.turned(15.0 * turn))
        frames = renderer.render_progressive(view, 320, 180, budget_ms=budget_ms)
        scales.append(next(frames).statistics.scale)
        frames.close()
    assert scales[1] < 0.5 and scales[2] == 1.0
