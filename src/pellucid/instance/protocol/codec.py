"""Messages as text and bytes.

Here: reading what a page says, writing what the instance says.
Not here: the messages themselves (client_messages, server_messages).
"""

import json
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Generic, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from pellucid.errors import InvalidInput
from pellucid.instance.protocol.client_messages import Incoming
from pellucid.instance.protocol.reconstruction import PreviewHeader
from pellucid.instance.protocol.server_messages import Header, Outgoing

_INCOMING: TypeAdapter[Incoming] = TypeAdapter(Annotated[Incoming, Field(discriminator="type")])


AnyHeader = TypeVar("AnyHeader", bound=Header | PreviewHeader)


@dataclass(frozen=True)
class EncodedFrame(Generic[AnyHeader]):
    """An image, encoded."""

    header: AnyHeader
    encoded: bytes

    def to_bytes(self) -> bytes:
        header = json.dumps(asdict(self.header)).encode()
        return len(header).to_bytes(4, "little") + header + self.encoded


def read(text: str) -> Incoming:
    """A page's message; what is no message is refused.

    >>> read('{"type": "resize", "width": 640, "height": 360}')
    Resize(width=640, height=360, type='resize')
    """
    try:
        return _INCOMING.validate_json(text)
    except ValidationError as error:
        raise InvalidInput(f"Invalid message: {first_error(error)}.", remedy="Reload the page.") from error


def to_text(message: Outgoing) -> str:
    return json.dumps(asdict(message))


def first_error(error: ValidationError) -> str:
    """The first thing that is wrong, and where."""
    first: Any = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else str(first["msg"])
