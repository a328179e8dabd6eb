"""HTTP bodies for sessions, codes, tickets and share links.

Here: sessions of pages, proofs, codes, tickets, share links.
Not here: the secrets themselves (sessions), other bodies (http_bodies).
"""

from dataclasses import dataclass
from typing import ClassVar

from pydantic import ConfigDict

from pellucid.instance.protocol.http_bodies import Path
from pellucid.instance.protocol.shared_types import CLOSED, Capability, Name, PageAddress, Secret


@dataclass(frozen=True)
class SessionRequest:
    """POST /api/session: a page asks for a session. address: of the page, as it sees itself. One of these: code, from a
    link that works once; share, from a share link; resume, the token of this page before it was loaded again."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    address: PageAddress = ""
    code: Secret = ""
    share: Secret = ""
    resume: Secret = ""


@dataclass(frozen=True)
class PageAccess:
    """A page's session. key: for proofs; it stays in the page's memory and is never sent again. token: for requests, in
    the header Pellucid-Session. state: the saved state that the link is for."""

    session: str
    key: str
    token: str
    capability: Capability
    state: str


@dataclass(frozen=True)
class ProofRequest:
    """POST /api/prove: the server is to prove that it holds the key of a session; or a secret, which is named by its
    SHA-256; or a code, which is named by all of it but its last part."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    nonce: Secret
    session: Secret = ""
    address: PageAddress = ""
    secret_hash: Secret = ""
    code: Secret = ""


@dataclass(frozen=True)
class ServerProof:
    """The keyed hash, as on the WebSocket, but of "http", the nonce and the page's address; by a secret or a code, of
    "program" and the nonce."""

    proof: str


@dataclass(frozen=True)
class NewCode:
    """POST /api/codes: a code that opens the viewer once, as its owner, behind ``#code=``."""

    code: str


@dataclass(frozen=True)
class TicketRequest:
    """POST /api/tickets. path: what is to be downloaded, with its query, relative to the page."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    path: Path


@dataclass(frozen=True)
class Ticket:
    """url: the same path, for one minute, without any header."""

    url: str


@dataclass(frozen=True)
class NewShare:
    """POST /api/shares: a link to give away. name: for the list."""

    __pydantic_config__: ClassVar[ConfigDict] = CLOSED
    capability: Capability
    name: Name = ""


@dataclass(frozen=True)
class Share:
    """A share link, until it is revoked. url: behind the page's address. state: the saved state that it opens."""

    id: str
    name: str
    capability: Capability
    url: str
    state: str


ANSWERS = (PageAccess, ServerProof, NewCode, Ticket, Share)
BODIES = (SessionRequest, ProofRequest, TicketRequest, NewShare)
