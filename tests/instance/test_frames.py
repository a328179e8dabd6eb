"""A page and an instance over a real socket: what is seen is what the renderer draws."""

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np

from pellucid.instance.server import Instance
from pellucid.rendering.camera import Camera
from pellucid.rendering.renderer import Renderer
from tests.instance.conftest import EDGE
from tests.instance.loopback import http, open_page, running


def turned(camera: Camera, steps: int) -> list[Camera]:
    return [camera.turned(3.0 * step) for step in range(1, steps + 1)]


def test_the_first_picture_is_the_renderers_own(fresh: Instance, renderer: Renderer) -> None:
    with open_page(fresh, size=(80, 60)) as page:
        first = page.exact()
        wanted = renderer.render(page.scene, 80, 60)
    assert (first.header["encoding"], first.header["full_resolution"]) == ("png", 1.0)
    assert (first.header["full_width"], first.header["full_height"]) == (80, 60)
    assert set(first.header["times_ms"]) == {"input", "render", "encode"}
    np.testing.assert_array_equal(first.rgb, wanted.rgba[..., :3])


def test_the_latest_camera_wins(instance: Instance, renderer: Renderer) -> None:
    with open_page(instance, size=(320, 240)) as page:
        page.exact()
        cameras = turned(page.scene.camera, 50)
        for camera in cameras[:-1]:
            page.look(camera, is_moving=True)
        page.look(cameras[-1], is_moving=False)
        seen = [page.hear_picture()]
        while not (seen[-1].header["is_exact"] and seen[-1].header["camera"]["position"] == [*cameras[-1].position]):
            seen.append(page.hear_picture())
        wanted = renderer.render(replace(page.scene, camera=cameras[-1]), 320, 240)
    assert len(seen) < 25
    # Where this machine was too busy to send cameras for a while, an image between them is exact too.
    assert {shown.header["encoding"] for shown in seen[:-1] if not shown.header["is_exact"]} == {"jpeg"}
    np.testing.assert_array_equal(seen[-1].rgb, wanted.rgba[..., :3])


def test_after_a_while_without_a_word_the_picture_is_exact(instance: Instance) -> None:
    with open_page(instance) as page:
        page.exact()
        (camera,) = turned(page.scene.camera, 1)
        page.look(camera, is_moving=True)
        rough = page.hear_picture()
        assert (rough.header["encoding"], rough.header["is_exact"]) == ("jpeg", False)
        assert page.exact(camera=camera).rgb.shape == (48, 64, 3)


def test_the_time_of_the_input_comes_back(instance: Instance) -> None:
    with open_page(instance) as page:
        page.exact()
        page.say("set_camera", camera=page.state["scene"]["camera"], is_moving=True, sent_at_ms=123.5)
        assert page.hear_picture().header["input_sent_at_ms"] == 123.5


def test_a_patch_changes_the_picture_and_undo_brings_it_back(instance: Instance) -> None:
    with open_page(instance) as page:
        first = page.exact()
        page.patch("volumes", 0, "mode", value="max", request="one")
        changed = page.hear_text("state")
        assert (changed["request"], changed["by"], changed["can_undo"]) == ("one", page.client, True)
        assert (page.exact(changed["revision"]).rgb != first.rgb).any()
        page.say("undo")
        back = page.hear_text("state")
        assert back["revision"] == changed["revision"] + 1 and back["can_redo"]
        np.testing.assert_array_equal(page.exact(back["revision"]).rgb, first.rgb)


def test_a_patch_for_an_older_revision_is_refused(instance: Instance) -> None:
    with open_page(instance) as page:
        old = page.state["revision"]
        page.patch("background", value=[0, 0, 0.2, 1])
        page.hear_text("state")
        page.say("patch", revision=old, changes=[{"path": ["step"], "value": 1.0}], request="late")
        refusal = page.hear_text("error")
    assert f"for revision {old}, the scene has {old + 1}" in refusal["what"]
    assert (refusal["revision"], refusal["request"]) == (old + 1, "late")


def test_a_scene_that_cannot_be_drawn_is_told_and_nothing_ends(instance: Instance) -> None:
    with open_page(instance) as page:
        page.patch("volumes", 0, "mode", value="isosurface")
        assert "needs an isovalue" in page.hear_text("error")["what"]
        page.say("undo")
        assert page.exact(page.hear_text("state")["revision"]).rgb.max() > 0


def test_a_new_size_is_drawn(instance: Instance) -> None:
    with open_page(instance) as page:
        page.exact()
        page.say("resize", width=33, height=21)
        while (shown := page.exact()).header["width"] != 33:
            pass
        assert shown.rgb.shape == (21, 33, 3)


def test_two_pages_see_the_same_and_follow_the_camera(instance: Instance) -> None:
    with open_page(instance) as one, open_page(instance) as other:
        (camera,) = turned(one.scene.camera, 1)
        one.exact()
        one.look(camera, is_moving=False)
        moved = other.hear_text("camera_moved")
        assert moved["by"] == one.client and moved["camera"]["position"] == [*camera.position]
        mine, theirs = (page.exact(camera=camera).rgb for page in (one, other))
    np.testing.assert_array_equal(mine, theirs)


def test_two_scenes_side_by_side(instance: Instance, renderer: Renderer) -> None:
    with open_page(instance, size=(80, 30)) as page:
        page.exact()
        page.say("compare", is_on=True)
        page.hear_text("state")
        page.patch("volumes", 0, "shading", value="none", view="other")
        state = page.hear_text("state")
        assert state["scene"]["volumes"][0]["shading"] != state["other"]["volumes"][0]["shading"] == "none"
        images = page.exact_views(state["revision"])
        page.say("compare", is_on=False)
        page.hear_text("state")
        wanted = renderer.render(page.scene, 40, 30).rgba[..., :3]
    np.testing.assert_array_equal(images["main"].rgb, wanted)
    assert (images["other"].rgb != wanted).any()


def test_two_scenes_one_over_the_other_are_as_large_as_one(instance: Instance, renderer: Renderer) -> None:
    with open_page(instance, size=(80, 30)) as page:
        page.exact()
        page.say("compare", is_on=True)
        assert page.hear_text("state")["arrangement"] == "beside"
        page.say("arrange", arrangement="over")
        assert page.hear_text("state")["arrangement"] == "over"
        page.patch("volumes", 0, "shading", value="none", view="other")
        images = page.exact_views(page.hear_text("state")["revision"])
        page.say("arrange", arrangement="beside")
        page.say("compare", is_on=False)
        while page.hear_text("state")["other"]:
            pass
        wanted = renderer.render(page.scene, 80, 30).rgba[..., :3]
    np.testing.assert_array_equal(images["main"].rgb, wanted)
    assert images["other"].rgb.shape == wanted.shape and (images["other"].rgb != wanted).any()


def test_what_is_under_the_pointer(instance: Instance) -> None:
    with open_page(instance, size=(64, 48)) as page:
        while page.exact(page.state["revision"]).rgb.shape != (48, 64, 3):
            pass  # What was on its way to pages before; the pointer is asked of the picture drawn last.
        page.say("probe", x=0.507, y=0.594, request="middle")  # A grain: around it, one sees through.
        hit = page.hear_text("probe_result")
        assert hit["request"] == "middle" and hit["hit"]["layer"] == 0
        assert all(0 <= index < EDGE for index in hit["hit"]["voxel"])
        page.say("probe", x=0.0, y=0.0)
        assert page.hear_text("probe_result")["hit"] is None


def test_three_slices_follow_the_cross_hair_and_the_colours(instance: Instance) -> None:
    with open_page(instance) as page, open_page(instance, "view") as other:
        page.patch("volumes", 0, "slice_options", value=[{"colors": "transfer"}] * 3)
        page.hear_text("state")
        page.say("show_slices", views=[{"axis": axis, "width": 48, "height": 48} for axis in "zyx"])
        page.say("slices", voxel=[5, 6, 7])
        cuts = {(shown := page.hear_picture("slice")).header["axis"]: shown for _ in range(3)}
        assert {axis: cut.header["index"] for axis, cut in cuts.items()} == {"z": 5, "y": 6, "x": 7}
        assert all(cut.rgb.shape == (48, 48, 3) for cut in cuts.values())
        while (heard := other.hear_text("cross_hair"))["voxel"] is None:
            pass
        assert heard["voxel"] == [5, 6, 7]
        low, high = page.scene.volumes[0].transfer.value_range
        page.patch("volumes", 0, "transfer", "value_range", value=[low, high * 2])
        again = page.hear_picture("slice")
        assert (again.rgb != cuts[again.header["axis"]].rgb).any()
        page.say("slices", voxel=[EDGE, 0, 0])
        assert f"Voxel ({EDGE}, 0, 0) (z, y, x) is outside" in page.hear_text("error")["what"]
        page.say("slices", voxel=None)


def test_each_slice_has_a_grey_window_of_its_own(instance: Instance) -> None:
    """By default what matters in the volume; the transfer function changes nothing."""
    with open_page(instance) as page, http(instance) as client:
        facts = client.get("/api/scene").json()["layers"][0]["histogram"]
        asked = {"axis": "y", "index": 6, "percents": [0, 100]}
        found = client.post("/api/slices/window", json=asked).json()
        assert facts["low"] <= found["low"] < found["high"] <= facts["high"]
        page.patch("volumes", 0, "slice_options", value=[{}] * 3)
        page.hear_text("state")
        page.say("show_slices", views=[{"axis": axis, "width": EDGE, "height": EDGE} for axis in "zyx"])
        page.say("slices", voxel=[5, 6, 7])
        grey = {(shown := page.hear_picture("slice")).header["axis"]: shown for _ in range(3)}
        assert all(cut.rgb.shape == (EDGE, EDGE) for cut in grey.values())
        page.patch("volumes", 0, "transfer", "value_range", value=[facts["low"], facts["high"] * 3])
        page.hear_text("state")
        middle = (facts["low"] + facts["high"]) / 2
        page.patch("volumes", 0, "slice_options", 1, "window", value=[facts["low"], middle])
        again = page.hear_picture("slice")  # The others look as before.
        assert again.header["axis"] == "y"
        brighter = np.minimum(2 * grey["y"].rgb.astype(float), 255)
        np.testing.assert_allclose(again.rgb, brighter, atol=1.01)
        page.say("slices", voxel=None)
        refused = client.post("/api/slices/window", json=asked | {"layer": 9})
        assert refused.json()["what"] == "The scene has no layer 9."


def test_frames_stop_when_nobody_acknowledges_them(instance: Instance) -> None:
    with open_page(instance) as page:
        page.exact()
        page.has_acknowledged = False
        held = []
        for camera in turned(page.scene.camera, 2):
            page.look(camera, is_moving=True)
            held.append(page.hear_picture().header["number"])
        *_, last = turned(page.scene.camera, 9)
        page.look(last, is_moving=False)
        page.say("probe", x=0, y=0, request="still there")
        while not isinstance(heard := page.hear(), dict) or heard.get("request") != "still there":
            # No third picture comes before the first is acknowledged; slices may, which nobody acknowledges.
            assert isinstance(heard, dict) or heard.header["type"] == "slice"
        page.say("acknowledge", number=held[0])
        page.say("acknowledge", number=held[1])
        assert page.exact(camera=last).header["is_exact"]


def test_an_ended_instance_leaves_neither_thread_nor_process(source: str, folder: Path) -> None:
    before = set(threading.enumerate())
    with running(source, folder) as instance, open_page(instance) as page:
        page.exact()
        pid = instance.session.worker.pid
        files = instance.session.tasks.folder
        instance.stop()
    left = [thread for thread in set(threading.enumerate()) - before if thread.is_alive()]
    assert [thread.name for thread in left if not thread.name.startswith(("AnyIO", "asyncio"))] == []
    assert pid is not None and not Path(f"/proc/{pid}").exists() and not files.exists()
