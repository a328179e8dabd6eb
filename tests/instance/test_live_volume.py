"""Streams: shown while they come, exact at the end, and in nobody's way."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pellucid.box import Box
from pellucid.client.viewer import Viewer
from pellucid.formats.protocol import Voxels
from pellucid.instance.server import Instance
from pellucid.transport.address import Address
from pellucid.transport.client import TransferOptions, stream
from tests.instance.loopback import as_sent, open_page, running
from tests.instance.sending import address_of, streaming, token_of, told_of_break, wait_for
from tests.transport.relay import Relay
from tests.waiting import wait_until

pytestmark = pytest.mark.usefixtures("silence")


@pytest.mark.parametrize("lane", ["shm", "tcp"])
def test_a_stream_ends_as_if_it_had_come_at_once(lane: str, instance: Instance, viewer: Viewer, ball: Voxels) -> None:
    viewer.render_volume(ball, name="scan")
    whole, image = viewer.layer, viewer.screenshot(64, 48)
    with streaming(instance, ball, lane) as writer:
        for one in ball:
            writer.append(one)
    assert np.array_equal(viewer.retrieve_volume(), ball)
    assert viewer.layer.transfer == whole.transfer and viewer.layer.shading == whole.shading
    assert np.array_equal(viewer.screenshot(64, 48), image)


def test_a_stream_is_seen_while_it_comes(instance: Instance, viewer: Viewer, ball: Voxels) -> None:
    viewer.render_volume(ball)
    whole = viewer.screenshot(64, 48)
    with streaming(instance, ball, name="half") as writer:
        writer.append(ball[:12])
        wait_for("half", instance)
        half = viewer.screenshot(64, 48)
        assert np.array_equal(viewer.retrieve_volume(Box((0, 0, 0), (12, 24, 24))), ball[:12])
        assert not viewer.retrieve_volume(Box((12, 0, 0), (24, 24, 24))).any()
        (layer,) = viewer._connection.ask("GET", "/api/scene")["layers"]
        assert layer["histogram"]["high"] == ball[:12].max()
        writer.write(ball[12:], (12, 0, 0))
    assert half[..., :3].any() and not np.array_equal(half, whole)
    assert np.array_equal(viewer.screenshot(64, 48), whole)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "float32", "uint16"])
@pytest.mark.parametrize("is_solid", [True, False], ids=["solid", "in air"])
def test_what_has_not_come_is_not_seen(
    dtype: str, is_solid: bool, instance: Instance, viewer: Viewer, ball: Voxels
) -> None:
    """Zero is material here, where the type has values below it."""
    values = ball.astype(np.float64) / ball.max() * 100
    given = (values + 20 if is_solid else values - (0 if dtype == "uint16" else 80)).astype(dtype)
    with streaming(instance, given, name=dtype) as writer:
        writer.append(given[:12])
        wait_for(dtype, instance)
        assert viewer.screenshot(64, 48)[..., :3].any()
        viewer.layer = replace(viewer.layer, clip=Box((13, 0, 0), (24, 24, 24)))
        assert not viewer.screenshot(64, 48)[..., :3].any()
        writer.append(given[12:])
    assert np.array_equal(viewer.retrieve_volume(Box((0, 0, 0), (24, 24, 24))), given)


def test_what_never_comes_does_not_change_the_colours_of_what_does(
    instance: Instance, viewer: Viewer, ball: Voxels
) -> None:
    given = (ball >> 8).astype(np.int16) - 100
    with streaming(instance, given, name="half") as writer:
        writer.append(given[:12])
    assert viewer.transfer.value_range[0] >= given[:12].min()
    assert (viewer.retrieve_volume()[12:] == np.iinfo(np.int16).min).all()
    assert viewer.screenshot(64, 48)[..., :3].any()


def test_pages_get_new_pictures_while_it_comes(instance: Instance, ball: Voxels) -> None:
    with open_page(instance) as page, streaming(instance, ball) as writer:
        seen: list[Voxels] = []
        for one in range(0, 24, 8):
            writer.append(ball[one : one + 8])
            shown = page.exact()
            while seen and np.array_equal(shown.rgb, seen[-1]):
                shown = page.exact()
            seen.append(shown.rgb)
    assert len(seen) == 3


def test_pages_are_told_the_camera_of_a_finished_stream(instance: Instance, viewer: Viewer, ball: Voxels) -> None:
    """The first camera sees all of the volume, the last one what is in it."""
    given = np.zeros((48, 48, 48), ball.dtype)
    given[:24, :24, :24] = ball
    with open_page(instance) as page:
        with streaming(instance, given, name="corner") as writer:
            writer.append(given)
            wait_for("corner", instance)
            before = viewer.camera
        assert viewer.camera != before
        moved = page.hear_text("camera_moved")
        assert moved["camera"] == as_sent(viewer.camera)
        page.exact(camera=viewer.camera)


def test_colours_follow_until_a_person_chooses(instance: Instance, viewer: Viewer, ball: Voxels) -> None:
    with streaming(instance, ball, name="dark at first") as writer:
        writer.append(np.minimum(ball[:6], 1000))
        wait_for("dark at first", instance)
        assert viewer.transfer.value_range[1] <= 1000
        writer.append(ball[6:12])
        wait_until(lambda: viewer.transfer.value_range[1] > 1000)
        mine = type(viewer.transfer)(value_range=(5.0, 6.0))
        viewer.transfer = mine
        viewer.shading = "none"
        writer.append(ball[12:])
    assert viewer.transfer == mine and viewer.shading == "none"


def test_a_stream_counts_as_use(folder: Path, ball: Voxels) -> None:
    now = [0.0]
    with running(None, folder, clock=lambda: now[0], idle_timeout_s=100.0) as instance:
        with streaming(instance, ball) as writer:
            for start in range(0, 24, 12):
                now[0] += 70
                writer.append(ball[start : start + 12])
                wait_until(lambda: instance.session.idle.idle_s == 0)
        assert np.array_equal(Viewer(instance.url).retrieve_volume(), ball)


def test_a_stream_that_breaks_off_goes_on(instance: Instance, viewer: Viewer, large: Voxels) -> None:
    token = token_of(instance)
    with (
        Relay(Address.parse(address_of(instance)).port) as relay,
        stream(relay.address, large.shape, large.dtype, token=token, options=TransferOptions("tcp")) as writer,
    ):
        with open_page(instance) as page:
            writer.append(large[:3])
            wait_until(lambda: relay.passed >= large[:3].nbytes)
            relay.cut()
            assert "did not arrive completely" in told_of_break(page)["what"]
        writer.append(large[3:])
    assert np.array_equal(viewer.retrieve_volume(), large)


def test_what_is_shown_instead_of_a_stream_stays(instance: Instance, viewer: Viewer, ball: Voxels) -> None:
    with streaming(instance, ball, name="not wanted") as writer:
        writer.append(ball[:12])
        wait_for("not wanted", instance)
        viewer.render_volume(ball[::-1])
        writer.append(ball[12:])
    assert np.array_equal(viewer.retrieve_volume(), ball[::-1])


def test_an_empty_stream_is_an_empty_volume(instance: Instance, viewer: Viewer, ball: Voxels) -> None:
    with streaming(instance, ball):
        pass
    assert not viewer.retrieve_volume().any()
