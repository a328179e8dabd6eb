"""Who may make a scene name what.

Here: check_sources: only the owner brings something new, and only what may be opened; check_change, for patches.
Not here: the folders that may be opened (files), what each link allows (capabilities).
"""

from pellucid.errors import InvalidInput
from pellucid.instance.capabilities import require
from pellucid.instance.edits import sources
from pellucid.instance.guest_limits import check_scene_size
from pellucid.instance.history import Pair
from pellucid.instance.protocol.parts import Capability
from pellucid.instance.session import Session


def named(pair: Pair) -> set[str]:
    """Everything that two scenes name."""
    return sources(pair.scene) | (sources(pair.other) if pair.other else set())


def check_change(session: Session, pair: Pair, capability: Capability) -> Pair:
    """Refuse a scene that a patch must not lead to: too long, or naming what it may not."""
    now = session.history
    check_scene_size(pair.scene, now.scene, capability)
    if pair.other is not None:
        check_scene_size(pair.other, now.other or now.scene, capability)
    return check_sources(session, pair, capability)


def check_sources(session: Session, pair: Pair, capability: Capability) -> Pair:
    """Refuse a scene that names something else than the present one, unless it comes from the owner and may be."""
    before = named(Pair(session.history.scene, session.history.other))
    for source in named(pair) - before:
        require(capability, "own")
        if not source.startswith("memory:"):
            session.roots.checked(source)
        elif not session.catalogue.has(source):
            raise InvalidInput(f"{source} was in the memory of another viewer.", do="Hand the array over again.")
    return pair
