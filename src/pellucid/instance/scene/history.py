"""The Scene over time: its revision, undo and redo, and the compared scene.

Here: History, which every change goes through.
Not here: what a change does to a scene (edits), telling anyone (session).
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pellucid.errors import InvalidInput, SceneChanged
from pellucid.instance.protocol.shared_types import Arrangement, Change, View
from pellucid.instance.scene.edits import sources, with_changes
from pellucid.rendering.camera import Camera
from pellucid.rendering.scene import Scene

MAX_STEPS = 200


@dataclass(frozen=True)
class ScenePair:
    """The scene, and the one beside it while two are compared."""

    scene: Scene
    other: Scene | None = None

    @property
    def sources(self) -> set[str]:
        """Everything that the scenes name."""
        return sources(self.scene) | (sources(self.other) if self.other else set())


class History:
    """Moving the camera makes no revision, and undo leaves it where it is; unless something else is shown then: what
    shares no source with what was shown comes back with the camera that it was left with. arrangement: of the images of
    two scenes; no step of undo either."""

    def __init__(self, scene: Scene) -> None:
        self._now = ScenePair(scene)
        self.revision = 0
        self._before: deque[ScenePair] = deque(maxlen=MAX_STEPS)
        self._after: list[ScenePair] = []
        self._run = ""
        self.arrangement: Arrangement = "beside"

    @property
    def pair(self) -> ScenePair:
        return self._now

    @property
    def scene(self) -> Scene:
        return self._now.scene

    @property
    def other(self) -> Scene | None:
        return self._now.other

    @property
    def columns(self) -> int:
        """How many images stand side by side."""
        return 2 if self.other is not None and self.arrangement == "beside" else 1

    @property
    def can_undo(self) -> bool:
        return bool(self._before)

    @property
    def can_redo(self) -> bool:
        return bool(self._after)

    def begin(self, pair: ScenePair) -> None:
        """What there is at first: nothing can be undone."""
        self._now = pair

    def set_camera(self, camera: Camera) -> None:
        self._now = _looking(self._now, camera)

    def require(self, revision: int) -> None:
        """Refuse what was meant for another revision."""
        if revision != self.revision:
            raise SceneChanged(revision, self.revision)

    def patched(self, changes: Sequence[Change], view: View) -> ScenePair:
        """What the changes would lead to."""
        if view == "main":
            return replace(self._now, scene=with_changes(self._now.scene, changes))
        if self._now.other is None:
            raise InvalidInput("No second scene is shown.", remedy="Start comparing first.")
        return replace(self._now, other=with_changes(self._now.other, changes))

    def set(self, pair: ScenePair, run: str = "", is_last: bool = False) -> None:
        """Take this from now on. run: names a gesture, of which all changes are one step of undo; is_last ends it."""
        if not run or run != self._run:
            self._before.append(self._now)
        self._run = "" if is_last else run
        self._now = _looking(pair, pair.scene.camera)
        self._after.clear()
        self.revision += 1

    def forget(self, is_gone: Callable[[ScenePair], bool]) -> None:
        """There is no way back to these."""
        self._before = deque((pair for pair in self._before if not is_gone(pair)), maxlen=MAX_STEPS)
        self._after = [pair for pair in self._after if not is_gone(pair)]

    @property
    def previous(self) -> ScenePair:
        """What undo leads to."""
        if not self._before:
            raise InvalidInput("Nothing to undo.", remedy="Change something first.")
        return self._before[-1]

    @property
    def next(self) -> ScenePair:
        """What redo leads to."""
        if not self._after:
            raise InvalidInput("Nothing to redo.", remedy="Undo something first.")
        return self._after[-1]

    def undo(self) -> None:
        pair = self.previous
        self._before.pop()
        self._after.append(self._now)
        self._go(pair)

    def redo(self) -> None:
        pair = self.next
        self._after.pop()
        self._before.append(self._now)
        self._go(pair)

    def _go(self, pair: ScenePair) -> None:
        shown, wanted = sources(self._now.scene), sources(pair.scene)
        is_other = shown != wanted and shown.isdisjoint(wanted)
        self._now = _looking(pair, pair.scene.camera if is_other else self._now.scene.camera)
        self._run = ""
        self.revision += 1


def _looking(pair: ScenePair, camera: Camera) -> ScenePair:
    other = None if pair.other is None else replace(pair.other, camera=camera)
    return ScenePair(replace(pair.scene, camera=camera), other)
