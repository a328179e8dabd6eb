"""How often a client may send each kind of message.

Here: the rates, Rate, and MessageLimiter, which delays what comes too often.
Not here: what the messages do (handlers), how large they may be (protocol.shared_types, guest_limits).

Of messages in LATEST_WINS those that come too often are replaced by the next; for the others the connection is not read
until it is their turn. Either way only the client that sends too much waits.
"""

import time
from collections.abc import Callable
from typing import Protocol

from pellucid.errors import InvalidInput
from pellucid.instance.protocol import client_messages
from pellucid.instance.protocol.shared_types import MAX_MESSAGE_BYTES, Capability

MAX_PER_SECOND: dict[type[client_messages.Incoming], float] = {
    client_messages.Prove: 1,
    client_messages.Hello: 1,
    client_messages.Resize: 10,
    client_messages.SetCamera: 120,
    client_messages.Patch: 60,
    client_messages.Undo: 20,
    client_messages.Redo: 20,
    client_messages.Compare: 10,
    client_messages.Arrange: 10,
    client_messages.Slices: 120,
    client_messages.ShowSlices: 60,
    client_messages.Probe: 30,
    client_messages.ProbeSlice: 30,
    client_messages.Acknowledge: 240,
    client_messages.AcknowledgeSlice: 480,
    client_messages.RequestKeyFrame: 2,
    client_messages.RequestControls: 5,
    client_messages.HandOverControls: 5,
    client_messages.KeepAlive: 5,
    client_messages.CancelTask: 10,
    client_messages.SaveDraft: 30,
}
MAX_MESSAGES_PER_SECOND: dict[Capability, float] = {"view": 300, "control": 500, "own": 1000}
"""Of all kinds together, also of those that cannot be read."""
COUNTED_BYTES = 512
"""A message counts once more for each of these: reading a long one takes as much time as reading many."""
MAX_VIEW_BYTES = 4096
"""Of a message of those who may only view; what they send is short."""
LATEST_WINS = (
    client_messages.Resize,
    client_messages.SetCamera,
    client_messages.Slices,
    client_messages.ShowSlices,
    client_messages.Probe,
    client_messages.ProbeSlice,
    client_messages.RequestKeyFrame,
)

Clock = Callable[[], float]


class Timer(Protocol):
    def cancel(self) -> None: ...


CallLater = Callable[[float, Callable[[], None]], Timer]


class Rate:
    """A limit per second on average; as many as are allowed in a second may come at once.

    >>> rate = Rate(2, clock=lambda: 0.0)
    >>> [rate.take() for _ in range(4)]
    [0.0, 0.0, 0.5, 1.0]
    """

    def __init__(self, per_second: float, clock: Clock = time.monotonic) -> None:
        self._interval_s, self._slack_s, self._clock = 1 / per_second, 1 - 1 / per_second, clock
        self._next_at = float("-inf")

    @property
    def debt_s(self) -> float:
        """The seconds until the next turn comes."""
        return max(0.0, self._next_at - self._slack_s - self._clock())

    def take(self, count: int = 1) -> float:
        """Take a turn, or as many as one large thing counts for; the seconds until it comes."""
        now = self._clock()
        turn_at = max(self._next_at, now)
        self._next_at = turn_at + count * self._interval_s
        return max(0.0, turn_at - self._slack_s - now)


class MessageLimiter:
    """Of one client. act: does what a message says."""

    def __init__(
        self,
        capability: Capability,
        act: Callable[[client_messages.Incoming], None],
        call_later: CallLater,
        clock: Clock = time.monotonic,
    ) -> None:
        self._act, self._call_later = act, call_later
        self._max_length = MAX_VIEW_BYTES if capability == "view" else MAX_MESSAGE_BYTES
        self._all = Rate(MAX_MESSAGES_PER_SECOND[capability], clock)
        self._rates = {kind: Rate(per_second, clock) for kind, per_second in MAX_PER_SECOND.items()}
        self._deferred: dict[type[client_messages.Incoming], client_messages.Incoming] = {}
        self._timers: dict[type[client_messages.Incoming], Timer] = {}

    def wait_s(self, length: int = 0) -> float:
        """How long to wait before a message that came, with so many characters, is even read."""
        return self._all.take(1 + length // COUNTED_BYTES)

    def check(self, length: int) -> None:
        """Refuse a message that is longer than anything that this client may send, before it is read."""
        if length > self._max_length:
            raise InvalidInput(
                f"A message has {length:,} characters; the maximum is {self._max_length:,}.",
                remedy="Send less at once.",
            )

    def offer(self, message: client_messages.Incoming) -> float:
        """Act on a message now, or later if that is enough; otherwise the seconds to wait before acting on it."""
        kind = type(message)
        if kind in self._deferred:
            self._deferred[kind] = message
            return 0.0
        delay_s = self._rates[kind].take()
        if delay_s > 0 and kind in LATEST_WINS:
            self._deferred[kind] = message
            self._timers[kind] = self._call_later(delay_s, lambda: self._act_deferred(kind))
            return 0.0
        if delay_s == 0:
            self._act(message)
        return delay_s

    def close(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._deferred.clear()

    def _act_deferred(self, kind: type[client_messages.Incoming]) -> None:
        del self._timers[kind]
        self._act(self._deferred.pop(kind))
