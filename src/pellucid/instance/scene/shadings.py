"""The custom shadings of an instance: compiled, waiting for approval, or faulty.

Here: Shadings: which are there, what is drawn instead of one that is not, whom to blame for a lost Worker.
Not here: compiling (workers), asking the owner (session).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pellucid.errors import InvalidInput
from pellucid.instance.protocol.server_messages import ShadingList as ShadingsMessage
from pellucid.instance.protocol.shared_types import Shading
from pellucid.rendering.scene import Scene, ShadingName, VolumeLayer
from pellucid.rendering.user_shading import UserShading

MAX_REMEMBERED = 16


@dataclass(frozen=True)
class LayerShading:
    """How a layer is lit."""

    shading: ShadingName = "gradient"
    user_shading: str = ""
    parameters: tuple[tuple[str, float], ...] = ()

    @classmethod
    def of(cls, layer: VolumeLayer) -> "LayerShading":
        return cls(layer.shading, layer.user_shading, layer.parameters)

    def on(self, layer: VolumeLayer) -> VolumeLayer:
        return replace(layer, shading=self.shading, user_shading=self.user_shading, parameters=self.parameters)


class Shadings:
    """Shadings by hash. Those of a saved state from elsewhere wait until an owner approves them."""

    def __init__(self) -> None:
        self._made: dict[str, Shading] = {}
        self._waiting: dict[str, Shading] = {}
        self._good: list[LayerShading] = []

    def message(self, is_owner: bool) -> ShadingsMessage:
        every = (*self._made.values(), *self._waiting.values())
        return ShadingsMessage(tuple(one if is_owner else replace(one, source="") for one in every))

    def sources(self, scene: Scene) -> dict[str, str]:
        """The sources of what a scene names, by hash."""
        named = {layer.user_shading for layer in scene.volumes if layer.shading == "user"}
        known = self._made | self._waiting
        return {hash: known[hash].source for hash in sorted(named) if hash in known}

    def add_compiled(self, source: str) -> None:
        """It was compiled."""
        shading = UserShading(source)
        self._waiting.pop(shading.hash, None)
        self._made[shading.hash] = Shading(shading.hash, source, shading.parameters, is_waiting=False)

    def add_received(self, source: str) -> None:
        """It came with a state from elsewhere."""
        shading = UserShading(source)
        if shading.hash not in self._made:
            self._waiting[shading.hash] = Shading(shading.hash, source, shading.parameters, is_waiting=True)

    def pending_approval(self, hash: str) -> str:
        """The source of one that waits."""
        if hash not in self._waiting:
            raise InvalidInput("No shading with this hash waits for approval.", remedy="Reload the list of shadings.")
        return self._waiting[hash].source

    def drawable(self, scene: Scene) -> Scene:
        """The scene, with the plain light where it names a shading that is not compiled."""
        layers = tuple(
            replace(layer, shading="gradient", user_shading="", parameters=())
            if layer.shading == "user" and layer.user_shading not in self._made
            else layer
            for layer in scene.volumes
        )
        return scene if layers == scene.volumes else replace(scene, volumes=layers)

    def were_drawn(self, scenes: Iterable[Scene]) -> None:
        """Their shadings did no harm."""
        for look in (LayerShading.of(layer) for scene in scenes for layer in scene.volumes):
            self._good = [*(one for one in self._good if one != look), look][-MAX_REMEMBERED:]

    def last_drawn_shading(self, scenes: Iterable[Scene]) -> str | None:
        """The user's shading to blame when drawing these failed: rather one that never came to an end."""
        good = {look.user_shading for look in self._good}
        suspects = [layer.user_shading for scene in scenes for layer in scene.volumes if layer.shading == "user"]
        return next((hash for hash in suspects if hash not in good), suspects[0] if suspects else None)

    def without_shading(self, scene: Scene, hash: str) -> Scene:
        """The scene with the last good light instead of this shading, which is forgotten."""
        self._made.pop(hash, None)
        self._good = [look for look in self._good if look.user_shading != hash]
        last = self._good[-1] if self._good else LayerShading()
        layers = tuple(last.on(layer) if layer.user_shading == hash else layer for layer in scene.volumes)
        return replace(scene, volumes=layers)
