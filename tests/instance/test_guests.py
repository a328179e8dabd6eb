"""What guests can ask for: little enough that the owner does not notice, and nothing that is the owner's."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.errors import InvalidInput, NotAllowed, NotFound, TooManyRequests
from pellucid.instance.access.guest_limits import (
    MAX_GUEST_MOVIE_FRAMES,
    MAX_GUEST_PIXELS,
    MAX_GUEST_SCENE_BYTES,
    MAX_LAYERS,
    MIN_GUEST_STEP,
    check_movie,
    check_scene_size,
    check_screenshot,
    check_step,
    check_stretch,
    limited_size,
    scene_bytes,
)
from pellucid.instance.lifecycle.idle import IdleTimer
from pellucid.instance.protocol import client_messages, server_messages
from pellucid.instance.protocol.movie_bodies import MovieRequest
from pellucid.instance.protocol.shared_types import MAX_MESSAGE_BYTES, Change, Client
from pellucid.instance.scene.edits import with_changes
from pellucid.instance.server import Instance
from pellucid.instance.tasks.tasks import MAX_GUEST_RUNNING, MAX_KEPT, MAX_RUNNING, Result, TaskRegistry
from pellucid.instance.websocket.client import MAX_WAITING, OWNER, ConnectedClient, Outbox, Requester
from pellucid.instance.websocket.message_rates import LATEST_WINS, MAX_PER_SECOND, MAX_VIEW_BYTES, MessageLimiter
from pellucid.rendering.camera import Camera, Vector
from pellucid.rendering.scene import Scene, Transform, VolumeLayer
from tests.instance.loopback import http, open_page

GUEST, OTHER_GUEST = Requester("control", "one link"), Requester("control", "another link")


def client(requester: Requester) -> ConnectedClient:
    client = Client(requester.link, "", requester.capability)
    return ConnectedClient(client, (4, 4), ("jpeg",), link=requester.link)


# Tasks and their results


async def finished(tasks: TaskRegistry, by: Requester, path: Path) -> str:
    """A task that has made a file."""

    async def work(id: str) -> Result:
        path.write_text("made")
        return Result(path, "text/plain")

    id = tasks.start("Making a file", work, by=by)
    while tasks.status(id).state == "running":
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    return id


def with_tasks(use: Callable[[TaskRegistry, list[ConnectedClient]], Any]) -> None:
    async def run() -> None:
        members = [client(one) for one in (Requester("own", "owner"), GUEST, OTHER_GUEST, Requester("view", "x"))]
        tasks = TaskRegistry(IdleTimer(), lambda: members)
        try:
            await use(tasks, members)
        finally:
            tasks.close()

    asyncio.run(run())


def test_a_result_belongs_to_who_asked_and_to_the_owner(tmp_path: Path) -> None:
    async def use(tasks: TaskRegistry, members: list[ConnectedClient]) -> None:
        owners = await finished(tasks, Requester("own", "owner"), tmp_path / "export.tif")
        guests = await finished(tasks, GUEST, tmp_path / "movie.mp4")
        for by in (GUEST, OTHER_GUEST, Requester("control"), Requester("view", "one link")):
            with pytest.raises(NotFound):
                tasks.result(owners, by)
            with pytest.raises(NotFound):
                tasks.status(owners, by)
        for by in (GUEST, OWNER, Requester("own", "a link to own")):
            assert tasks.result(guests, by).path.name == "movie.mp4"
        with pytest.raises(NotFound):
            tasks.result(guests, OTHER_GUEST)
        # The owner heard of both, the guest of its own, and nobody else of any.
        assert [len(member.outbox) for member in members] == [2, 1, 0, 0]

    with_tasks(use)


def test_a_guest_cancels_its_own_tasks_alone() -> None:
    async def use(tasks: TaskRegistry, members: list[ConnectedClient]) -> None:
        cancelled: list[str] = []
        owners = tasks.begin("export", lambda: cancelled.append("export"))
        guests = tasks.begin("movie", lambda: cancelled.append("movie"), GUEST)
        tasks.cancel(owners, GUEST)
        tasks.cancel(guests, OTHER_GUEST)
        assert cancelled == []
        tasks.cancel(guests, GUEST)
        tasks.cancel(owners)
        assert cancelled == ["movie", "export"]

    with_tasks(use)


def test_guests_queue_no_work() -> None:
    async def use(tasks: TaskRegistry, members: list[ConnectedClient]) -> None:
        end = asyncio.Event()

        async def work(id: str) -> None:
            await end.wait()

        for _ in range(MAX_GUEST_RUNNING):
            tasks.start("movie", work, by=GUEST)
        for by in (GUEST, OTHER_GUEST):
            with pytest.raises(TooManyRequests, match="Another task of a guest"):
                tasks.start("movie", work, by=by)
        for _ in range(MAX_RUNNING):  # Those of guests do not count.
            tasks.start("export", work)
        with pytest.raises(TooManyRequests):
            tasks.start("export", work)

    with_tasks(use)


def test_guests_do_not_push_out_the_owners_results(tmp_path: Path) -> None:
    async def use(tasks: TaskRegistry, members: list[ConnectedClient]) -> None:
        owners = await finished(tasks, OWNER, tmp_path / "export.tif")
        guests = [await finished(tasks, GUEST, tmp_path / f"{number}.mp4") for number in range(MAX_KEPT + 2)]
        assert tasks.result(owners).path.exists()
        assert not (tmp_path / "0.mp4").exists() and tasks.result(guests[-1], GUEST).path.exists()

    with_tasks(use)


def test_an_export_of_the_owner_is_not_the_guests(fresh: Instance) -> None:
    with http(fresh) as owner, http(fresh, "control") as guest, open_page(fresh) as page:
        task = owner.post("/api/exports", json={"format": "nrrd"}).json()["task"]
        while (heard := page.hear_text("progress"))["task"] != task or heard["state"] == "running":
            pass
        for path in (f"/api/tasks/{task}", f"/api/tasks/{task}/result"):
            assert guest.get(path).status_code == 404
            assert owner.get(path).status_code == 200


# Sizes


@pytest.mark.parametrize(
    "request_",
    [
        MovieRequest(8192, 8192),
        MovieRequest(1921, 1080),
        MovieRequest(64, 64, seconds=120.0, frames_per_second=60),
    ],
)
def test_a_movie_of_a_guest_is_small(request_: MovieRequest) -> None:
    with pytest.raises(NotAllowed, match="than this link allows"):
        check_movie(request_, "control")
    check_movie(request_, "own")
    check_movie(MovieRequest(1920, 1080, MAX_GUEST_MOVIE_FRAMES / 30, 30), "control")


def test_a_guest_is_told_over_http(instance: Instance) -> None:
    with http(instance, "control") as guest:
        assert guest.post("/api/movies", json={"width": 8192, "height": 8192}).status_code == 403
        assert guest.get("/api/screenshot?width=8192&height=8192").status_code == 403
    with pytest.raises(NotAllowed):
        check_screenshot(8192, 8192, "control")
    check_screenshot(8192, 8192, "own")


@given(st.tuples(st.integers(1, 8192), st.integers(1, 8192)))
def test_images_for_guests_keep_their_shape(size: tuple[int, int]) -> None:
    width, height = limited_size(size, "view")
    assert limited_size(size, "own") == size
    assert width * height <= MAX_GUEST_PIXELS and 1 <= width <= size[0] and 1 <= height <= size[1]
    if size[0] * size[1] <= MAX_GUEST_PIXELS:
        assert (width, height) == size
    else:
        assert width / height == pytest.approx(size[0] / size[1], rel=2 / min(width, height))


def test_a_guest_that_claims_a_huge_page_gets_smaller_images(fresh: Instance) -> None:
    with open_page(fresh, "view", (8192, 8192)) as page:
        assert fresh.session.picturing.size == (2880, 2880)
        page.say("resize", width=40, height=30)
        while page.hear_picture().header["full_width"] != 40:
            pass


def test_the_size_is_the_owners_where_nobody_has_the_controls(fresh: Instance) -> None:
    with open_page(fresh) as owner, open_page(fresh, "view", (80, 80)) as guest:
        owner.say("hand_over_controls")
        while owner.hear_text("controls")["holder"] is not None:
            pass
        guest.say("resize", width=90, height=90)
        guest.say("probe", request="1", x=0.5, y=0.5)
        guest.hear_text("probe_result")
        assert fresh.session.picturing.size == (64, 48)


@pytest.mark.parametrize("kind", ["volumes", "points", "meshes", "slices"])
def test_a_scene_has_so_many_layers_hidden_or_not(kind: str) -> None:
    layers = [{"source": "a.npy", "is_visible": False}] * 20_000
    with pytest.raises(InvalidInput, match="20,000"):
        with_changes(Scene(), [Change((kind,), layers)])


def test_a_guest_with_the_controls_cannot_fill_the_scene(fresh: Instance) -> None:
    with open_page(fresh, "control") as page:
        layer = page.state["scene"]["volumes"][0]
        page.patch("volumes", value=[layer] * (MAX_LAYERS + 1))
        assert f"{MAX_LAYERS + 1} volumes" in page.hear_text("error")["what"]
        points = [[number / 4500, [0.5, 0.5, 0.5]] for number in range(4500)]
        page.patch("volumes", 0, "transfer", "colors", value=points)
        assert "The scene would have" in page.hear_text("error")["what"]


def test_guests_may_not_make_a_long_scene_longer() -> None:
    scene = Scene(volumes=tuple(VolumeLayer(f"{'a' * 1000}{number}.npy") for number in range(MAX_LAYERS)))
    while scene_bytes(scene) <= MAX_GUEST_SCENE_BYTES:
        scene = replace(scene, volumes=tuple(replace(one, source=one.source * 2) for one in scene.volumes))
    longer = replace(scene, volumes=(*scene.volumes[1:], VolumeLayer(scene.volumes[0].source + "more")))
    check_scene_size(scene, scene, "control")
    check_scene_size(longer, scene, "own")
    with pytest.raises(InvalidInput, match="bytes; the maximum is"):
        check_scene_size(longer, scene, "control")


def test_a_guest_cannot_make_images_slow_for_everybody(fresh: Instance) -> None:
    with open_page(fresh, "control") as page:
        page.patch("step", value=0.01)
        assert "A step of 0.01 voxels" in page.hear_text("error")["what"]
        page.patch("step", value=MIN_GUEST_STEP)
        while page.hear_text("state")["scene"]["step"] != MIN_GUEST_STEP:
            pass


def test_guests_may_not_make_a_small_step_smaller() -> None:
    small = Scene(step=0.05)
    check_step(small, small, "control")
    check_step(Scene(step=0.01), small, "own")
    with pytest.raises(NotAllowed, match=r"A step of 0\.02 voxels"):
        check_step(Scene(step=0.02), small, "control")


@pytest.mark.parametrize("scale", [(1e300, 1e-300, 1.0), (1.0, 1e-3, 1.0), (1e3, 1e3, 1e3)])
def test_guests_may_not_stretch_volumes_so_far_that_images_take_minutes(scale: Vector) -> None:
    stretched = Scene((VolumeLayer("a", transform=Transform(scale)),))
    check_stretch(stretched, stretched, "control")
    check_stretch(stretched, Scene(), "own")
    with pytest.raises(NotAllowed, match="Scales that differ by a factor of"):
        check_stretch(stretched, Scene(), "control")


def test_a_guest_with_the_controls_cannot_stretch_a_volume_for_everybody(fresh: Instance) -> None:
    with open_page(fresh, "control") as page:
        page.patch("volumes", 0, "transform", "scale", value=[1.0, 1e-5, 1.0])
        assert "Scales that differ" in page.hear_text("error")["what"]


# Rates


class Clock:
    """A clock that is set by hand, and calls what is due."""

    def __init__(self) -> None:
        self.now, self._due = 0.0, list[tuple[float, Callable[[], None]]]()

    def __call__(self) -> float:
        return self.now

    def call_later(self, delay_s: float, function: Callable[[], None]) -> "Clock":
        self._due.append((self.now + delay_s, function))
        return self

    def cancel(self) -> None:
        self._due.clear()

    def until(self, now: float) -> None:
        while due := [one for one in self._due if one[0] <= now]:
            first = min(due, key=lambda one: one[0])
            self._due.remove(first)
            self.now = first[0]
            first[1]()
        self.now = now


HELLO = client_messages.Hello(version=1, width=8, height=8, proof="c" * 16)
MESSAGES: dict[type[client_messages.Incoming], client_messages.Incoming] = {
    client_messages.Prove: client_messages.Prove("a" * 16, "b" * 16),
    client_messages.Hello: HELLO,
    client_messages.Resize: client_messages.Resize(8, 8),
    client_messages.SetCamera: client_messages.SetCamera(Camera()),
    client_messages.Patch: client_messages.Patch(0, ()),
    client_messages.Undo: client_messages.Undo(),
    client_messages.Redo: client_messages.Redo(),
    client_messages.Compare: client_messages.Compare(True),
    client_messages.Arrange: client_messages.Arrange("over"),
    client_messages.Slices: client_messages.Slices(None),
    client_messages.ShowSlices: client_messages.ShowSlices(()),
    client_messages.Probe: client_messages.Probe(0.5, 0.5),
    client_messages.ProbeSlice: client_messages.ProbeSlice("z", 0.5, 0.5),
    client_messages.Acknowledge: client_messages.Acknowledge(1),
    client_messages.AcknowledgeSlice: client_messages.AcknowledgeSlice("z", 1),
    client_messages.RequestKeyFrame: client_messages.RequestKeyFrame(),
    client_messages.RequestControls: client_messages.RequestControls(),
    client_messages.HandOverControls: client_messages.HandOverControls(),
    client_messages.KeepAlive: client_messages.KeepAlive(),
    client_messages.CancelTask: client_messages.CancelTask("x"),
    client_messages.SaveDraft: client_messages.SaveDraft("/x", None, False),
}


@pytest.mark.parametrize("kind", get_args(client_messages.Incoming), ids=lambda kind: kind.__name__)
def test_a_flood_of_any_message_is_done_at_its_rate(kind: type[client_messages.Incoming]) -> None:
    clock, done, seconds = Clock(), list[float](), 4.0
    limiter = MessageLimiter("view", lambda _: done.append(clock.now), clock.call_later, clock)
    while clock.now < seconds:
        delay_s = limiter.offer(MESSAGES[kind])
        if delay_s:
            assert kind not in LATEST_WINS  # Of those the client's other messages do not wait.
            clock.until(clock.now + delay_s)
            done.append(clock.now)
        clock.until(clock.now + 0.0005)
    assert MAX_PER_SECOND[kind] * (seconds - 0.5) <= len(done) <= MAX_PER_SECOND[kind] * (seconds + 1) + 1
    limiter.close()


def test_of_a_flood_the_latest_message_is_done() -> None:
    clock, done = Clock(), list[client_messages.Incoming]()
    limiter = MessageLimiter("view", done.append, clock.call_later, clock)
    for width in range(1, 1000):
        assert limiter.offer(client_messages.Resize(width, 8)) == 0
    assert len(done) == MAX_PER_SECOND[client_messages.Resize]
    clock.until(10.0)
    assert done[-1] == client_messages.Resize(999, 8) and len(done) == MAX_PER_SECOND[client_messages.Resize] + 1


def test_messages_that_cannot_be_read_count_too() -> None:
    clock = Clock()
    limiter = MessageLimiter("view", lambda _: None, clock.call_later, clock)
    assert sum(limiter.wait_s() == 0 for _ in range(5000)) < 500


def test_a_long_message_counts_as_many() -> None:
    clock = Clock()
    limiter = MessageLimiter("control", lambda _: None, clock.call_later, clock)
    assert sum(limiter.wait_s(MAX_MESSAGE_BYTES) == 0 for _ in range(100)) <= 2


def test_of_those_who_may_only_view_a_long_message_is_not_read(instance: Instance) -> None:
    with open_page(instance, "view") as guest:
        guest.say("x" * MAX_VIEW_BYTES)
        assert "characters; the maximum is 4,096" in guest.hear_text("error")["what"]
        guest.say("resize", width=64, height=48)
        guest.say("sing")
        assert "'sing' found" in guest.hear_text("error")["what"]


def test_a_flooding_guest_does_not_hold_up_the_owner(fresh: Instance) -> None:
    with open_page(fresh, "view") as guest, open_page(fresh) as owner:
        for number in range(600):
            guest.say("resize", width=1 + number % 8192, height=8192)
            guest.say("key_frame")
            guest.say("probe", x=0.5, y=0.5)
        camera = owner.scene.camera.turned(5.0)
        owner.look(camera, is_moving=False)
        assert owner.exact(camera=camera).rgb.shape == (48, 64, 3)


def moved(number: int) -> server_messages.CameraMoved:
    return server_messages.CameraMoved(Camera(position=(float(number), 9.0, 9.0)), "guest")


def test_what_others_change_often_fills_no_outbox() -> None:
    async def last() -> list[dict[str, Any]]:
        outbox = Outbox()
        outbox.put(server_messages.ErrorMessage("a", "b"))
        for number in range(10 * MAX_WAITING):
            outbox.put(moved(number))
            outbox.put(server_messages.SceneState(number, Scene()))
            outbox.put(server_messages.Progress("task", "Making a movie", number, None, "", "running"))
        outbox.put(server_messages.SceneState(1, Scene(), request="mine"))
        assert not outbox.is_overfull and len(outbox) == 5
        return [json.loads(str(await outbox.next())) for _ in range(5)]

    refusal, camera, state, progress, answer = asyncio.run(last())
    assert refusal["type"] == "error" and answer["request"] == "mine"
    assert camera["camera"]["position"][0] == state["revision"] == progress["done"] == 10 * MAX_WAITING - 1
