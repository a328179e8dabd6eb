"""Frames in the right order, whatever takes long to encode."""

import asyncio
import threading
import time

import numpy as np
import pytest

from pellucid.instance import delivery
from pellucid.instance.delivery import Delivery, Shot
from pellucid.instance.encoding import encode_png
from pellucid.instance.members import Member
from pellucid.instance.protocol.parts import Client
from pellucid.instance.timing import Timing
from pellucid.rendering.camera import Camera

PIXELS = np.zeros((4, 6, 4), np.uint8)


def shot(is_exact: bool, released: list[bool]) -> Shot:
    def release() -> None:
        released.append(is_exact)

    return Shot(PIXELS, release, "main", 3, Camera(), (6, 4), is_exact, 1.0, 1.0, 2.0, 0.0, 85, time.perf_counter())


def held_back(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Encoding an exact picture takes until this is set."""
    may_finish, encode = threading.Event(), encode_png
    monkeypatch.setattr(delivery, "encode_png", lambda pixels: may_finish.wait(60) and encode(pixels))
    return may_finish


def test_who_comes_while_the_exact_picture_is_encoded_is_shown_it(monkeypatch: pytest.MonkeyPatch) -> None:
    may_finish = held_back(monkeypatch)

    async def shown() -> str | bytes:
        members: list[Member] = []
        delivering = Delivery(Timing(), lambda: members)
        exact = asyncio.create_task(delivering.deliver(shot(True, [])))
        await asyncio.sleep(0)
        late = Member(Client("a", "", "own"), (6, 4), ("jpeg",))
        delivering.show_last(late)
        members.append(late)
        may_finish.set()
        await exact
        delivering.close()
        return await asyncio.wait_for(late.outbox.next(), 60)

    sent = asyncio.run(shown())
    assert isinstance(sent, bytes) and b'"png"' in sent


def test_a_newer_picture_overtakes_one_that_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    may_finish, released = held_back(monkeypatch), list[bool]()

    async def both() -> tuple[int, Timing, str | bytes]:
        member, timing = Member(Client("a", "", "own"), (6, 4), ("jpeg",)), Timing()
        delivering = Delivery(timing, lambda: [member])
        exact = asyncio.create_task(delivering.deliver(shot(True, released)))
        await asyncio.sleep(0)
        await delivering.deliver(shot(False, released))
        may_finish.set()
        await exact
        delivering.close()
        sent = await member.outbox.next()
        return len(member.outbox), timing, sent

    left, timing, sent = asyncio.run(both())
    assert isinstance(sent, bytes) and b'"jpeg"' in sent
    assert (left, timing.dropped, released) == (0, 1, [False, True])
