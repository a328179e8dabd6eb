"""Requests whose connection ends before their work: painting stops."""

import asyncio
import threading
from dataclasses import dataclass, field

import pytest
from fastapi import HTTPException, Request

from pellucid.box import Box
from pellucid.errors import Cancelled
from pellucid.formats.protocol import Spacing, Voxels
from pellucid.instance.routes.dependencies import while_connected
from pellucid.instance.scene import painting
from pellucid.volume.brush import BrushPath
from tests.waiting import TIMEOUT_S


class Connection:
    """A request whose body was read. gone: whether its connection has ended."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()
        self.request = Request({"type": "http", "headers": []}, self.receive)

    async def receive(self) -> dict[str, str]:
        await self.gone.wait()
        return {"type": "http.disconnect"}


@dataclass(frozen=True)
class LongPath(BrushPath):
    """One that takes until it is cancelled."""

    began: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    def mask(self, spacing: Spacing, box: Box, cancel: threading.Event | None = None) -> Voxels:
        self.began.set()
        assert cancel is not None and cancel.wait(TIMEOUT_S)
        self.ended.set()
        raise Cancelled("Painting")


def test_the_result_of_work_is_the_answer_and_its_errors_are_errors() -> None:
    async def three() -> int:
        return 3

    async def failing() -> None:
        raise Cancelled("It")

    async def run() -> None:
        connection = Connection()
        assert await while_connected(connection.request, three()) == 3
        with pytest.raises(Cancelled):
            await while_connected(connection.request, failing())

    asyncio.run(run())


def test_a_path_of_the_brush_ends_with_its_connection() -> None:
    async def run(path: LongPath) -> None:
        connection = Connection()
        brush = painting.Brush(path, (1.0, 1.0, 1.0), Box.whole((3, 3, 3)))
        request = asyncio.create_task(while_connected(connection.request, painting.touched(brush)))
        assert await asyncio.to_thread(path.began.wait, TIMEOUT_S)
        connection.gone.set()
        with pytest.raises(HTTPException):
            await request
        assert await asyncio.to_thread(path.ended.wait, TIMEOUT_S)

    asyncio.run(run(LongPath(((1.0, 1.0, 1.0),), 1.0)))
