"""The same without blocking: for programs that have an event loop.

Here: AsyncViewer and the twins of start and connect, each made from the blocking one, which runs on a thread meanwhile.
Not here: what they do (viewer, starting).

    viewer = await pellucid.start_async()
    await viewer.render_volume(array)
    picture = await viewer.screenshot(1920, 1080)
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from pellucid.client import starting
from pellucid.client.viewer import Viewer

Given = ParamSpec("Given")
Result = TypeVar("Result")


def _twin(
    method: "Callable[Concatenate[Viewer, Given], Result]",
) -> "Callable[Concatenate[AsyncViewer, Given], Coroutine[Any, Any, Result]]":
    @wraps(method)
    async def awaited(self: "AsyncViewer", /, *given: Given.args, **named: Given.kwargs) -> Result:
        return await asyncio.to_thread(method, self.viewer, *given, **named)

    return awaited


class AsyncViewer:
    """A Viewer whose calls are awaited. ``get`` and ``set`` stand for its attributes. viewer: the blocking one."""

    def __init__(self, viewer: Viewer) -> None:
        self.viewer = viewer

    @property
    def url(self) -> str:
        return self.viewer.url

    render_volume = _twin(Viewer.render_volume)
    render_points = _twin(Viewer.render_points)
    render_mesh = _twin(Viewer.render_mesh)
    load = _twin(Viewer.load)
    shade_with = _twin(Viewer.shade_with)
    change = _twin(Viewer.change)
    screenshot = _twin(Viewer.screenshot)
    picture = _twin(Viewer.picture)
    retrieve_volume = _twin(Viewer.retrieve_volume)
    wait = _twin(Viewer.wait)
    shutdown = _twin(Viewer.shutdown)

    async def get(self, name: str) -> Any:
        """What ``viewer.NAME`` is: scene, camera, layer, transfer, shading, links, is_running."""
        return await asyncio.to_thread(getattr, self.viewer, name)

    async def set(self, name: str, value: object) -> None:
        """``viewer.NAME = value``: scene, camera, layer, transfer, shading."""
        await asyncio.to_thread(setattr, self.viewer, name, value)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.shutdown()

    def __repr__(self) -> str:
        return f"Async{self.viewer!r}"


async def start_async(**options: Any) -> AsyncViewer:
    """As start, awaited."""
    started: Viewer = await asyncio.to_thread(lambda: starting.start(**{**options, "wait": True}))
    return AsyncViewer(started)


async def connect_async(url: str) -> AsyncViewer:
    """As connect, awaited."""
    return AsyncViewer(await asyncio.to_thread(starting.connect, url))
