"""What a link lets somebody do: look, steer or own.

Here: the order of the three, the tokens that stand for them, and the refusal.
Not here: reading tokens from requests (guard), which message or route needs what (protocol, routes).
"""

import hmac
import secrets
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field

from pellucid.errors import NotAllowed
from pellucid.instance.protocol.parts import Capability

RANKS: dict[Capability, int] = {"look": 0, "steer": 1, "own": 2}
MEANINGS: dict[Capability, str] = {
    "look": "looking",
    "steer": "looking and steering",
    "own": "everything",
}


BYTES = 24


def _token() -> str:
    return secrets.token_urlsafe(BYTES)


@dataclass(frozen=True)
class Tokens:
    """One secret for each capability; the others follow from the owner's, which cannot be found from them."""

    own: str = field(default_factory=_token)

    @property
    def look(self) -> str:
        return self.of("look")

    @property
    def steer(self) -> str:
        return self.of("steer")

    def of(self, capability: Capability) -> str:
        if capability == "own":
            return self.own
        derived = hmac.digest(self.own.encode(), capability.encode(), "sha256")
        return urlsafe_b64encode(derived[:BYTES]).decode()

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
