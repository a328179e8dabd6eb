"""One client of an instance: what it supports, and the messages that wait to be sent to it.

Here: ConnectedClient and its Outbox; Requester, who asks.
Not here: the WebSocket (connection), who has the controls (controls), when frames are sent (frames.flow_control).
"""

import asyncio
import itertools
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from pellucid.instance.access.capabilities import allows
from pellucid.instance.frames.flow_control import FlowControl
from pellucid.instance.protocol.client_messages import Probe, ProbeSlice
from pellucid.instance.protocol.codec import EncodedFrame, to_text
from pellucid.instance.protocol.server_messages import (
    CameraMoved,
    CrossHair,
    IdleStatus,
    LayerList,
    Outgoing,
    Progress,
    SceneState,
    ShadingList,
    WorkerStatus,
)
from pellucid.instance.protocol.server_messages import ControlsStatus as ControlsMessage
from pellucid.instance.protocol.shared_types import Capability, Client, Encoding

MAX_WAITING = 512


class ConnectionEnded(Exception):
    """The connection of a page is to be closed."""

    def __init__(self, code: int) -> None:
        super().__init__(f"closed with code {code}")
        self.code = code


@dataclass(frozen=True)
class Requester:
    """Who asks for something. link: the share link that they came with; "" for the owner's own programs and pages."""

    capability: Capability
    link: str = ""

    @property
    def is_owner(self) -> bool:
        return allows(self.capability, "own")

    def includes(self, other: "Requester") -> bool:
        """Whether what this one asked for is the other's too: the owner's is everything."""
        return other.is_owner or self == other


OWNER = Requester("own")
_REPLACED = (CameraMoved, CrossHair, ControlsMessage, IdleStatus, ShadingList, WorkerStatus)
"""Messages of which only the latest matters."""


class Outbox:
    """Messages still to be sent, in order. A client that does not receive them is disconnected.

    A message that says how something is now takes the place of one that waits: others who change much fill nothing.
    """

    def __init__(self) -> None:
        self._waiting: dict[Hashable, str | bytes] = {}
        self._numbers = itertools.count()
        self._filled = asyncio.Event()
        self.is_overfull = False
        self._end: int | None = None

    def put(self, reply: Outgoing | EncodedFrame[Any]) -> None:
        key = _key_of(reply) or next(self._numbers)
        self._waiting.pop(key, None)
        if len(self._waiting) >= MAX_WAITING:
            self.is_overfull = True
        if not self.is_overfull:
            self._waiting[key] = reply.to_bytes() if isinstance(reply, EncodedFrame) else to_text(reply)
            self._filled.set()

    def end(self, code: int) -> None:
        """Have the connection closed with this code, before anything that still waits."""
        self._end, self.is_overfull = code, True
        self._filled.set()

    def __len__(self) -> int:
        return len(self._waiting)

    async def next(self) -> str | bytes:
        while not self._waiting and self._end is None:
            self._filled.clear()
            await self._filled.wait()
        if self._end is not None:
            raise ConnectionEnded(self._end)
        return self._waiting.pop(next(iter(self._waiting)))


def _key_of(reply: Outgoing | EncodedFrame[Any]) -> Hashable:
    """What it is the latest of; None where every single one matters, such as the answer to a request."""
    if isinstance(reply, Progress):
        return Progress, reply.task
    if isinstance(reply, LayerList):
        return LayerList, reply.view
    if isinstance(reply, SceneState):
        return None if reply.request else SceneState
    kind: type[object] = type(reply)
    return kind if kind in _REPLACED else None


@dataclass
class ConnectedClient:
    """probe, next_probe: the question that the Worker answers, and the one after it. opening: a patch that names
    something new. link: the share link that it came with. token: for its HTTP requests. seen_sources: of all scenes
    that were shown to it. frames: when they are sent."""

    client: Client
    size: tuple[int, int]
    encodings: tuple[Encoding, ...]
    outbox: Outbox = field(default_factory=Outbox)
    probe: "asyncio.Task[None] | None" = None
    opening: "asyncio.Task[None] | None" = None
    next_probe: Probe | ProbeSlice | None = None
    link: str = ""
    token: str = field(default="", repr=False)
    seen_sources: set[str] = field(default_factory=set)
    frames: FlowControl = field(init=False)

    def __post_init__(self) -> None:
        self.frames = FlowControl(self.outbox.put)

    @property
    def id(self) -> str:
        return self.client.id

    @property
    def requester(self) -> Requester:
        return Requester(self.client.capability, self.link)

    @property
    def wants_video(self) -> bool:
        return "h264" in self.encodings
