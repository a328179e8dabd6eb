"""Arrays that programs send, from any machine, and voxels that they retrieve.

Here: ArrayReceiver: what is taken through the transport, and what becomes of it.
Not here: the wire (transport), a volume that is shown while it fills (live_volume), what pages see of it (transfers),
memory that changes hands (local_socket).
"""

import asyncio
import json
import weakref
from collections.abc import Mapping
from concurrent.futures import wait
from typing import Any
from uuid import uuid4

from pydantic import TypeAdapter, ValidationError

from pellucid.box import Box
from pellucid.errors import InvalidInput, PellucidError, WrongDimensions
from pellucid.formats.shared_memory import SharedArray
from pellucid.instance.arrays.live_volume import LiveVolume, missing_value
from pellucid.instance.arrays.transfers import Transfer, TransferMonitor
from pellucid.instance.arrays.uploads import DisplayRequest, checked_rows
from pellucid.instance.protocol.codec import first_error
from pellucid.instance.protocol.http_bodies import ArrayOffer
from pellucid.instance.scene.loading import retrieve, show_array
from pellucid.instance.session import Session
from pellucid.settings import available_memory_bytes
from pellucid.transport.host import Host, OfferedArray, ReceivedArray
from pellucid.transport.shared_pages import BufferPool, clear
from pellucid.transport.wire.announcement import Announcement
from pellucid.transport.wire.pieces import PieceTarget
from pellucid.transport.wire.transfer import kept_bytes
from pellucid.workers.array_store import OwnedArray

_OFFER: TypeAdapter[ArrayOffer] = TypeAdapter(ArrayOffer)
_REQUEST: TypeAdapter[DisplayRequest] = TypeAdapter(DisplayRequest)
SPARE_SHARE = 4
SPARE_S = 60.0
LETTING_GO_S = 0.5


class ArrayReceiver(Host):
    """Called in the threads of transfers."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.receiving = TransferMonitor(session)
        self._filling: dict[str, LiveVolume] = {}
        self._spare = IdleBuffers(session)

    def allocate(self, announcement: Announcement) -> PieceTarget:
        request = parse_metadata(announcement)
        if request.kind == "volume":
            self._session.arrays.check(offered(announcement, request))
        else:
            checked_rows(request, announcement.shape, announcement.dtype)
        # New memory takes longer than the Worker needs to let go of the old.
        wait(list(self._session.worker.releasing), LETTING_GO_S)
        target = PieceTarget.create(announcement, self._spare.store)
        if (
            announcement.mode == "stream"
            and request.how != "labels"
            and (value := missing_value(announcement.dtype)) != 0
        ):
            clear(target.shared, value)
        return target

    def on_started(self, target: PieceTarget) -> None:
        announcement = target.announcement
        number, name = announcement.transfer, announcement.label.name or "an array"
        count = lambda: kept_bytes(target)  # noqa: E731
        if announcement.mode == "stream":
            if number not in self._filling:
                offer = offered(announcement, parse_metadata(announcement))
                self._filling[number] = LiveVolume(self._session, offer, target.shared, self._spare.put)
                # What broke off and was never taken up is forgotten together with its memory.
                weakref.finalize(target, self._filling.pop, number, None)
            count = self._filling[number].count
        self.receiving.begin(Transfer(number, name, announcement.nbytes, count))

    def on_block(self, target: PieceTarget, box: Box) -> None:
        self._filling[target.announcement.transfer].arrived(box)

    def on_stored(self, received: ReceivedArray) -> None:
        number = received.target.announcement.transfer
        filling = self._filling.get(number)
        self._session.relay.wait_for(self._show(received) if filling is None else filling.finish())
        self._filling.pop(number, None)
        self.receiving.end(number)

    def on_interrupted(self, announcement: Announcement, kept: int, error: PellucidError) -> None:
        self.receiving.end(announcement.transfer, error, kept)

    def find(self, request: Mapping[str, Any]) -> OfferedArray:
        layer, box = request.get("layer", 0), request.get("box", "")
        if not isinstance(layer, int) or not isinstance(box, str):
            raise InvalidInput("Invalid request.", remedy='Use {"layer": 0, "box": "0:9,0:9,0:9"}.')
        return OfferedArray(self._session.relay.wait_for(retrieve(self._session, layer, box)).array)

    async def _show(self, received: ReceivedArray) -> int:
        announcement, shared = received.target.announcement, received.target.shared
        request, name = parse_metadata(announcement), announcement.label.name
        if request.kind == "volume":
            offer = offered(announcement, request)
            handed = OwnedArray(shared, offer.spacing, offer.unit, released=self._spare.put)
        else:
            handed = OwnedArray(shared, kind=request.kind, vertices=request.vertices)
        return await show_array(self._session, uuid4().hex, handed, request.how, name or request.kind)


class IdleBuffers:
    """Memory of arrays that are not shown any more, for those that come next; given back when none comes for a while.

    A program that shows one volume after the other does not wait for new pages every time.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.store = BufferPool(available_memory_bytes() // SPARE_SHARE)
        self._timer: asyncio.TimerHandle | None = None

    def put(self, shared: SharedArray) -> None:
        """From any thread."""
        self.store.put(shared)
        self._session.relay.call(self._later)

    def _later(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        loop = asyncio.get_running_loop()
        # Giving pages back takes a while, too.
        self._timer = loop.call_later(SPARE_S, lambda: loop.run_in_executor(None, self.store.clear))


def offered(announcement: Announcement, request: DisplayRequest) -> ArrayOffer:
    """What an announcement of a volume says, in the words of the protocol."""
    label = announcement.label
    if len(announcement.shape) != 3 or not announcement.nbytes:
        raise WrongDimensions("The array", announcement.shape)
    reply: dict[str, Any] = {"shape": announcement.shape, "dtype": announcement.dtype.str, "how": request.how}
    reply |= {"unit": label.unit, "name": label.name} | ({"spacing": label.spacing} if label.spacing else {})
    try:
        return _OFFER.validate_python(reply)
    except ValidationError as error:
        remedy = "Check spacing, unit and name."
        raise InvalidInput(f"Invalid announcement: {first_error(error)}.", remedy=remedy) from error


def parse_metadata(announcement: Announcement) -> DisplayRequest:
    """How the sender wants it to be shown; its metadata may be anything else, too."""
    try:
        metadata = json.loads(announcement.metadata)
        request = metadata.get("pellucid", {}) if isinstance(metadata, dict) else {}
        return _REQUEST.validate_python(request)
    except ValidationError as error:
        remedy = 'Send {"pellucid": {"how": "replace"}}, or leave it out.'
        raise InvalidInput(f"Invalid metadata: {first_error(error)}.", remedy=remedy) from error
    except (ValueError, RecursionError):  # No JSON, or deeper than any that is meant for this.
        return DisplayRequest()
