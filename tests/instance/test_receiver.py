"""Arrays that programs send: shown when all is there; broken off, refused, stopped, two at once."""

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pellucid.client.viewer import Viewer
from pellucid.errors import (
    Cancelled,
    InvalidInput,
    ReceiverBusy,
    TokenRejected,
    TransferInterrupted,
    TransferTooLarge,
    UnsupportedType,
    WrongDimensions,
)
from pellucid.formats.protocol import Voxels
from pellucid.instance.server import Instance
from pellucid.instance.session import SessionOptions
from pellucid.transport.address import Address
from pellucid.transport.client import TransferOptions, retrieve, send
from pellucid.transport.host import ReceiveLimits
from pellucid.transport.lanes import shm
from pellucid.transport.wire.announcement import MIN_PIECE, ArrayInfo
from tests.instance.loopback import Page, open_page, running, secret, served
from tests.instance.sending import TCP, address_of, held, in_background, sent, token_of, told_of_break
from tests.suite_report import ROOT
from tests.transport.relay import Relay

HALF = 12 * 2**20

pytestmark = pytest.mark.usefixtures("silence")


# What is taken


@pytest.mark.parametrize("lane", ["shm", "tcp"])
@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"]
)
def test_every_type_arrives(dtype: str, lane: str, instance: Instance, viewer: Viewer, ball: Voxels) -> None:
    given = (ball / 600).astype(dtype)
    sent(instance, given, TransferOptions(lane))
    back = viewer.retrieve_volume()
    assert back.dtype == given.dtype and np.array_equal(back, given)


@pytest.mark.parametrize("lane", ["shm", "tcp"])
def test_arrays_in_any_order_arrive(lane: str, instance: Instance, viewer: Viewer, ball: Voxels) -> None:
    fixed = ball.copy()
    fixed.flags.writeable = False
    for given in (ball[::2, :, ::-1], np.asfortranarray(ball), ball.astype(">u2"), fixed):
        sent(instance, given, TransferOptions(lane))
        assert np.array_equal(viewer.retrieve_volume(), given)


def test_what_goes_with_it_arrives_too(instance: Instance, viewer: Viewer, ball: Voxels) -> None:
    label = ArrayInfo("tooth", (2.0, 1.0, 0.5), "um")
    send(address_of(instance), ball, {"mine": 1}, token=token_of(instance), label=label)
    (layer,) = viewer._connection.ask("GET", "/api/scene")["layers"]
    assert (layer["name"], layer["spacing"], layer["unit"]) == ("tooth", [2.0, 1.0, 0.5], "um")
    sent(instance, (ball > 20_000).astype(np.uint8), pellucid={"how": "labels"})
    assert [volume.labels is not None for volume in viewer.scene.volumes] == [False, True]


def test_a_box_is_asked_for(instance: Instance, ball: Voxels) -> None:
    sent(instance, ball)
    request = {"layer": 0, "box": "1:3,4:9,5:8"}
    received = retrieve(address_of(instance), request, token=token_of(instance), options=TCP)
    assert np.array_equal(received.array, ball[1:3, 4:9, 5:8])
    with pytest.raises(InvalidInput, match="The scene has no layer 7"):
        retrieve(address_of(instance), {"layer": 7}, token=token_of(instance))
    with pytest.raises(InvalidInput, match="Invalid request"):
        retrieve(address_of(instance), {"layer": "first"}, token=token_of(instance))


@pytest.mark.parametrize(
    ("given", "metadata", "error", "says"),
    [
        (np.zeros((3, 3)), {}, WrongDimensions, "three axes"),
        (np.zeros((3, 0, 3)), {}, WrongDimensions, "three axes"),
        (np.zeros((3, 3, 3), complex), {}, UnsupportedType, "c16"),
        (np.zeros((3, 3, 3)), {"pellucid": {"how": "sideways"}}, InvalidInput, "how"),
        (np.zeros((3, 3, 3)), {"pellucid": {"kind": "points"}}, InvalidInput, "Invalid points array"),
        (np.zeros((3, 3), np.uint32), {"pellucid": {"kind": "mesh", "vertices": 4}}, InvalidInput, "Invalid mesh"),
    ],
)  # fmt: skip
def test_what_cannot_be_shown_is_refused_first(
    given: Voxels, metadata: Any, error: type[Exception], says: str, instance: Instance
) -> None:
    before = instance.session.history.revision
    with pytest.raises(error, match=says):
        sent(instance, given, **metadata)
    assert instance.session.history.revision == before


def test_nobody_without_the_owners_token(instance: Instance, ball: Voxels) -> None:
    for token in ("a wrong secret", secret(instance, "control"), secret(instance, "view")):
        with pytest.raises(TokenRejected):
            send(address_of(instance), ball, token=token)


def test_only_the_owner_learns_where_to_send(instance: Instance) -> None:
    assert Viewer(instance.link("own"))._transfer == address_of(instance)
    assert Viewer(instance.link("control"))._transfer == ""


def test_no_more_than_the_viewer_was_started_for(folder: Path, ball: Voxels) -> None:
    with (
        running(None, folder, max_bytes=20_000) as instance,
        pytest.raises(TransferTooLarge, match=r"27\.0 KiB.*19\.5"),
    ):
        sent(instance, ball)


# Broken off


def test_a_broken_transfer_leaves_what_was_shown(fresh: Instance, large: Voxels) -> None:
    before = fresh.session.history.scene.volumes
    with open_page(fresh) as page, Relay(Address.parse(address_of(fresh)).port, cut_after=HALF) as relay:
        with pytest.raises(TransferInterrupted):
            sent(fresh, large, address=relay.address)
        reply = told_of_break(page)
    assert (
        "Scan did not arrive completely" in reply["what"]
        and "The data received so far stays visible. Send it again" in reply["remedy"]
    )
    assert fresh.session.history.scene.volumes == before


def test_a_retry_sends_only_what_is_missing(instance: Instance, viewer: Viewer, large: Voxels) -> None:
    with Relay(Address.parse(address_of(instance)).port, cut_after=HALF) as relay:
        report = sent(instance, large, TransferOptions("tcp"), relay.address)
    assert report.resumed_bytes >= MIN_PIECE and report.nbytes + report.resumed_bytes == large.nbytes
    assert np.array_equal(viewer.retrieve_volume(), large)


@pytest.mark.parametrize("lane", ["shm", "tcp"])
def test_a_sender_that_is_killed(lane: str, instance: Instance, viewer: Viewer, ball: Voxels) -> None:
    viewer.render_volume(ball)
    partials = instance._listener._partials._kept
    count = len(partials)
    program = [sys.executable, "-m", "tests.instance.killed_sender", address_of(instance), token_of(instance), lane]
    with (
        open_page(instance) as page,
        subprocess.Popen(program, stdout=subprocess.PIPE, text=True, cwd=ROOT) as sender,
    ):
        assert sender.stdout is not None and sender.stdout.readline() == "stalled\n"
        sender.kill()
        assert "did not arrive completely" in told_of_break(page)["what"]
    # Of a process of this machine it is known that it is dead, and nothing is kept for it.
    assert len(partials) - count == int(lane == "tcp")
    assert np.array_equal(viewer.retrieve_volume(), ball)


# While they come


def receiving(page: Page) -> dict[str, Any]:
    """How far it is; the Worker tells of what it does itself, too."""
    while (heard := page.hear_text("progress"))["name"] != "Receiving scan":
        pass
    return heard


@pytest.mark.parametrize("lane", ["shm", "tcp"])
def test_pages_see_how_far_it_is(lane: str, instance: Instance, large: Voxels, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shm, "TELL_AGAIN_S", 0.0)
    monkeypatch.setattr(shm, "COPY_BYTES", MIN_PIECE)
    reached, may_go_on = held(monkeypatch, 3)
    with open_page(instance) as page:
        sending, failures = in_background(sent, instance, large, TransferOptions(lane))
        assert reached.wait(120)
        while (heard := receiving(page))["done"] < 3 * MIN_PIECE:
            pass
        assert (heard["total"], heard["unit"], heard["state"]) == (large.nbytes, "B", "running")
        may_go_on.set()
        while (heard := receiving(page))["state"] == "running":
            pass
        sending.join(120)
    assert heard["state"] == "finished" and not failures


def test_a_page_stops_it(instance: Instance, large: Voxels, monkeypatch: pytest.MonkeyPatch) -> None:
    reached, may_go_on = held(monkeypatch, 1)
    with open_page(instance) as page:
        sending, failures = in_background(sent, instance, large)
        assert reached.wait(120)
        page.say("cancel_task", task=receiving(page)["task"])
        page.say("keep_alive")
        page.hear_text("idle")  # What was said before is done by now.
        may_go_on.set()
        sending.join(120)
        assert "was cancelled" in told_of_break(page)["what"]
    assert isinstance(failures[0], Cancelled)


def test_the_program_stops_it(instance: Instance, large: Voxels, monkeypatch: pytest.MonkeyPatch) -> None:
    reached, may_go_on = held(monkeypatch, 1)
    cancel = threading.Event()
    sending, failures = in_background(sent, instance, large, TransferOptions("tcp", cancel=cancel))
    assert reached.wait(120)
    cancel.set()
    sending.join(120)
    may_go_on.set()
    assert isinstance(failures[0], Cancelled)


@pytest.mark.parametrize("is_waiting", [True, False], ids=["waits", "is refused"])
def test_two_senders_at_once(
    is_waiting: bool, folder: Path, large: Voxels, ball: Voxels, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = ReceiveLimits(at_once=1, is_waiting=is_waiting)
    with served(Instance(None, SessionOptions("cpu", (folder,)), limits=limits)) as instance:
        reached, may_go_on = held(monkeypatch, 1)
        first, failures = in_background(sent, instance, large)
        assert reached.wait(120)
        second, refusals = in_background(sent, instance, ball)
        if not is_waiting:
            second.join(120)
        may_go_on.set()
        first.join(120)
        second.join(120)
        shown = Viewer(instance.url).retrieve_volume()
    assert not failures
    assert np.array_equal(shown, ball if is_waiting else large)
    assert [type(error) for error in refusals] == ([] if is_waiting else [ReceiverBusy])


def test_a_viewer_that_ends_says_so(folder: Path, large: Voxels, monkeypatch: pytest.MonkeyPatch) -> None:
    reached, may_go_on = held(monkeypatch, 1)
    with running(None, folder) as instance:
        sending, failures = in_background(sent, instance, large)
        assert reached.wait(120)

        def go_on() -> None:
            instance._listener.is_closing.wait(120)
            may_go_on.set()

        ending, _ = in_background(go_on)
        instance.stop()
    ending.join(120)
    sending.join(120)
    assert isinstance(failures[0], Cancelled | TransferInterrupted | InvalidInput)
    assert not any("pellucid" in path.name for path in Path("/dev/shm").iterdir())
