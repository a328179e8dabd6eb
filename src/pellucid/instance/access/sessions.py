"""Access to a viewer or an agent: codes that work once, share links, sessions of pages, tickets for downloads.

Here: Access, which issues and checks them; make_code, for every program that holds the owner's token.
Not here: reading them from requests (auth), the routes that hand them out (routes.sharing), what each capability
allows (capabilities).

The rule: a secret that is sent to a port before that port has proved itself is worth nothing once the process that
issued it has ended. Another user who takes over the port of a viewer or an agent learns nothing that works elsewhere.
So codes, share links and the tokens of pages are kept in memory alone, and what was issued through an agent works
through that agent alone, until it ends. Only the key of a page outlives a viewer; a page never sends it.
"""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import urlsplit

from pellucid.errors import NotAllowed, NotFound, TooManyRequests
from pellucid.instance.access.proofs import hash_secret, sign
from pellucid.instance.protocol.shared_types import Capability
from pellucid.transport.address import LOOPBACK, host_to_connect

CODE_S = 600.0
TICKET_S = 60.0
MAX_KEPT = 1000
MAX_KEPT_PER_LINK = 50
"""Sessions, and tickets: of the owner, and of each share link. One more ends the oldest of the same."""
SECRET_BYTES = 24
ASK_OWNER = "Ask the owner for another link."
FRESH_LINK = "Run pellucid open, press Enter where pellucid view runs, or use the agent's page to get a new link."

Kept = TypeVar("Kept")


def make_secret() -> str:
    return secrets.token_urlsafe(SECRET_BYTES)


def make_code(token: str, agent: str = "", now: float | None = None, link: str = "") -> str:
    """A code that opens a viewer once, as its owner. agent: the run of the agent that it is for; "" without one. link:
    the id of the share link that it was made with, and ends with; "" for the owner."""
    nonce = secrets.token_hex(16) + (f"-{link}" if link else "")
    expires = f"{(time.time() if now is None else now) + CODE_S:.0f}"
    return _code(token, nonce, expires, agent)


def _code(token: str, nonce: str, expires: str, agent: str) -> str:
    """Its last part is the secret one."""
    return f"{nonce}.{expires}.{sign(token, 'code', nonce, expires, agent)}"


@dataclass(frozen=True)
class AccessChannel:
    """How a request came. agent: the run of the agent that it came through; "" directly. address: of the page, as a
    browser sees it. is_owner: the agent vouches that the owner's program asks."""

    address: str
    agent: str = ""
    is_owner: bool = False


@dataclass(frozen=True)
class Grant:
    """What a secret stands for. link: the id of the share link that it came from. state: the saved state that it may
    open."""

    capability: Capability
    agent: str = ""
    link: str = ""
    state: str = ""


@dataclass(frozen=True)
class ShareLink:
    """A link that works until it is revoked. name: for the owner's list. maker: the id of the share link whose holder
    made it, and with which it is revoked; "" for the owner."""

    id: str
    name: str
    grant: Grant
    secret: str = field(repr=False)
    maker: str = ""


@dataclass
class PageSession:
    """One page. key: for proofs, known to the page and to the viewer, and never sent again. token: shown by its
    requests. is_lasting: it may be resumed; a page behind an address that is not the viewer's own may not.
    is_earlier: it was opened before the viewer, or its agent, was restarted."""

    id: str
    grant: Grant
    address: str
    is_lasting: bool
    key: str = field(repr=False)
    token: str = field(repr=False)
    is_earlier: bool = False


class _Tickets:
    """Addresses for one download each."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._issued: dict[str, tuple[str, Grant, float]] = {}

    def issue(self, target: str, grant: Grant) -> str:
        """For one GET of a path and query, soon."""
        now = self._clock()
        self._issued = {key: one for key, one in self._issued.items() if one[2] > now}
        _make_room(self._issued, lambda one: one[1].link, grant.link)
        ticket = make_secret()
        self._issued[ticket] = (target, grant, now + TICKET_S)
        return ticket

    def grant_of(self, ticket: str, target: str, channel: AccessChannel) -> Grant | None:
        wanted, grant, until = self._issued.get(ticket, ("", None, 0.0))
        if grant is None or wanted != target or until < self._clock() or grant.agent != channel.agent:
            return None
        return grant

    def revoke(self, links: set[str]) -> None:
        self._issued = {key: one for key, one in self._issued.items() if one[1].link not in links}


class Access:
    """The secrets of one process.

    address: of its page, as a browser on this machine sees it. token: the owner's, for programs that read it from a
    file that only the owner can read. root: what keys of the owner's pages are made from.
    """

    def __init__(self, address: str = "", root: str = "", clock: Callable[[], float] = time.time) -> None:
        self.address, self.token, self.root = address, make_secret(), root or make_secret()
        self._clock, self._transfer = clock, make_secret()
        self._used_codes: dict[str, float] = {}
        self._shares: dict[str, ShareLink] = {}
        self._sessions: dict[str, PageSession] = {}
        self._tickets = _Tickets(clock)

    # Channels

    def channel(self, stated: str | None) -> AccessChannel:
        """How a request came. stated: what its agent says, which shows the owner's token: TOKEN RUN ADDRESS [own]."""
        if stated is None:
            return AccessChannel(self.address)
        token, run, address, *more = [*stated.split(" "), "", ""][:5]
        if not run or not _is_same(token, self.token):
            raise NotAllowed("The request did not come through your agent.", remedy="Open the viewer again.")
        return AccessChannel(address, run, "own" in more)

    # Programs

    def grant(self, secret: str, channel: AccessChannel) -> Grant | None:
        """What a secret that came with a request allows there."""
        if channel.is_owner or (not channel.agent and _is_same(secret, self.token)):
            return Grant("own", channel.agent)
        session = next((one for one in self._sessions.values() if _is_same(secret, one.token)), None)
        if session is not None:
            return session.grant if session.grant.agent == channel.agent else None
        share = next((one for one in self._shares.values() if _is_same(secret, one.secret)), None)
        return share.grant if share is not None and share.grant.agent == channel.agent else None

    def secret_of(self, secret_hash: str, channel: AccessChannel) -> str:
        """The secret of a program by its SHA-256, where it works through this channel; "" otherwise."""
        known = [self.token, *(one.token for one in self._sessions.values()), *(one.secret for one in self.shares)]
        found = [one for one in known if _is_same(hash_secret(one), secret_hash)]
        return found[0] if found and self.grant(found[0], channel) is not None else ""

    # Pages

    def make_code(self, agent: str = "", link: str = "") -> str:
        return make_code(self.token, agent, self._clock(), link)

    def code_named(self, name: str, channel: AccessChannel) -> str:
        """The whole code, by all of it but its last part: for a proof, never for an answer."""
        return _code(self.token, *name.partition(".")[::2], channel.agent)

    def redeem(self, code: str, channel: AccessChannel) -> Grant:
        """What a code allows, once."""
        nonce, expires, proof = [*code.split("."), "", "", ""][:3]
        if not _is_same(proof, sign(self.token, "code", nonce, expires, channel.agent)):
            raise NotAllowed("This link belongs to another viewer, or the viewer was restarted.", remedy=FRESH_LINK)
        now = self._clock()
        self._used_codes = {one: until for one, until in self._used_codes.items() if until > now}
        if nonce in self._used_codes or float(expires) < now:
            raise NotAllowed("This link was already used, or is older than ten minutes.", remedy=FRESH_LINK)
        link = nonce.partition("-")[2]
        if link and link not in self._shares:
            raise NotAllowed("The link from which this one was created was revoked.", remedy=ASK_OWNER)
        self._used_codes[nonce] = float(expires)
        return Grant("own", channel.agent, link)

    def begin(self, grant: Grant, address: str, channel: AccessChannel) -> PageSession:
        """A session for a page at an address, as the page sees itself."""
        id = secrets.token_urlsafe(12)
        is_lasting = _is_own(address, channel)
        # A key that can be made again from the root would open a session that has ended.
        key = self._key(id) if is_lasting and not grant.link else make_secret()
        session = PageSession(id, grant, address, is_lasting, key, make_secret())
        _make_room(self._sessions, lambda one: one.grant.link, grant.link)
        self._sessions[id] = session
        return session

    def resume(self, token: str, address: str, channel: AccessChannel) -> PageSession:
        """Another session for the page that has this token: it was loaded again."""
        session = next((one for one in self._sessions.values() if _is_same(token, one.token)), None)
        if session is None or not session.is_lasting or session.grant.agent != channel.agent:
            raise NotAllowed("This page no longer has access to the viewer.", remedy=FRESH_LINK)
        return self.begin(session.grant, address, channel)

    def open_share(self, secret: str, channel: AccessChannel) -> Grant:
        share = next((one for one in self._shares.values() if _is_same(secret, one.secret)), None)
        if share is None or share.grant.agent != channel.agent:
            raise NotAllowed("This link was revoked, or its viewer has ended.", remedy=ASK_OWNER)
        return share.grant

    def _key(self, id: str) -> str:
        return sign(self.root, "own", id)

    def known(self, id: str, address: str, channel: AccessChannel) -> PageSession | None:
        """The session of a page that connects, at its address.

        After a restart, of the viewer at its port or of the agent, the key of an owner's page still holds; everything
        else has to be opened again.
        """
        session = self._sessions.get(id)
        if session is None:
            if not _is_own(address, channel):
                return None
            session = PageSession(id, Grant("own", channel.agent), address, True, self._key(id), make_secret(), True)
        elif not _is_own(session.address, channel):
            return None if session.is_lasting or session.grant.agent != channel.agent else session
        elif session.grant.agent != channel.agent:
            if session.grant.link:
                return None
            grant = Grant(session.grant.capability, channel.agent)
            session = PageSession(id, grant, session.address, True, session.key, make_secret(), True)
        return session

    def keep(self, session: PageSession) -> bool:
        """The page has proved that it holds the key. Whether it may stay: its link may have been revoked meanwhile."""
        if self.is_current(session.grant):
            self._sessions[session.id] = session
        return self.is_current(session.grant)

    def new_link(self, session: PageSession, channel: AccessChannel) -> str:
        """Where a page goes on that was opened before a restart, at a port of this machine; "" where it may stay.

        Another user may have listened at the port meanwhile. What the browser keeps of that for the page's address, a
        service worker or scripts, would read the token of the page's requests. So it goes on at the new host name,
        which no one knew until now.
        """
        if not session.is_earlier or not _is_here(urlsplit(session.address).hostname):
            return ""
        return f"{channel.address}#code={self.make_code(channel.agent)}"

    def leave(self, session: PageSession) -> None:
        """Its connection has ended. Behind an address that is not the viewer's own, so has the session: nothing there
        can tell who answers when the page connects again."""
        if not session.is_lasting:
            self._sessions.pop(session.id, None)

    # Share links

    def is_current(self, grant: Grant) -> bool:
        """Whether the share link that it came from, if any, still works. A request that takes long checks it again."""
        return not grant.link or grant.link in self._shares

    def share(
        self, capability: Capability, name: str = "", agent: str = "", state: str = "", maker: str = ""
    ) -> ShareLink:
        """A share link; one that is like it already is used again. maker: the id of the link that it is made with."""
        wanted = (name, capability, agent, state, maker)
        for one in self._shares.values():
            if (one.name, one.grant.capability, one.grant.agent, one.grant.state, one.maker) == wanted:
                return one
        if len(self._shares) >= MAX_KEPT:
            raise TooManyRequests(f"The viewer has {MAX_KEPT:,} share links already.", remedy="Revoke an unused link.")
        id = secrets.token_hex(5)
        self._shares[id] = ShareLink(id, name, Grant(capability, agent, id, state), make_secret(), maker)
        return self._shares[id]

    def shares_made_with(self, link: str) -> list[ShareLink]:
        """The share links that the holder of one has made, and those made with these; of the owner, "", all."""
        return _made_with(link, self.shares) if link else self.shares

    @property
    def shares(self) -> list[ShareLink]:
        return list(self._shares.values())

    def revoke(self, id: str, by: str = "") -> set[str]:
        """The link, those made with it, and every session and ticket that came from them, stop working: their ids. by:
        the link whose holder does so, who may revoke what was made with it alone."""
        if id not in {one.id for one in self.shares_made_with(by)}:
            raise NotFound(f"The share link {id}")
        gone = {id, *(one.id for one in self.shares_made_with(id))}
        self._shares = {key: one for key, one in self._shares.items() if key not in gone}
        self._sessions = {key: one for key, one in self._sessions.items() if one.grant.link not in gone}
        self._tickets.revoke(gone)
        return gone

    # Arrays

    def transfer_token(self, grant: Grant) -> str:
        """What the transport asks for, of those who may own. Each share link has its own, and can be revoked alone."""
        return sign(self._transfer, "transfer", grant.link)

    @property
    def transfer_tokens(self) -> list[str]:
        """Those that are valid now. What is valid at this process's own port is so here, too."""
        owning = [one for one in self.shares if one.grant.capability == "own"]
        issued = [self.transfer_token(grant) for grant in (Grant("own"), *(one.grant for one in owning))]
        return [self.token, *issued, *(one.secret for one in owning if not one.grant.agent)]

    # Downloads

    def ticket(self, target: str, grant: Grant) -> str:
        return self._tickets.issue(target, grant)

    def grant_of_ticket(self, ticket: str, target: str, channel: AccessChannel) -> Grant | None:
        return self._tickets.grant_of(ticket, target, channel)


def _is_own(address: str, channel: AccessChannel) -> bool:
    """Whether a page's address is the one at which this process, or its agent, is reached."""
    if address == channel.address:
        return True
    own = urlsplit(channel.address)
    try:
        page = urlsplit(address)
        is_same_port = (page.scheme, page.port, page.path) == (own.scheme, own.port, own.path)
        # Nor anything besides: the proof is of words between spaces, and an address must not bring words of its own.
        is_same_port = is_same_port and not (page.query or page.fragment or page.username or " " in address)
    except ValueError:  # Any client may send it, and it may not be an address.
        return False
    if not is_same_port:
        return False
    # With TLS the certificate identifies the viewer, by whatever name it is reached; on this machine the port does.
    return not channel.agent if own.scheme == "https" else _is_here(page.hostname) and _is_here(own.hostname)


def _make_room(kept: dict[str, Kept], link_of: Callable[[Kept], str], link: str) -> None:
    """For one more of a link ("": the owner's own). What others have stays."""
    same = [key for key, one in kept.items() if link_of(one) == link]
    for key in same[: max(0, len(same) + 1 - (MAX_KEPT_PER_LINK if link else MAX_KEPT))]:
        del kept[key]


def _made_with(link: str, shares: list[ShareLink]) -> list[ShareLink]:
    made = [one for one in shares if one.maker == link]
    return [*made, *(further for one in made for further in _made_with(one.id, shares))]


def _is_same(left: str, right: str) -> bool:
    return secrets.compare_digest(left.encode(), right.encode())


def _is_here(host: str | None) -> bool:
    """Whether a host name leads to this machine alone, in every browser."""
    return host is not None and host_to_connect(host) == LOOPBACK
