"""What a program sets is drawn, and what a browser set is read."""

import asyncio
import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import pellucid
from pellucid.client.viewer import Viewer
from pellucid.device import choose
from pellucid.errors import InvalidInput, NotAllowed, ShadingInvalid
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Camera
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.transfer import TransferFunction

RED = TransferFunction(((0.0, (1.0, 0.0, 0.0)),), ((0.0, 0.0), (1.0, 1.0)), (0.0, 60000.0))


def test_a_screenshot_is_the_renderers_own_picture(viewer: Viewer, array: Voxels) -> None:
    volume = pellucid.Volume.from_array(array)
    renderer = Renderer(choose("cpu"))
    renderer.add(volume)
    layer = replace(viewer.layer, source=str(volume.location))
    own = renderer.render(replace(viewer.scene, volumes=(layer,)), 80, 60).rgba
    taken = viewer.screenshot(80, 60)
    assert taken.dtype == np.uint8 and taken.shape == (60, 80, 4)
    assert taken[..., :3].max() > 100
    assert np.array_equal(taken, own)
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(viewer.screenshot_png(80, 60)))), own)


def test_what_is_set_is_read_by_others(viewer: Viewer) -> None:
    other = pellucid.connect(viewer.url)
    camera = Camera((100.0, 20.0, 5.0), (12.0, 12.0, 12.0))
    viewer.camera, viewer.transfer, viewer.shading = camera, RED, "shadow"
    assert (other.camera, other.transfer, other.shading) == (camera, RED, "shadow")
    viewer.change("volumes", 0, "mode", value="max")
    assert other.layer.mode == "max"
    pixels = viewer.screenshot(40, 30)
    assert pixels[..., 0].max() > 50 and pixels[..., 1:3].max() == 0


def test_a_scene_is_put_back_whole(viewer: Viewer) -> None:
    before = viewer.scene
    viewer.shading = "none"
    viewer.scene = before
    assert viewer.scene == before


def test_retrieving_heeds_the_clipping_box(viewer: Viewer, array: Voxels) -> None:
    clip = pellucid.Box((2, 3, 4), (8, 9, 10))
    viewer.layer = replace(viewer.layer, clip=clip)
    assert np.array_equal(viewer.retrieve_volume(), array[clip.slices])


def test_shading_of_ones_own(viewer: Viewer) -> None:
    with pytest.raises(ShadingInvalid, match="Line 1") as reply:
        viewer.shade_with("return colour;")
    assert reply.value.line == 1
    viewer.shade_with("//@ gain = 1 in 0 .. 4\nreturn color * gain;", gain=0.5)
    assert viewer.shading == "user" and viewer.layer.parameters == (("gain", 0.5),)


def test_what_cannot_be_is_refused_with_a_remedy(viewer: Viewer) -> None:
    with pytest.raises(InvalidInput, match="one of none, gradient"):
        viewer.shading = "glossy"  # type: ignore[assignment]
    with pytest.raises(InvalidInput, match=r"Pass a pellucid\.Camera"):
        viewer.camera = (1, 2, 3)  # type: ignore[assignment]
    with pytest.raises(InvalidInput, match=r"no property volumes\.7"):
        viewer.change("volumes", 7, "mode", value="max")
    with pytest.raises(InvalidInput, match="The scene has no layer 5"):
        viewer.retrieve_volume(layer=5)


def test_links_allow_no_more_than_they_say(viewer: Viewer, array: Voxels) -> None:
    watching = pellucid.connect(viewer.links["view"])
    with pytest.raises(NotAllowed, match="for viewing"):
        watching.camera = Camera()
    steering = pellucid.connect(viewer.links["control"])
    assert steering.screenshot(16, 12).shape == (12, 16, 4)
    with pytest.raises(NotAllowed, match="does not allow sending arrays"):
        steering.render_volume(array)


def test_the_twin_that_is_awaited(running: Viewer, array: Voxels) -> None:
    async def drive() -> tuple[Voxels, str]:
        viewer = await pellucid.connect_async(running.url)
        await viewer.render_volume(array)
        await viewer.set("shading", "none")
        images = await asyncio.gather(viewer.screenshot(16, 12), viewer.screenshot(24, 12))
        return images[1], await viewer.get("shading")

    image, shading = asyncio.run(drive())
    assert image.shape == (12, 24, 4)
    assert shading == "none"
