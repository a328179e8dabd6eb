"""Requests, replies and announcements of a Worker, to and from JSON.

Here: to_message, from_message, register_kinds.
Not here: the types (requests, replies, announcements), carrying them (channel).
"""

from dataclasses import asdict
from typing import Any

from pellucid.dataclass_json import from_json
from pellucid.errors import InvalidInput
from pellucid.workers.protocol.announcements import Announcement
from pellucid.workers.protocol.replies import Reply
from pellucid.workers.protocol.requests import Request

KINDS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (*Request.__args__, *Reply.__args__, *Announcement.__args__)
}


def register_kinds(*kinds: type[Any]) -> None:
    """Further requests and replies, of a role that a higher layer defines."""
    KINDS.update({kind.__name__: kind for kind in kinds})


def to_message(content: Request | Reply | Announcement) -> dict[str, Any]:
    return {"kind": type(content).__name__, "content": asdict(content)}


def from_message(message: dict[str, Any]) -> Any:
    """A request, a reply or an announcement.

    >>> from pellucid.workers.protocol.requests import Cancel
    >>> from_message(to_message(Cancel(3)))
    Cancel(request=3)
    """
    kind = KINDS.get(message["kind"])
    if kind is None:
        what = f"{message['kind']!r} is neither a request nor a reply of a Worker."
        raise InvalidInput(what, remedy="Start the viewer again, so that both ends have the same version.")
    return from_json(kind, message["content"], message["kind"])
