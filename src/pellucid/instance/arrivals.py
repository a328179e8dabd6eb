"""Arrays that programs send, from this machine and others, and voxels that they ask for.

Here: Arrivals: what is taken through the transport, and what becomes of it.
Not here: the wire (transport), a volume that is shown while it fills (filling), what pages see of it (receiving),
memory that changes hands (handover).
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
from pellucid.formats.shared import SharedArray
from pellucid.instance.arrays import Wish, checked_rows
from pellucid.instance.filling import Filling, nothing_yet
from pellucid.instance.loading import retrieve, show_array
from pellucid.instance.protocol.http import ArrayOffer
from pellucid.instance.protocol.wire import first_fault
from pellucid.instance.receiving import Receiving, Transfer
from pellucid.instance.session import Session
from pellucid.settings import available_memory_bytes
from pellucid.transport.announcement import Announcement
from pellucid.transport.host import Host, Offer, Received
from pellucid.transport.memory import Shelf, clear
from pellucid.transport.pieces import Target
from pellucid.transport.session import kept_bytes
from pellucid.workers.supervision import Handed

_OFFER: TypeAdapter[ArrayOffer] = TypeAdapter(ArrayOffer)
_WISH: TypeAdapter[Wish] = TypeAdapter(Wish)
SPARE_SHARE = 4
SPARE_S = 60.0
LETTING_GO_S = 0.5


class Arrivals(Host):
    """Called in the threads of transfers."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.receiving = Receiving(session)
        self._filling: dict[str, Filling] = {}
        self._spare = Spare(session)

    def allocate(self, announcement: Announcement) -> Target:
        wish = wished(announcement)
        if wish.kind == "volume":
            self._session.arrays.check(offered(announcement, wish))
        else:
            checked_rows(wish, announcement.shape, announcement.dtype)
        # New memory takes longer than the Worker needs to let go of the old.
        wait(list(self._session.worker.releasing), LETTING_GO_S)
        target = Target.create(announcement, self._spare.shelf)
        if announcement.mode == "stream" and wish.how != "labels" and (value := nothing_yet(announcement.dtype)) != 0:
            clear(target.shared, value)
        return target

    def begun(self, target: Target) -> None:
        announcement = target.announcement
        number, name = announcement.transfer, announcement.label.name or "an array"
        count = lambda: kept_bytes(target)  # noqa: E731
        if announcement.mode == "stream":
            if number not in self._filling:
                offer = offered(announcement, wished(announcement))
                self._filling[number] = Filling(self._session, offer, target.shared, self._spare.put)
                # What broke off and was never taken up is forgotten together with its memory.
                weakref.finalize(target, self._filling.pop, number, None)
            count = self._filling[number].count
        self.receiving.begin(Transfer(number, name, announcement.nbytes, count))

    def arrived(self, target: Target, box: Box) -> None:
        self._filling[target.announcement.transfer].arrived(box)

    def stored(self, received: Received) -> None:
        number = received.target.announcement.transfer
        filling = self._filling.get(number)
        self._session.relay.wait_for(self._show(received) if filling is None else filling.finish())
        self._filling.pop(number, None)
        self.receiving.end(number)

    def broken(self, announcement: Announcement, kept: int, error: PellucidError) -> None:
        self.receiving.end(announcement.transfer, error, kept)

    def find(self, request: Mapping[str, Any]) -> Offer:
        layer, box = request.get("layer", 0), request.get("box", "")
        if not isinstance(layer, int) or not isinstance(box, str):
            raise InvalidInput("The request was not understood.", do='Ask for {"layer": 0, "box": "0:9,0:9,0:9"}.')
        return Offer(self._session.relay.wait_for(retrieve(self._session, layer, box)).array)

    async def _show(self, received: Received) -> int:
        announcement, shared = received.target.announcement, received.target.shared
        wish, name = wished(announcement), announcement.label.name
        if wish.kind == "volume":
            offer = offered(announcement, wish)
            handed = Handed(shared, offer.spacing, offer.unit, released=self._spare.put)
        else:
            handed = Handed(shared, kind=wish.kind, vertices=wish.vertices)
        return await show_array(self._session, uuid4().hex, handed, wish.how, name or wish.kind)


class Spare:
    """Memory of arrays that are not shown any more, for those that come next; given back when none comes for a while.

    A program that shows one volume after the other does not wait for new pages every time.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.shelf = Shelf(available_memory_bytes() // SPARE_SHARE)
        self._timer: asyncio.TimerHandle | None = None

    def put(self, shared: SharedArray) -> None:
        """From any thread."""
        self.shelf.put(shared)
        self._session.relay.call(self._later)

    def _later(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        loop = asyncio.get_running_loop()
        # Giving pages back takes a while, too.
        self._timer = loop.call_later(SPARE_S, lambda: loop.run_in_executor(None, self.shelf.clear))


def offered(announcement: Announcement, wish: Wish) -> ArrayOffer:
    """What an announcement of a volume says, in the words of the protocol."""
    label = announcement.label
    if len(announcement.shape) != 3 or not announcement.nbytes:
        raise WrongDimensions("The array", announcement.shape)
    told: dict[str, Any] = {"shape": announcement.shape, "dtype": announcement.dtype.str, "how": wish.how}
    told |= {"unit": label.unit, "name": label.name} | ({"spacing": label.spacing} if label.spacing else {})
    try:
        return _OFFER.validate_python(told)
    except ValidationError as error:
        do = "Check spacing, unit and name."
        raise InvalidInput(f"The announcement was not understood: {first_fault(error)}.", do=do) from error


def wished(announcement: Announcement) -> Wish:
    """How the sender wants it to be shown; its metadata may be anything else, too."""
    try:
        metadata = json.loads(announcement.metadata)
        wish = metadata.get("pellucid", {}) if isinstance(metadata, dict) else {}
        return _WISH.validate_python(wish)
    except ValidationError as error:
        do = 'Send {"pellucid": {"how": "replace"}}, or nothing of that name.'
        raise InvalidInput(f"The metadata was not understood: {first_fault(error)}.", do=do) from error
    except (ValueError, RecursionError):  # No JSON, or deeper than any that is meant for this.
        return Wish()
