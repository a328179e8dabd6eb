"""How often other users and machines may ask for what needs no access.

Here: PeerRates.
Not here: whose a connection is (transport.peer_user), what guests may do (guest_limits, route_rules).
"""

import time
from collections.abc import Callable

from pellucid.instance.websocket.message_rates import Rate
from pellucid.transport.peer_user import Peer

MAX_PER_SECOND = 100
"""Of each user and machine. A page needs ten until it has a session."""
MAX_WAIT_S = 5.0
"""Those that would have to wait longer are refused."""
MAX_PEERS = 256


class PeerRates:
    """Each user of this machine and each other machine waits for itself alone; programs of this user never wait.

    >>> rates = PeerRates(per_second=1, clock=lambda: 0.0)
    >>> [rates.wait_s(Peer(None, "10.0.0.1")) for _ in range(7)], rates.wait_s(Peer(None, "10.0.0.2"))
    ([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, None], 0.0)
    """

    def __init__(self, per_second: float = MAX_PER_SECOND, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second, self._clock = per_second, clock
        self._rates: dict[Peer, Rate] = {}

    def wait_s(self, peer: Peer) -> float | None:
        """Take a turn: the seconds until it comes; None where there are too many before it."""
        if peer.is_this_user:
            return 0.0
        if peer not in self._rates and len(self._rates) >= MAX_PEERS:
            self._rates = {one: rate for one, rate in self._rates.items() if rate.debt_s > 0}
        rate = self._rates.setdefault(peer, Rate(self._per_second, self._clock))
        return rate.take() if rate.debt_s <= MAX_WAIT_S else None
