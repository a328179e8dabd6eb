"""The asynchronous version, for programs that have an event loop.

Here: AsyncViewer, AsyncStream and the twins of start and connect, each made from the blocking one, which runs on a
thread meanwhile.
Not here: what they do (viewer, launch).

    viewer = await pellucid.start_async()
    await viewer.render_volume(array)
    image = await viewer.screenshot(1920, 1080)
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import wraps
from threading import Event
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from pellucid.client import launch
from pellucid.client.viewer import Viewer
from pellucid.formats.protocol import Spacing, Voxels
from pellucid.transport.streams import StreamWriter

Given = ParamSpec("Given")
Result = TypeVar("Result")


def _twin(
    method: "Callable[Concatenate[Viewer, Given], Result]",
) -> "Callable[Concatenate[AsyncViewer, Given], Coroutine[Any, Any, Result]]":
    @wraps(method)
    async def awaited(self: "AsyncViewer", /, *given: Given.args, **named: Given.kwargs) -> Result:
        return await asyncio.to_thread(method, self.viewer, *given, **named)

    return awaited


class AsyncStream:
    """A StreamWriter whose methods are awaited; for ``async with``. writer: the blocking one."""

    def __init__(self, writer: StreamWriter) -> None:
        self.writer = writer

    async def append(self, slices: Voxels) -> None:
        """Send one slice (y, x), or several (z, y, x), after the previous ones."""
        await asyncio.to_thread(self.writer.append, slices)

    async def write(self, block: Voxels, start: Sequence[int] = (0, 0, 0)) -> None:
        """Send a block whose first voxel is at ``start`` (z, y, x)."""
        await asyncio.to_thread(self.writer.write, block, start)

    async def close(self) -> None:
        """Wait until everything has arrived."""
        await asyncio.to_thread(self.writer.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.writer.__exit__, kind, error, traceback)


class AsyncViewer:
    """A Viewer whose methods are awaited. ``get`` and ``set`` replace its attributes. viewer: the blocking one."""

    def __init__(self, viewer: Viewer) -> None:
        self.viewer = viewer

    @property
    def url(self) -> str:
        return self.viewer.url

    async def render_volume(self, volume: object, spacing: Spacing | None = None, **more: Any) -> None:
        """Like Viewer.render_volume; cancelling the task stops the transfer."""
        cancel = more.setdefault("cancel", Event())
        try:
            await asyncio.to_thread(self.viewer.render_volume, volume, spacing, **more)
        except asyncio.CancelledError:
            cancel.set()
            raise

    async def stream(
        self, shape: Sequence[int], dtype: Any, spacing: Spacing | None = None, **more: Any
    ) -> AsyncStream:
        """Like Viewer.stream, with a writer whose methods are awaited."""
        return AsyncStream(await asyncio.to_thread(self.viewer.stream, shape, dtype, spacing, **more))

    allocate = _twin(Viewer.allocate)
    render_points = _twin(Viewer.render_points)
    render_mesh = _twin(Viewer.render_mesh)
    load = _twin(Viewer.load)
    render_field = _twin(Viewer.render_field)
    shade_with = _twin(Viewer.shade_with)
    change = _twin(Viewer.change)
    fit_camera = _twin(Viewer.fit_camera)
    restore_first_view = _twin(Viewer.restore_first_view)
    use_preset = _twin(Viewer.use_preset)
    probe = _twin(Viewer.probe)
    screenshot = _twin(Viewer.screenshot)
    screenshot_png = _twin(Viewer.screenshot_png)
    retrieve_volume = _twin(Viewer.retrieve_volume)
    wait = _twin(Viewer.wait)
    shutdown = _twin(Viewer.shutdown)

    async def get(self, name: str) -> Any:
        """The value of ``viewer.NAME``: scene, camera, layer, transfer, value_range, shading, links, last_transfer,
        is_running."""
        return await asyncio.to_thread(getattr, self.viewer, name)

    async def set(self, name: str, value: object) -> None:
        """``viewer.NAME = value``: scene, camera, layer, transfer, value_range, shading."""
        await asyncio.to_thread(setattr, self.viewer, name, value)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.shutdown()

    def __repr__(self) -> str:
        return f"Async{self.viewer!r}"


async def start_async(**options: Any) -> AsyncViewer:
    """Like start, but awaited."""
    started: Viewer = await asyncio.to_thread(lambda: launch.start(**{**options, "wait": True}))
    return AsyncViewer(started)


async def connect_async(url: str) -> AsyncViewer:
    """Like connect, but awaited."""
    return AsyncViewer(await asyncio.to_thread(launch.connect, url))
