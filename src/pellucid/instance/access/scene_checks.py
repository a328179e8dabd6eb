"""Which clients may name which sources in a scene.

Here: check_sources: only the owner brings something new, and only what may be opened; check_change, for patches;
check_step_back, for undo; check_kinds: a layer's source is what the layer shows.
Not here: the folders that may be opened (roots), what each link allows (capabilities).
"""

from collections.abc import Collection, Mapping

from pellucid.errors import InvalidInput, NotAllowed, NotFound
from pellucid.formats.local_files import check_regular
from pellucid.instance.access.capabilities import require
from pellucid.instance.access.guest_limits import LAYER_LISTS, check_paths, check_scene_size, check_step, check_stretch
from pellucid.instance.protocol.shared_types import Capability
from pellucid.instance.scene.edits import name_of
from pellucid.instance.scene.history import ScenePair
from pellucid.instance.session import Session
from pellucid.instance.websocket.client import ConnectedClient
from pellucid.rendering.cinematic.options import BUILT_IN
from pellucid.rendering.scene import Scene

KINDS = {"volumes": "a volume", "points": "points", "meshes": "a mesh", "slices": "a volume"}


def check_change(session: Session, pair: ScenePair, capability: Capability) -> ScenePair:
    """Refuse a scene that a patch must not lead to: too long, or naming what it may not."""
    now = session.history
    check_scene_size(pair.scene, now.scene, capability)
    check_step(pair.scene, now.scene, capability)
    check_stretch(pair.scene, now.scene, capability)
    check_paths(pair.scene, now.scene, capability)
    if pair.other is not None:
        check_scene_size(pair.other, now.other or now.scene, capability)
        check_step(pair.other, now.other or now.scene, capability)
        check_stretch(pair.other, now.other or now.scene, capability)
        check_paths(pair.other, now.other or now.scene, capability)
    if shadings_named(pair) - shadings_named(now.pair):
        require(capability, "own")
    return check_sources(session, pair, capability)


def check_step_back(pair: ScenePair, member: ConnectedClient) -> None:
    """Refuse an undo or redo that would show a guest what the owner had closed before the guest came."""
    if not member.requester.is_owner and pair.sources - member.seen_sources:
        what = "This step leads to a file that was closed before you opened this page."
        raise NotAllowed(what, remedy="Ask the owner to open the file again.")


def shadings_named(pair: ScenePair) -> set[str]:
    """The hashes of users' shadings that two scenes name."""
    return {layer.user_shading for scene in _scenes(pair) for layer in scene.volumes if layer.user_shading}


def environments_named(pair: ScenePair) -> set[str]:
    """The files that two scenes take light from."""
    return {scene.cinematic.environment for scene in _scenes(pair)} - set(BUILT_IN)


def check_kinds(pair: ScenePair, kinds_by_source: Mapping[str, Collection[str]]) -> None:
    """Refuse a layer whose source is something else than the layer shows. kinds_by_source: the lists of layers that
    a source can be in; one that is not there is not checked."""
    for kind in LAYER_LISTS:
        for source in (layer.source for scene in _scenes(pair) for layer in getattr(scene, kind)):
            if source in kinds_by_source and kind not in kinds_by_source[source]:
                what = f"{name_of(source)} is not {KINDS[kind]}."
                raise InvalidInput(what, remedy=f"Choose a file with {KINDS[kind]}, or use another kind of layer.")


def _scenes(pair: ScenePair) -> tuple[Scene, ...]:
    return (pair.scene,) if pair.other is None else (pair.scene, pair.other)


def check_sources(session: Session, pair: ScenePair, capability: Capability) -> ScenePair:
    """Refuse a scene that names something else than the present one, unless it comes from the owner and may be."""
    for source in pair.sources - session.history.pair.sources:
        require(capability, "own")
        if not source.startswith("memory:"):
            session.roots.require_allowed(source)
        elif not session.catalogue.has(source):
            raise InvalidInput(f"{source} was an in-memory array of another viewer.", remedy="Send the array again.")
    for environment in environments_named(pair) - environments_named(session.history.pair):
        require(capability, "own")
        session.roots.require_allowed(environment)
        try:
            check_regular(environment)
        except OSError:
            raise NotFound(environment) from None
    return pair
