"""Who paints next, and painted voxels that follow the scene.

Here: PaintingTurns.
Not here: painting (painting), the states of painted volumes (painting_history).
"""

import asyncio
from collections.abc import Callable, Iterable
from weakref import WeakValueDictionary

from pellucid.box import Box
from pellucid.instance.scene.painting_history import PaintedVolumes
from pellucid.rendering.scene import Scene

MAX_VOXELS_AT_ONCE = 2**20
"""More are brought to another state beside the event loop."""


class PaintingTurns:
    """Each user has one path of the brush at a time, and voxels change for one user at a time: the paths of others wait
    for the one that is being painted, not for all that a client has sent. All methods are called on the event loop."""

    def __init__(
        self, painted: PaintedVolumes, scene: Callable[[], Scene], on_changed: Callable[[str, Iterable[Box]], None]
    ) -> None:
        self._painted, self._scene, self._on_changed = painted, scene, on_changed
        self._users: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._following: asyncio.Task[None] | None = None
        self.voxels = asyncio.Lock()

    def of(self, user: str) -> asyncio.Lock:
        return self._users.setdefault(user, asyncio.Lock())

    def follow(self) -> None:
        """Bring painted voxels to the states that the scene names: at once where that is quick."""
        steps = self._painted.voxels_to_change(self._scene())
        if steps == 0 or (self._following is not None and not self._following.done()):
            return
        if steps <= MAX_VOXELS_AT_ONCE and not self.voxels.locked():
            self._announce(self._painted.follow(self._scene()))
        else:
            self._following = asyncio.get_running_loop().create_task(self._follow())

    async def followed(self) -> None:
        """Wait until they have these states."""
        if self._following is not None:
            await asyncio.shield(self._following)

    async def _follow(self) -> None:
        async with self.voxels:
            while self._painted.voxels_to_change(self._scene()):
                self._announce(await asyncio.to_thread(self._painted.follow, self._scene()))

    def _announce(self, changed: dict[str, list[Box]]) -> None:
        for source, boxes in changed.items():
            self._on_changed(source, boxes)
