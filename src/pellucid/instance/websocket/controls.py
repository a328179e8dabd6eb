"""The connected clients, and which of them has the controls.

Here: Controls: joining, leaving, asking, giving.
Not here: what the controls control (session).
"""

from pellucid.errors import InvalidInput, NotAllowed
from pellucid.instance.access.capabilities import allows
from pellucid.instance.protocol import server_messages
from pellucid.instance.protocol.shared_types import Capability, Client


class Controls:
    """One client at most has the controls; who may only look never has."""

    def __init__(self) -> None:
        self._clients: dict[str, Client] = {}
        self._holder: str | None = None
        self._asking: list[str] = []

    @property
    def holder(self) -> str | None:
        return self._holder

    def message(self) -> server_messages.ControlsStatus:
        return server_messages.ControlsStatus(tuple(self._clients.values()), self._holder, tuple(self._asking))

    def join(self, client: Client) -> None:
        """A new client with the capability control gets the controls if they are free."""
        self._clients[client.id] = client
        if self._holder is None and allows(client.capability, "control"):
            self._holder = client.id

    def leave(self, id: str) -> None:
        """The controls go to who asked first."""
        self._clients.pop(id, None)
        self._asking = [one for one in self._asking if one != id]
        if self._holder == id:
            self._hand(self._asking[0] if self._asking else None)

    def require(self, id: str) -> bool:
        """Refuse who has not got the controls; free ones are taken by who needs them. Whether they changed hands."""
        if self._holder == id:
            return False
        if self._holder is not None:
            raise self._refusal(self._holder)
        self._hand(id)
        return True

    def _refusal(self, holder: str) -> NotAllowed:
        name = self._clients[holder].name or "Another user"
        return NotAllowed(
            f"{name} has the controls.", remedy="Request the controls and wait until they are handed over."
        )

    def require_free(self, capability: Capability) -> None:
        """For programs, which are not clients: the owner's always may, others while the controls are free."""
        if self._holder is not None and not allows(capability, "own"):
            raise self._refusal(self._holder)

    def request(self, id: str) -> None:
        if self._holder is None or allows(self._clients[id].capability, "own"):
            self._hand(id)
        elif id != self._holder and id not in self._asking:
            self._asking.append(id)

    def hand_over(self, id: str, to: str | None) -> None:
        """By who has them, or owns."""
        if id != self._holder and not allows(self._clients[id].capability, "own"):
            raise NotAllowed("You do not have the controls.", remedy="Request the controls.")
        if to is not None and to not in self._clients:
            raise InvalidInput("That client has disconnected.", remedy="Choose a connected client.")
        if to is not None and not allows(self._clients[to].capability, "control"):
            raise NotAllowed("That client may only view.", remedy="Send them a link for control.")
        self._hand(to)

    def _hand(self, to: str | None) -> None:
        self._holder = to
        self._asking = [one for one in self._asking if one != to]
