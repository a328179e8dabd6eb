"""A page and an instance over a real socket: what is seen is what the renderer draws."""

import threading

import numpy as np
import pytest

from pellucid.instance.server import Instance
from pellucid.rendering.camera import Camera
from pellucid.rendering.colors import color_points
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import Scene
from pellucid.volume.volume import Volume
from tests.instance.loopback import Shown, as_sent, open_page, running


def turned(camera: Camera, steps: int) -> list[Camera]:
    return [camera.turned(3.0 * step) for step in range(1, steps + 1)]


def test_the_first_picture_is_the_renderers_own(instance: Instance, renderer: Renderer, scene: Scene) -> None:
    with open_page(instance, 80, 60) as page:
        welcome = page.hear()
        assert isinstance(welcome, dict)
        assert (welcome["kind"], welcome["revision"], welcome["camera"]) == ("welcome", 0, as_sent(scene.camera))
        first = page.hear()
    assert isinstance(first, Shown)
    assert (first.header["encoding"], first.header["is_exact"], first.header["full_resolution"]) == ("png", True, 1.0)
    np.testing.assert_array_equal(first.rgb, renderer.render(scene, 80, 60).rgba[..., :3])


def test_the_latest_camera_wins(instance: Instance, renderer: Renderer, scene: Scene) -> None:
    cameras = turned(scene.camera, 50)
    with open_page(instance, 320, 240) as page:
        page.pictures_until_exact(scene.camera)
        for camera in cameras[:-1]:
            page.look(camera, is_moving=True)
        page.look(cameras[-1], is_moving=False)
        seen = page.pictures_until_exact(cameras[-1])
    assert len(seen) < 25
    assert {shown.header["encoding"] for shown in seen[:-1]} <= {"jpeg"}
    wanted = renderer.render(Scene(scene.volumes, cameras[-1]), 320, 240)
    np.testing.assert_array_equal(seen[-1].rgb, wanted.rgba[..., :3])


def test_after_a_while_without_a_word_the_picture_is_exact(instance: Instance, scene: Scene) -> None:
    (camera,) = turned(scene.camera, 1)
    with open_page(instance) as page:
        page.pictures_until_exact(scene.camera)
        page.look(camera, is_moving=True)
        *small, exact = page.pictures_until_exact(camera)
    assert [shown.header["encoding"] for shown in small] == ["jpeg"]
    assert exact.rgb.shape == (48, 64, 3)


def test_a_patch_changes_the_picture(instance: Instance, scene: Scene) -> None:
    with open_page(instance) as page:
        first = page.exact_of(0)
        page.say("patch", revision=0, color_map="viridis", value_range=[0.0, 40_000.0])
        changed = page.hear_text("changed")
        assert changed["revision"] == 1
        assert changed["settings"]["color_map"] == "viridis"
        assert changed["settings"]["value_range"] == [0.0, 40_000.0]
        second = page.exact_of(1)
        # Brown has more red than green; viridis, where it begins, more blue than red.
        assert first.rgb[..., 0].sum() > first.rgb[..., 2].sum()
        assert second.rgb[..., 2].sum() > second.rgb[..., 0].sum()
    assert color_points("viridis")[0][1][2] > color_points("viridis")[0][1][0]


def test_a_surface_is_drawn(instance: Instance) -> None:
    with open_page(instance) as page:
        page.exact_of(0)
        page.say("patch", revision=0, mode="isosurface", isovalue=12_000.0)
        assert page.hear_text("changed")["settings"]["isovalue"] == 12_000.0
        assert page.exact_of(1).rgb.max() > 100


def test_a_patch_for_an_older_revision_is_refused(instance: Instance) -> None:
    with open_page(instance) as page:
        page.say("patch", revision=0, mode="max")
        page.say("patch", revision=0, mode="mean")
        refusal = page.hear_text("refusal")
        assert "for revision 0, not 1" in refusal["what"]
        assert refusal["revision"] == 1


def test_a_new_size_is_drawn(instance: Instance, scene: Scene) -> None:
    with open_page(instance) as page:
        page.exact_of(0)
        page.say("resize", width=33, height=21)
        while not isinstance(heard := page.hear(), Shown) or not heard.header["is_exact"]:
            pass
        assert heard.rgb.shape == (21, 33, 3)


def test_two_pages_see_the_same(instance: Instance, scene: Scene) -> None:
    (camera,) = turned(scene.camera, 1)
    with open_page(instance) as one, open_page(instance) as other:
        other.hear_text("welcome")
        one.look(camera, is_moving=False)
        mine, theirs = (page.pictures_until_exact(camera)[-1].rgb for page in (one, other))
    np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("is_page_open", [False, True])
def test_an_ended_instance_leaves_no_thread(is_page_open: bool, volume: Volume, renderer: Renderer) -> None:
    before = set(threading.enumerate())
    with running(volume, renderer) as instance:
        if is_page_open:
            with open_page(instance) as page:
                page.hear_text("welcome")
                assert "pellucid-session" in {thread.name for thread in threading.enumerate()}
                instance.stop()
    left = [thread for thread in set(threading.enumerate()) - before if thread.is_alive()]
    assert [thread.name for thread in left if not thread.name.startswith("AnyIO")] == []
