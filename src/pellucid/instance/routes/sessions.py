"""Access over HTTP, for viewers and agents.

Here: sessions of pages, the server's proof, codes, tickets.
Not here: how they are checked (sessions), share links (sharing).
"""

import asyncio

from fastapi import FastAPI

from pellucid.errors import InvalidInput
from pellucid.instance.access.proofs import sign
from pellucid.instance.access.route_rules import needs, public
from pellucid.instance.access.sessions import Access, AccessChannel, Grant, PageSession
from pellucid.instance.protocol import access as bodies
from pellucid.instance.routes.dependencies import REFUSALS, Came, Granted
from pellucid.instance.websocket.message_rates import Rate

MAX_BODY_BYTES = 16 * 1024
MAX_GUEST_SESSIONS_PER_SECOND = 20
"""Of all guests together."""
PUBLIC, OWN, VIEW = [public(MAX_BODY_BYTES)], [needs("own")], [needs("view")]


def add(app: FastAPI, access: Access) -> None:
    guests = Rate(MAX_GUEST_SESSIONS_PER_SECOND)

    @app.post("/api/session", tags=["access"], responses=REFUSALS, dependencies=PUBLIC)
    async def session(wanted: bodies.SessionRequest, channel: Came) -> bodies.PageAccess:
        """Open the session of a page, with a code, a share link, or the token from before a reload."""
        shown = access.grant(wanted.share or wanted.resume, channel)
        if shown is not None and shown.link:
            await asyncio.sleep(guests.take())
        page = _session(access, wanted, channel)
        grant = page.grant
        return bodies.PageAccess(page.id, page.key, page.token, grant.capability, grant.state)

    @app.post("/api/prove", tags=["access"], responses=REFUSALS, dependencies=PUBLIC)
    async def prove(wanted: bodies.ProofRequest, channel: Came) -> bodies.ServerProof:
        """Prove that this process issued a secret, before the page or the program sends it."""
        if wanted.secret_hash or wanted.code:
            named = access.secret_of(wanted.secret_hash, channel)
            secret = access.code_named(wanted.code, channel) if wanted.code else named
            return bodies.ServerProof(sign(secret, "program", wanted.nonce) if secret else "")
        page = access.known(wanted.session, wanted.address, channel)
        key, address = ("", "") if page is None else (page.key, page.address)
        return bodies.ServerProof(sign(key, "http", wanted.nonce, address) if key else "")

    @app.post("/api/codes", tags=["access"], responses=REFUSALS, dependencies=OWN)
    async def code(channel: Came, grant: Granted) -> bodies.NewCode:
        """Create a code that opens the page once, as the owner. The session ends with the link that created it."""
        return bodies.NewCode(access.make_code(channel.agent, grant.link))

    @app.post("/api/tickets", tags=["access"], responses=REFUSALS, dependencies=VIEW)
    async def ticket(wanted: bodies.TicketRequest, grant: Granted) -> bodies.Ticket:
        """An address for one download without headers, valid for a minute."""
        made = access.ticket("/" + wanted.path.lstrip("/"), grant)
        return bodies.Ticket(f"{wanted.path}{'&' if '?' in wanted.path else '?'}ticket={made}")


def _session(access: Access, wanted: bodies.SessionRequest, channel: AccessChannel) -> PageSession:
    if wanted.resume:
        return access.resume(wanted.resume, wanted.address, channel)
    return access.begin(_grant(access, wanted, channel), wanted.address, channel)


def _grant(access: Access, wanted: bodies.SessionRequest, channel: AccessChannel) -> Grant:
    if channel.is_owner:
        return Grant("own", channel.agent)
    if wanted.code:
        return access.redeem(wanted.code, channel)
    if wanted.share:
        return access.open_share(wanted.share, channel)
    raise InvalidInput("The request for a session has no code.", remedy="Pass one of code, share and resume.")
