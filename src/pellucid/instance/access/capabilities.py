"""The capabilities of a link: view, control or own.

Here: the order of the three, and the refusal.
Not here: the secrets that stand for them (sessions), which message or route needs what (protocol, routes).
"""

from pellucid.errors import NotAllowed
from pellucid.instance.protocol.shared_types import Capability

RANKS: dict[Capability, int] = {"view": 0, "control": 1, "own": 2}
MEANINGS: dict[Capability, str] = {
    "view": "viewing",
    "control": "viewing and control",
    "own": "everything",
}


def allows(has: Capability, needs: Capability) -> bool:
    """Whether the one includes the other.

    >>> allows("own", "control"), allows("view", "control")
    (True, False)
    """
    return RANKS[has] >= RANKS[needs]


def require(has: Capability, needs: Capability) -> None:
    if not allows(has, needs):
        raise NotAllowed(
            f"This link is for {MEANINGS[has]}; this request needs one for {MEANINGS[needs]}.",
            remedy="Ask the person who started the viewer for another link.",
        )
