"""What a link lets somebody do: look, steer or own.

Here: the order of the three, the tokens that stand for them, and the refusal.
Not here: reading tokens from requests (guard), which message or route needs what (protocol, routes).
"""

import secrets
from dataclasses import dataclass, field

from pellucid.errors import NotAllowed
from pellucid.instance.protocol.parts import Capability

RANKS: dict[Capability, int] = {"look": 0, "steer": 1, "own": 2}
MEANINGS: dict[Capability, str] = {
    "look": "looking",
    "steer": "looking and steering",
    "own": "everything",
}


def _token() -> str:
    return secrets.token_urlsafe(24)


@dataclass(frozen=True)
class Tokens:
    """One secret for each capability."""

    look: str = field(default_factory=_token)
    steer: str = field(default_factory=_token)
    own: str = field(default_factory=_token)

    def of(self, capability: Capability) -> str:
        return {"look": self.look, "steer": self.steer, "own": self.own}[capability]

    def capability(self, given: str) -> Capability | None:
        """What a token stands for; every comparison takes the same time, whatever was given."""
        matches = [one for one in RANKS if secrets.compare_digest(given.encode(), self.of(one).encode())]
        return matches[0] if matches else None


def allows(has: Capability, needs: Capability) -> bool:
    """Whether the one includes the other.

    >>> allows("own", "steer"), allows("look", "steer")
    (True, False)
    """
    return RANKS[has] >= RANKS[needs]


def require(has: Capability, needs: Capability) -> None:
    if not allows(has, needs):
        raise NotAllowed(
            f"This link is for {MEANINGS[has]}; that needs one for {MEANINGS[needs]}.",
            do="Ask whoever started the viewer for another link.",
        )
