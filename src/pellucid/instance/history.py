"""The Scene over time: its revision, undo and redo, and the scene beside it.

Here: History, which every change goes through.
Not here: what a change does to a scene (edits), telling anybody (session).
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pellucid.errors import InvalidInput
from pellucid.instance.edits import changed, sources
from pellucid.instance.protocol.parts import Change, View
from pellucid.rendering.camera import Camera
from pellucid.rendering.scene import Scene

MOST_STEPS = 200


@dataclass(frozen=True)
class Pair:
    """The scene, and the one beside it while two are compared."""

    scene: Scene
    other: Scene | None = None


class History:
    """Moving the camera makes no revision, and undo leaves it where it is; unless something else is shown then: what
    shares no source with what was shown comes back with the camera that it was left with."""

    def __init__(self, scene: Scene) -> None:
        self._now = Pair(scene)
        self.revision = 0
        self._before: deque[Pair] = deque(maxlen=MOST_STEPS)
        self._after: list[Pair] = []
        self._run = ""

    @property
    def pair(self) -> Pair:
        return self._now

    @property
    def scene(self) -> Scene:
        return self._now.scene

    @property
    def other(self) -> Scene | None:
        return self._now.other

    @property
    def can_undo(self) -> bool:
        return bool(self._before)

    @property
    def can_redo(self) -> bool:
        return bool(self._after)

    def begin(self, pair: Pair) -> None:
        """What there is at first: nothing can be undone."""
        self._now = pair

    def look(self, camera: Camera) -> None:
        self._now = _looking(self._now, camera)

    def require(self, revision: int) -> None:
        """Refuse what was meant for another revision."""
        if revision != self.revision:
            what = f"The scene has changed since: this is for revision {revision}, not {self.revision}."
            raise InvalidInput(what, do="Look at the scene as it is now, and change it again.")

    def patched(self, changes: Sequence[Change], view: View) -> Pair:
        """What the changes would lead to."""
        if view == "main":
            return replace(self._now, scene=changed(self._now.scene, changes))
        if self._now.other is None:
            raise InvalidInput("There is no other scene.", do="Begin to compare first.")
        return replace(self._now, other=changed(self._now.other, changes))

    def set(self, pair: Pair, run: str = "", is_last: bool = False) -> None:
        """Take this from now on. run: names a gesture, of which all changes are one step of undo; is_last ends it."""
        if not run or run != self._run:
            self._before.append(self._now)
        self._run = "" if is_last else run
        self._now = _looking(pair, pair.scene.camera)
        self._after.clear()
        self.revision += 1

    def forget(self, is_gone: Callable[[Pair], bool]) -> None:
        """There is no way back to these."""
        self._before = deque((pair for pair in self._before if not is_gone(pair)), maxlen=MOST_STEPS)
        self._after = [pair for pair in self._after if not is_gone(pair)]

    def undo(self) -> None:
        if not self._before:
            raise InvalidInput("There is nothing to undo.", do="Change something first.")
        self._after.append(self._now)
        self._go(self._before.pop())

    def redo(self) -> None:
        if not self._after:
            raise InvalidInput("There is nothing to do again.", do="Undo something first.")
        self._before.append(self._now)
        self._go(self._after.pop())

    def _go(self, pair: Pair) -> None:
        shown, wanted = sources(self._now.scene), sources(pair.scene)
        is_other = shown != wanted and shown.isdisjoint(wanted)
        self._now = _looking(pair, pair.scene.camera if is_other else self._now.scene.camera)
        self._run = ""
        self.revision += 1


def _looking(pair: Pair, camera: Camera) -> Pair:
    other = None if pair.other is None else replace(pair.other, camera=camera)
    return Pair(replace(pair.scene, camera=camera), other)
