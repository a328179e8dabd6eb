"""Frames in the right order, whatever takes long to encode."""

import asyncio
import json
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pellucid.instance.frames import sender
from pellucid.instance.frames.encoders import EncodingFailed, VideoEncoder, encode_png
from pellucid.instance.frames.jpeg import JpegEncoder
from pellucid.instance.frames.sender import GUEST_KEY_S, FrameSender, RenderedFrame
from pellucid.instance.frames.timing import FrameTiming
from pellucid.instance.protocol.client_messages import Acknowledge
from pellucid.instance.protocol.codec import EncodedFrame
from pellucid.instance.protocol.server_messages import FrameHeader
from pellucid.instance.protocol.shared_types import Client, Encoding, StageTimes
from pellucid.instance.websocket.client import ConnectedClient
from pellucid.rendering.camera import Camera

PIXELS = np.zeros((4, 6, 4), np.uint8)


def shot(is_exact: bool, released: list[bool], revision: int = 3) -> RenderedFrame:
    def release() -> None:
        released.append(is_exact)

    times = StageTimes(1.0, 2.0, 0.0)
    header = FrameHeader(0, "main", revision, Camera(), 6, 4, 6, 4, "png", is_exact, 1.0, times, 0.0, 0.0)
    return RenderedFrame(header, PIXELS, release, 85, time.perf_counter())


def member(name: str, encoding: Encoding) -> ConnectedClient:
    return ConnectedClient(Client(name, "", "own"), (6, 4), (encoding,))


class HeldBack:
    """An encoder that waits until it may finish, and says when it was begun."""

    def __init__(self, encode: Callable[..., bytes]) -> None:
        self._encode, self._begun, self._may_finish = encode, threading.Event(), threading.Event()

    def __call__(self, *given: Any, **more: Any) -> bytes:
        self._begun.set()
        self._may_finish.wait(120)
        return self._encode(*given, **more)

    async def begun(self) -> None:
        await asyncio.to_thread(self._begun.wait, 60)

    def finish(self) -> None:
        self._may_finish.set()


def held_back(monkeypatch: pytest.MonkeyPatch) -> HeldBack:
    """Encoding an exact picture."""
    held = HeldBack(encode_png)
    monkeypatch.setattr(sender, "encode_png", held)
    return held


def test_who_comes_while_the_exact_picture_is_encoded_is_shown_it(monkeypatch: pytest.MonkeyPatch) -> None:
    held = held_back(monkeypatch)

    async def shown() -> str | bytes:
        members: list[ConnectedClient] = []
        delivering = FrameSender(FrameTiming(), lambda: members)
        exact = asyncio.create_task(delivering.encode_and_send(shot(True, [])))
        await held.begun()
        late = member("a", "jpeg")
        delivering.resend_last(late)
        members.append(late)
        held.finish()
        await exact
        delivering.close()
        return await asyncio.wait_for(late.outbox.next(), 120)

    sent = asyncio.run(shown())
    assert isinstance(sent, bytes) and b'"png"' in sent


def test_a_newer_picture_overtakes_one_that_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    held, released = held_back(monkeypatch), list[bool]()

    async def both() -> tuple[int, FrameTiming, str | bytes]:
        watching, timing = member("a", "jpeg"), FrameTiming()
        delivering = FrameSender(timing, lambda: [watching])
        exact = asyncio.create_task(delivering.encode_and_send(shot(True, released)))
        await held.begun()
        await delivering.encode_and_send(shot(False, released))
        held.finish()
        await exact
        delivering.close()
        sent = await watching.outbox.next()
        return len(watching.outbox), timing, sent

    left, timing, sent = asyncio.run(both())
    assert isinstance(sent, bytes) and b'"jpeg"' in sent
    assert (left, timing.dropped, released) == (0, 1, [False, True])


def header_of(sent: str | bytes) -> dict[str, Any]:
    assert isinstance(sent, bytes)
    header: dict[str, Any] = json.loads(sent[4 : 4 + int.from_bytes(sent[:4], "little")])
    return header


def revision(sent: str | bytes) -> int:
    return int(header_of(sent)["revision"])


def test_a_header_has_what_was_known_of_the_image_and_what_its_encoding_adds() -> None:
    async def sent() -> str | bytes:
        watching = member("a", "jpeg")
        delivering = FrameSender(FrameTiming(), lambda: [watching])
        await delivering.encode_and_send(replace(shot(False, []), pixels=PIXELS[:2, :3]))
        delivering.close()
        return await watching.outbox.next()

    header = header_of(asyncio.run(sent()))
    times = header.pop("times_ms")
    assert (times["input"], times["render"]) == (1.0, 2.0) and times["encode"] > 0
    assert header.pop("sent_at_ms") > 0
    assert header.pop("camera")["field_of_view_deg"] == Camera().field_of_view_deg
    assert header == {
        "number": 1, "view": "main", "revision": 3, "width": 3, "height": 2, "full_width": 6, "full_height": 4,
        "encoding": "jpeg", "is_exact": False, "full_resolution": 1.0, "input_sent_at_ms": 0.0, "codec": "",
        "is_key": True, "type": "frame", "is_along_rays": False,
    }  # fmt: skip


def test_of_pictures_that_wait_to_be_encoded_only_the_newest_is(monkeypatch: pytest.MonkeyPatch) -> None:
    held = HeldBack(JpegEncoder().encode)
    monkeypatch.setattr(JpegEncoder, "encode", lambda _, *given, **more: held(*given, **more))

    async def sent() -> tuple[list[int], int]:
        watching, timing = member("a", "jpeg"), FrameTiming()
        delivering = FrameSender(timing, lambda: [watching])
        first, *others = (shot(False, [], number) for number in range(5))
        tasks = [asyncio.create_task(delivering.encode_and_send(first))]
        await held.begun()
        tasks += [asyncio.create_task(delivering.encode_and_send(other)) for other in others]
        await asyncio.sleep(0)  # All of them wait for their turn before the first is finished.
        held.finish()
        await asyncio.gather(*tasks)
        delivering.close()
        return [revision(await watching.outbox.next()) for _ in range(len(watching.outbox))], timing.dropped

    assert asyncio.run(sent()) == ([0, 4], 3)


def test_a_jpeg_does_not_overtake_a_video_that_others_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    held = HeldBack(JpegEncoder().encode)
    encode = VideoEncoder.encode
    monkeypatch.setattr(VideoEncoder, "encode", lambda self, *given: encode(self, *given) if held(PIXELS) else None)

    async def sent() -> tuple[list[int], list[int], bool]:
        still, video = member("a", "jpeg"), member("b", "h264")
        delivering = FrameSender(FrameTiming(), lambda: [still, video])
        first, second = (shot(False, [], number) for number in range(2))
        tasks = [asyncio.create_task(delivering.encode_and_send(first))]
        await held.begun()
        tasks.append(asyncio.create_task(delivering.encode_and_send(second)))
        got = [revision(await still.outbox.next()) for _ in range(2)]
        held.finish()
        await asyncio.gather(*tasks)
        delivering.close()
        return got, [revision(await video.outbox.next()) for _ in range(len(video.outbox))], video.frames.needs_key

    assert asyncio.run(sent()) == ([0, 1], [0, 1], False)


def test_a_picture_that_was_never_encoded_leaves_no_gap_in_a_video() -> None:
    async def sent() -> tuple[int, int, bool]:
        watching, timing = member("a", "h264"), FrameTiming()
        delivering = FrameSender(timing, lambda: [watching])
        for _ in range(3):  # Two may be under way; the third comes before any is acknowledged.
            await delivering.encode_and_send(shot(False, []))
        delivering.close()
        return len(watching.outbox), timing.dropped, watching.frames.needs_key

    assert asyncio.run(sent()) == (2, 1, False)


def test_the_first_who_takes_video_has_it_made_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared: queue.Queue[str] = queue.Queue()
    monkeypatch.setattr(sender, "prepare_video", lambda: prepared.put(threading.current_thread().name))

    async def join() -> str:
        members = [member("a", "jpeg"), member("b", "h264"), member("c", "h264")]
        delivering = FrameSender(FrameTiming(), lambda: members)
        for one in members:
            delivering.resend_last(one)
        thread = await asyncio.to_thread(prepared.get, timeout=120)
        delivering.close()
        return thread

    assert asyncio.run(join()).startswith("pellucid-encode")
    assert prepared.empty()


def test_a_frame_that_cannot_be_video_is_sent_as_a_jpeg_and_the_next_is_video(monkeypatch: pytest.MonkeyPatch) -> None:
    encode, failures = VideoEncoder.encode, iter([True, False])

    def fail_first(self: VideoEncoder, *given: Any) -> Any:
        if next(failures):
            raise EncodingFailed("Operation not supported")
        return encode(self, *given)

    monkeypatch.setattr(VideoEncoder, "encode", fail_first)

    async def sent() -> list[str | bytes]:
        watching = member("a", "h264")
        delivering = FrameSender(FrameTiming(), lambda: [watching])
        for _ in range(2):
            await delivering.encode_and_send(shot(False, []))
        delivering.close()
        return [await watching.outbox.next() for _ in range(len(watching.outbox))]

    first, second = asyncio.run(sent())
    assert isinstance(first, bytes) and b'"jpeg"' in first
    assert isinstance(second, bytes) and b'"h264"' in second


def test_guests_get_a_key_frame_together_once_a_second() -> None:
    now = [100.0]
    owner, guests = member("owner", "h264"), [member(name, "h264") for name in "ab"]
    for guest in guests:
        guest.client = Client(guest.id, "", "view")
    watching = [owner, *guests]

    async def keys(count: int, needing: list[ConnectedClient]) -> int:
        """Of so many frames, those that are key frames, while these ask for one before each."""
        before = [one.encoded for one in sent]
        for _ in range(count):
            for one in needing:
                one.frames.needs_key = True
            await delivering.encode_and_send(shot(False, []))
            for one in watching:
                for number in list(one.frames._in_flight):
                    one.frames.acknowledge(Acknowledge(number))
        return sum(one.header.is_key for one in sent[len(before) :])

    sent: list[EncodedFrame[FrameHeader]] = []

    async def run() -> list[int]:
        await keys(1, watching)
        flood = await keys(5, guests)
        now[0] += GUEST_KEY_S
        later = await keys(5, guests)
        owners = await keys(3, [owner])
        delivering.close()
        return [flood, later, owners]

    delivering = FrameSender(FrameTiming(), lambda: watching, lambda: now[0])
    send = owner.frames.send

    def noted(image: EncodedFrame[FrameHeader]) -> bool:
        sent.append(image)
        return send(image)

    owner.frames.send = noted  # type: ignore[method-assign]
    assert asyncio.run(run()) == [0, 1, 3]
