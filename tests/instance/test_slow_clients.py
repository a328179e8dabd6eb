"""What a client is sent when it is slow."""

import asyncio
import json
from dataclasses import replace

from pellucid.instance.frames.flow_control import MAX_IN_FLIGHT
from pellucid.instance.protocol.client_messages import Acknowledge
from pellucid.instance.protocol.codec import EncodedFrame
from pellucid.instance.protocol.server_messages import FrameHeader, LayerList
from pellucid.instance.protocol.shared_types import Client, StageTimes
from pellucid.instance.websocket.client import ConnectedClient
from pellucid.rendering.camera import Camera

HEADER = FrameHeader(1, "main", 0, Camera(), 4, 4, 4, 4, "jpeg", False, 1.0, StageTimes(0, 0, 0), 0.0, 0.0)


def still(number: int) -> EncodedFrame[FrameHeader]:
    return EncodedFrame(replace(HEADER, number=number), b"")


def video(number: int, is_key: bool) -> EncodedFrame[FrameHeader]:
    return EncodedFrame(replace(HEADER, number=number, encoding="h264", is_key=is_key), b"")


def member() -> ConnectedClient:
    return ConnectedClient(Client("a", "", "own"), (4, 4), ("jpeg",))


def test_of_the_stills_that_wait_only_the_newest_is_sent() -> None:
    slow = member()
    assert [slow.frames.send(still(number)) for number in range(5)] == [True] * MAX_IN_FLIGHT + [False] * 3
    assert slow.frames.acknowledge(Acknowledge(0)) is not None
    assert not slow.frames.can_send  # 4 went out, 2 and 3 never will.
    assert slow.frames.acknowledge(Acknowledge(3)) is None
    assert slow.frames.acknowledge(Acknowledge(4)) is not None


def test_after_a_gap_video_needs_a_key_frame() -> None:
    slow = member()
    assert slow.frames.send(video(0, is_key=False)) is False
    assert slow.frames.send(video(1, is_key=True)) and slow.frames.send(video(2, is_key=False))
    assert slow.frames.send(video(3, is_key=False)) is False and slow.frames.needs_key
    slow.frames.acknowledge(Acknowledge(1))
    assert slow.frames.send(video(4, is_key=False)) is False
    assert slow.frames.send(video(5, is_key=True)) and not slow.frames.needs_key


def test_the_outbox_keeps_the_order() -> None:
    async def all_of_it() -> list[str | bytes]:
        sender = member()
        sender.frames.send(still(7))
        sender.frames.send(still(8))
        return [await sender.outbox.next(), await sender.outbox.next()]

    first, second = asyncio.run(all_of_it())
    assert isinstance(first, bytes) and b'"number": 7' in first
    assert isinstance(second, bytes) and b'"number": 8' in second


def test_descriptions_of_two_scenes_side_by_side_both_arrive() -> None:
    """And of each scene only the latest."""

    async def all_of_it() -> list[str | bytes]:
        outbox = member().outbox
        for view in ("main", "other", "main"):
            outbox.put(LayerList((), (), (), 0, view))
        return [await outbox.next() for _ in range(len(outbox))]

    assert [json.loads(text)["view"] for text in asyncio.run(all_of_it())] == ["other", "main"]
