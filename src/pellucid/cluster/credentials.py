"""What the processes of one application share: its name and its token.

Here: Credentials.
Not here: how they reach the nodes (spark.application, group), proving that one holds the token (transport).
"""

import re
import secrets
from dataclasses import dataclass, field

from pellucid.errors import InvalidInput
from pellucid.transport.wire.handshake import checked_token


@dataclass(frozen=True)
class Credentials:
    """application: names its folder on every node. token: a client with it may use the Workers of the application."""

    application: str
    token: str = field(repr=False)

    @classmethod
    def create(cls) -> "Credentials":
        return cls(secrets.token_hex(8), secrets.token_urlsafe(32))

    @classmethod
    def parse(cls, text: str) -> "Credentials":
        """From ``text``."""
        application, _, token = text.partition(":")
        if not re.fullmatch(r"[0-9a-f]{16}", application):
            raise InvalidInput("The credentials of an application are damaged.", remedy="Start the application again.")
        return cls(application, checked_token(token))

    @property
    def text(self) -> str:
        return f"{self.application}:{self.token}"
