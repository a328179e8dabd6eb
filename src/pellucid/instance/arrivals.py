"""Volumes that arrive from programs, on this machine and others, and voxels that are asked for.

Here: Arrivals: what is taken through the transport, and what becomes of it.
Not here: the wire (transport), a volume that is shown while it fills (filling), memory that changes hands (handover).

An array's metadata may have "pellucid": {"how": "replace", "add" or "labels"}.
"""

import json
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from pydantic import TypeAdapter, ValidationError

from pellucid.box import Box
from pellucid.errors import InvalidInput, WrongDimensions
from pellucid.instance.filling import Filling
from pellucid.instance.loading import retrieve, show_array
from pellucid.instance.protocol.http import ArrayOffer
from pellucid.instance.protocol.wire import first_fault
from pellucid.instance.session import Session
from pellucid.transport.announcement import Announcement
from pellucid.transport.host import Host, Offer, Received
from pellucid.transport.pieces import Target
from pellucid.workers.supervision import Handed

_OFFER: TypeAdapter[ArrayOffer] = TypeAdapter(ArrayOffer)


class Arrivals(Host):
    """Called in the threads of transfers."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._filling: dict[str, Filling] = {}

    def allocate(self, announcement: Announcement) -> Target:
        offer = offered(announcement)
        self._session.arrays.check(offer)
        target = Target.create(announcement)
        if announcement.mode == "stream":
            self._filling[announcement.transfer] = Filling(self._session, offer, target.shared)
        return target

    def arrived(self, target: Target, box: Box) -> None:
        self._filling[target.announcement.transfer].arrived(box)

    def stored(self, received: Received) -> None:
        target = received.target
        filling = self._filling.pop(target.announcement.transfer, None)
        if filling is not None:
            self._session.relay.wait_for(filling.finish())
            return
        offer = offered(target.announcement)
        handed = Handed(target.shared, offer.spacing, offer.unit)
        self._session.relay.wait_for(show_array(self._session, uuid4().hex, offer, handed))

    def find(self, request: Mapping[str, Any]) -> Offer:
        layer, box = request.get("layer", 0), request.get("box", "")
        if not isinstance(layer, int) or not isinstance(box, str):
            raise InvalidInput("The request was not understood.", do='Ask for {"layer": 0, "box": "0:9,0:9,0:9"}.')
        return Offer(self._session.relay.wait_for(retrieve(self._session, layer, box)).array)


def offered(announcement: Announcement) -> ArrayOffer:
    """What an announcement says, in the words of the protocol."""
    label = announcement.label
    if len(announcement.shape) != 3:
        raise WrongDimensions("The array", announcement.shape)
    told = {"shape": announcement.shape, "dtype": announcement.dtype.str, "unit": label.unit, "name": label.name}
    if label.spacing:
        told["spacing"] = label.spacing
    try:
        return _OFFER.validate_python(told | wished(announcement))
    except ValidationError as error:
        do = "Check spacing, unit and name."
        raise InvalidInput(f"The announcement was not understood: {first_fault(error)}.", do=do) from error


def wished(announcement: Announcement) -> dict[str, Any]:
    """How the sender wants it to be shown."""
    try:
        metadata = json.loads(announcement.metadata)
    except ValueError:
        return {}
    wish = metadata.get("pellucid") if isinstance(metadata, dict) else None
    return {"how": wish["how"]} if isinstance(wish, dict) and "how" in wish else {}
