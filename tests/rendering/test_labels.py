"""Labels: colours that tell them apart, what the reference defines, never mixed, whatever their type."""

from dataclasses import replace

import numpy as np
import pytest

from pellucid.box import Box
from pellucid.device import Device
from pellucid.errors import InvalidInput
from pellucid.fields.bricks.brick_field import BrickField
from pellucid.fields.labels import LabelVolume
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Camera, framing
from pellucid.rendering.drawing.label_masks import with_masked_light
from pellucid.rendering.frame import Frame, to_rgba8
from pellucid.rendering.labels import LabelColor, Labels, automatic_colors
from pellucid.rendering.light import Light
from pellucid.rendering.reference import surfaces
from pellucid.rendering.reference import volumes as reference
from pellucid.rendering.reference.labels import LabelMedium
from pellucid.rendering.reference.slices import draw_slice
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import Scene, ShadingName, SliceLayer, Transform, VolumeLayer
from pellucid.rendering.transfer import TransferFunction
from pellucid.volume.volume import Volume

SIZE = 64
SPACING = (2.0, 1.0, 1.0)
CAMERA = framing((0.0, 0.0, 0.0), (30.0, 26.0, 40.0), direction=(1.0, -0.7, 0.4), up=(0.0, 0.0, 1.0))
GREY = TransferFunction(opacities=((0.0, 0.0), (0.5, 0.0), (1.0, 0.2)), value_range=(0.0, 200.0))
COLORS = Labels(0.6, (LabelColor(3, (1.0, 0.1, 0.1), 0.9), LabelColor(5, opacity=0.0)))
AHEAD = Camera((8.0, 8.0, -50.0), (8.0, 8.0, 4.0), (0.0, 1.0, 0.0), None, 16.0)
WIDE = 2**40 + 1


@pytest.fixture(scope="module")
def things() -> Voxels:
    """Balls of labels 1 to 6 in nothing, (20, 26, 30), some of which touch."""
    z, y, x = np.meshgrid(*(np.arange(n) for n in (20, 26, 30)), indexing="ij")
    random = np.random.default_rng(5)
    labels = np.zeros(z.shape, np.uint8)
    for label, centre in enumerate(random.uniform(0.2, 0.8, (6, 3)) * z.shape, 1):
        distance = np.sqrt((z - centre[0]) ** 2 * 4 + (y - centre[1]) ** 2 + (x - centre[2]) ** 2)
        labels[distance < 6.5] = label
    return labels


def decibels(frame: Frame, image: surfaces.ReferenceImage, scene: Scene) -> float:
    expected = to_rgba8(image[0].reshape(SIZE, SIZE, 4).astype(np.float32), scene.background)
    assert expected[..., :3].std() > 3, "the reference's picture shows nothing: the test would prove nothing"
    error = np.mean((frame.rgba.astype(float) - expected.astype(float)) ** 2)
    return float("inf") if error == 0 else float(10 * np.log10(255**2 / error))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "int32", "uint64"])
def test_labels_are_the_reference_s(renderer: Renderer, things: Voxels, dtype: str) -> None:
    volume = Volume.from_array(things.astype(dtype), SPACING)
    scene = Scene((VolumeLayer(str(volume.location), labels=COLORS),), CAMERA)
    assert psnr(renderer, scene, {str(volume.location): volume}) >= 45


@pytest.mark.parametrize(
    "changes",
    [
        {"shading": "none"},
        {"light": Light(direction=(0.3, 1.0, -0.5))},
        {"clip": Box((5, 3, 8), (18, 20, 30))},
        {"transform": Transform((1.2, 0.8, 1.0), (20.0, -35.0, 50.0), (4.0, -3.0, 2.0))},
        {"step": 0.25},
    ],
    ids="-".join,
)
def test_labels_over_values(renderer: Renderer, things: Voxels, changes: dict[str, object]) -> None:
    z, y, x = np.meshgrid(*(np.arange(n) for n in things.shape), indexing="ij")
    grey = Volume.from_array((100 + 90 * np.sin(z / 3) * np.cos(y / 4) * np.sin(x / 5)).astype(np.uint8), SPACING)
    labels = Volume.from_array(things, SPACING)
    layer = VolumeLayer(str(labels.location), labels=COLORS)
    in_layer = {name: value for name, value in changes.items() if hasattr(layer, name)}
    layer = replace(layer, **in_layer)  # type: ignore[arg-type]
    rest = {name: value for name, value in changes.items() if name not in in_layer}
    scene = Scene((VolumeLayer(str(grey.location), GREY), layer), CAMERA, **rest)  # type: ignore[arg-type]
    decibels_of_it = psnr(renderer, scene, {str(grey.location): grey, str(labels.location): labels})
    assert decibels_of_it >= (40 if renderer.device.is_cuda else 45)


def psnr(renderer: Renderer, scene: Scene, volumes: dict[str, Volume]) -> float:
    rays = reference.camera_rays(scene.camera, SIZE, SIZE, is_jittered=True)
    step = scene.step * min(min(map(abs, layer.transform.scale)) for layer in scene.volumes)
    media = [
        (LabelMedium if layer.labels else reference.Medium)(
            volumes[layer.source].read(), SPACING, layer, scene.light, step, camera=scene.camera
        )
        for layer in scene.volumes
    ]
    return decibels(renderer.render(scene, SIZE, SIZE), reference.render(media, rays), scene)


def test_labels_over_values_by_both_kernels_are_the_same_picture(renderer: Renderer, things: Voxels) -> None:
    """A third volume of which nothing is visible makes it the kernel for several."""
    grey, labels = Volume.from_array(things * 30, SPACING), Volume.from_array(things[::-1], SPACING)
    nothing = VolumeLayer(str(grey.location), replace(GREY, opacities=((0.0, 0.0),)))
    layers = (VolumeLayer(str(grey.location), GREY), VolumeLayer(str(labels.location), labels=COLORS))
    plane = SliceLayer(str(grey.location), (15.0, 13.0, 20.0), (1.0, 0.5, -0.3), GREY, 0.5)
    scene = Scene(layers, CAMERA, slices=(plane,))
    one, other = (renderer.render(s, SIZE, SIZE) for s in (scene, replace(scene, volumes=(*layers, nothing))))
    assert np.abs(one.rgba.astype(int) - other.rgba).max() <= (1 if renderer.device.is_cuda else 0)
    assert np.array_equal(one.depth, other.depth) or renderer.device.is_cuda
    assert one.rgba[..., :3].std() > 3


@pytest.mark.parametrize("camera", [CAMERA, AHEAD])
def test_labels_over_a_slice(renderer: Renderer, things: Voxels, camera: Camera) -> None:
    grey = Volume.from_array((things.astype(np.uint16) * 37 + 20).astype(np.uint16), SPACING)
    labels = Volume.from_array(things.astype(np.int64) * WIDE, SPACING)
    colors = Labels(0.5, (LabelColor(3 * WIDE, (1.0, 1.0, 0.0), 1.0),))
    place = ((15.0, 13.0, 20.0), (1.0, 0.5, -0.3))
    planes = (
        SliceLayer(str(grey.location), *place, replace(GREY, value_range=(0.0, 300.0))),
        SliceLayer(str(labels.location), *place, labels=colors),
    )
    scene = Scene(camera=camera, slices=planes)
    rays = reference.camera_rays(camera, SIZE, SIZE, is_jittered=True)
    images = [draw_slice(v.read(), SPACING, p, rays) for v, p in zip((grey, labels), planes, strict=True)]
    expected = surfaces.SurfaceWalk(surfaces.arranged(images, SIZE * SIZE)).finish()
    assert decibels(renderer.render(scene, SIZE, SIZE), expected, scene) >= 45


@pytest.mark.parametrize("drawn", [(2,), (0, 3)], ids=str)
@pytest.mark.parametrize("shading", ["none", "gradient"])
def test_values_are_drawn_only_where_labels_are(
    renderer: Renderer, things: Voxels, drawn: tuple[int, ...], shading: ShadingName
) -> None:
    """Of the labels that are isolated; also of what has no label, with the labels themselves drawn nowhere."""
    grey, labels = Volume.from_array(things * 30, SPACING), Volume.from_array(things, SPACING)
    transfer = TransferFunction(opacities=((0.0, 0.2), (1.0, 0.6)), value_range=(0.0, 120.0))
    values = VolumeLayer(str(grey.location), transfer, shading=shading)
    mask = VolumeLayer(str(labels.location), labels=Labels(0.1, isolated=drawn, is_mask=True))
    scene = Scene((values, mask), CAMERA)
    assert psnr(renderer, scene, {str(grey.location): grey, str(labels.location): labels}) >= 45
    if 0 in drawn:
        return
    found, opaque = renderer.render(scene, SIZE, SIZE).rgba, Labels(1.0, isolated=drawn)
    alone = renderer.render(replace(scene, volumes=(replace(mask, labels=opaque),)), SIZE, SIZE).rgba
    whole = renderer.render(replace(scene, volumes=(values,)), SIZE, SIZE).rgba
    nothing = alone[0, 0]
    is_elsewhere = (alone == nothing).all(axis=2)
    assert (found[is_elsewhere] == nothing).all() and (whole[is_elsewhere] != nothing).any()
    assert (found[~is_elsewhere] != nothing).any(axis=1).mean() > 0.9


def test_a_mask_is_not_drawn_and_takes_no_light() -> None:
    values = VolumeLayer("a.zarr", shading="full")
    mask = VolumeLayer("b.zarr", labels=Labels(isolated=(1,), is_mask=True))
    scene = Scene((values, mask), CAMERA)
    assert [one.shading for one in with_masked_light(scene).volumes] == ["gradient", "gradient"]
    without = replace(scene, volumes=(values,))
    assert with_masked_light(without) is without


def test_labels_are_never_mixed(renderer: Renderer) -> None:
    """Between 1 and 3 no voxel of 2 appears, and the border lies half-way."""
    voxels = np.ones((8, 16, 16), np.uint8)
    voxels[:, :, 8:] = 3
    volume = Volume.from_array(voxels)
    red, green, blue = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    colors = Labels(1.0, (LabelColor(1, red), LabelColor(2, green), LabelColor(3, blue)))
    camera = replace(AHEAD, position=(7.5, 7.5, -50.0), target=(7.5, 7.5, 4.0), up=(0.0, -1.0, 0.0))
    scene = Scene((VolumeLayer(str(volume.location), shading="none", labels=colors),), camera)
    row = renderer.render(scene, 64, 64).rgba[32, :, :3]
    assert {tuple(color) for color in row.tolist()} == {(255, 0, 0), (0, 0, 255)}
    assert (row[:32] == row[0]).all()
    assert (row[32:] == row[-1]).all()


@pytest.mark.parametrize("dtype", ["uint32", "int64", "uint64"])
def test_no_label_is_lost(renderer: Renderer, dtype: str) -> None:
    """Labels that float32 cannot tell apart have colours of their own."""
    voxels = np.zeros((4, 16, 16), dtype)
    large = 2**31 if dtype == "uint32" else 2**53
    for number in range(4):
        voxels[:, :, 4 * number : 4 * number + 4] = large + number
    volume = Volume.from_array(voxels)
    given = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 1.0, 0.0)]
    colors = Labels(1.0, tuple(LabelColor(large + number, color) for number, color in enumerate(given)))
    scene = Scene((VolumeLayer(str(volume.location), shading="none", labels=colors),), AHEAD)
    row = renderer.render(scene, 16, 16).rgba[8, :, :3]
    assert {tuple(color) for color in (row // 255).tolist()} == {(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0)}


def test_labels_in_bricks(device: Device) -> None:
    z, y, x = np.meshgrid(*(np.arange(n) for n in (100, 70, 90)), indexing="ij")
    labels = ((z // 20) * 25 + (y // 20) * 5 + x // 20 + 1).astype(np.uint32) * 100_003
    labels[(z + y + x) % 60 < 25] = 0
    volume = Volume.from_array(labels)
    source = str(volume.location)
    camera = framing((0.0, 0.0, 0.0), (90.0, 70.0, 100.0), direction=(1.0, -0.7, 0.4), up=(0.0, 0.0, 1.0))
    scene = Scene((VolumeLayer(source, labels=Labels(0.8)),), camera)
    whole = Renderer(device).render(scene, SIZE, SIZE)
    renderer = Renderer(device)
    renderer.add_field(source, BrickField(LabelVolume(volume), device, 4 * volume.nbytes))
    bricks = renderer.render(scene, SIZE, SIZE)
    assert bricks.statistics.full_resolution == 1
    assert np.abs(whole.rgba.astype(int) - bricks.rgba).max() <= (1 if device.is_cuda else 0)
    coarse = Renderer(device, 300_000).render(
        replace(scene, volumes=(replace(scene.volumes[0], shading="none"),)), 9, 9
    )
    assert coarse.statistics.full_resolution < 1


def test_coarser_levels_hold_labels_that_are_there(device: Device) -> None:
    """Means of 10 and 30 would name something else; the most frequent label does not."""
    voxels = np.full((64, 64, 64), 10, np.uint8)
    voxels[:, :, 1::2] = 30
    volume = Volume.from_array(voxels)
    colors = Labels(1.0, (LabelColor(10, (1.0, 0.0, 0.0)), LabelColor(30, (0.0, 0.0, 1.0))))
    camera = Camera((31.5, 31.5, -90.0), (31.5, 31.5, 4.0), (0.0, 1.0, 0.0), None, 60.0)
    scene = Scene((VolumeLayer(str(volume.location), shading="none", labels=colors),), camera)
    frame = Renderer(device, 3 * 36**3).render(scene, 16, 16)
    assert frame.statistics.full_resolution < 1
    assert {tuple(color) for color in frame.rgba.reshape(-1, 4).tolist()} <= {(255, 0, 0, 255), (0, 0, 255, 255)}


def test_labels_change_with_their_volume(renderer: Renderer) -> None:
    voxels = np.full((8, 16, 16), 7, np.uint32)
    volume = Volume.from_array(voxels)
    colors = Labels(1.0, (LabelColor(7, (1.0, 0.0, 0.0)), LabelColor(WIDE % 2**32, (0.0, 1.0, 0.0))))
    renderer.add(volume)
    scene = Scene((VolumeLayer(str(volume.location), shading="none", labels=colors),), AHEAD)
    assert renderer.render(scene, 8, 8).rgba[4, 4].tolist() == [255, 0, 0, 255]
    voxels[:4] = WIDE % 2**32
    volume.changed(Box((0, 0, 0), (4, 16, 16)))
    assert renderer.render(scene, 8, 8).rgba[4, 4].tolist() == [0, 255, 0, 255]


def test_automatic_colours_differ() -> None:
    colors = automatic_colors(np.arange(1, 17))
    apart = np.linalg.norm(colors[:, None] - colors[None], axis=-1)[~np.eye(16, dtype=bool)]
    assert apart.min() > 0.2
    assert (colors >= 0).all()
    assert (colors <= 1).all()
    assert np.array_equal(automatic_colors(np.array([5, 2**60])), automatic_colors(np.array([5, 2**60], np.uint64)))
    many = automatic_colors(np.arange(1, 2000))
    assert len(np.unique((many * 255).astype(int), axis=0)) > 1900


def test_opacity_of_labels_is_corrected_for_the_step() -> None:
    once, twice = (Labels(0.3).table(np.array([4]), step)[0, 3] for step in (1.0, 0.5))
    assert 1 - (1 - twice) ** 2 == pytest.approx(once)


@pytest.mark.parametrize(
    ("changes", "reply"),
    [({"mode": "max"}, "Labels do not support mode max"), ({"shading": "occlusion"}, "occlusion shading")],
)
def test_what_labels_cannot_be_is_refused(renderer: Renderer, changes: dict[str, ShadingName], reply: str) -> None:
    volume = Volume.from_array(np.ones((4, 4, 4), np.uint8))
    layer = replace(VolumeLayer(str(volume.location), labels=COLORS), **changes)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=reply):
        renderer.render(Scene((layer,), CAMERA), 8, 8)


def test_values_are_no_labels(renderer: Renderer) -> None:
    volume = Volume.from_array(np.ones((4, 4, 4), np.float32))
    with pytest.raises(InvalidInput, match=r"has type float32, but labels must be whole numbers\. Draw it as values"):
        renderer.render(Scene((VolumeLayer(str(volume.location), labels=COLORS),), CAMERA), 8, 8)


def test_too_many_labels_are_refused() -> None:
    volume = Volume.from_array(np.arange(42 * 42 * 42, dtype=np.uint32).reshape(42, 42, 42))
    with pytest.raises(InvalidInput, match=r"more than 65,536 different labels\. Draw a part"):
        LabelVolume(volume).read()
    with pytest.raises(InvalidInput, match="opacity of a label"):
        Labels(1.5)


def test_hidden_and_isolated_labels() -> None:
    names = np.array([0, 3, 5, 9])
    hidden = Labels(1.0, (LabelColor(5, is_visible=False),))
    assert hidden.table(names, 1.0)[:, 3].tolist() == [0, 1, 0, 1]
    assert replace(hidden, isolated=(3,)).table(names, 1.0)[:, 3].tolist() == [0, 1, 0, 0]
    assert replace(hidden, isolated=(5, 9)).table(names, 1.0)[:, 3].tolist() == [0, 0, 1, 1]


def test_one_label_is_changed_and_the_others_stay() -> None:
    labels = Labels(0.5, (LabelColor(3, (1.0, 0.0, 0.0)),))
    named = labels.with_label(9, name="wall").with_label(3, is_visible=False)
    assert named.colors == (LabelColor(3, (1.0, 0.0, 0.0), is_visible=False), LabelColor(9, name="wall"))
    assert named.with_label(9, name="").colors == named.colors[:1]


def test_exceptions_find_their_labels_whatever_the_type() -> None:
    listed = Labels(1.0, (LabelColor(2**64 - 1, (1.0, 0.0, 0.0)), LabelColor(2**53 + 1, (0.0, 1.0, 0.0))))
    names = np.array([2**53, 2**53 + 1, 2**64 - 1], np.uint64)
    table = listed.table(names, 1.0)
    np.testing.assert_array_equal(table[1:, :3], [[0, 1, 0], [1, 0, 0]])
    np.testing.assert_allclose(table[0, :3], automatic_colors(names[:1])[0], rtol=1e-6)


def test_a_label_has_one_colour() -> None:
    with pytest.raises(InvalidInput, match="A label has two colours"):
        Labels(colors=(LabelColor(3), LabelColor(3)))


def test_the_number_of_listed_labels_has_a_limit() -> None:
    with pytest.raises(InvalidInput, match="4,097 labels have a colour or name, or are isolated"):
        Labels(isolated=tuple(range(4097)))
