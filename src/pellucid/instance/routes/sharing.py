"""Share links over HTTP.

Here: share links, short links of saved states.
Not here: the secrets in them (sessions), saving states (saved_states, tasks).
"""

import asyncio
import time
from typing import Annotated

from fastapi import APIRouter, Path

from pellucid.errors import TooManyRequests
from pellucid.instance.access.capabilities import allows, require
from pellucid.instance.access.route_rules import needs
from pellucid.instance.access.sessions import Grant, ShareLink
from pellucid.instance.protocol import access, http_bodies
from pellucid.instance.routes.dependencies import REFUSALS, Came, Granted, Here
from pellucid.instance.scene import loading, saved_states
from pellucid.instance.session import Session

router = APIRouter(tags=["sharing"], responses=REFUSALS)
VIEW, OWN = [needs("view")], [needs("own")]
OPENING_PAUSE_S = 10.0
"""Between two openings of saved scenes by guests."""
Name = Annotated[str, Path(pattern="^[0-9a-f]{10}$")]


@router.get("/api/shares", dependencies=OWN)
async def shares(session: Here, channel: Came, grant: Granted) -> list[access.Share]:
    """The share links at this address; for a client with a share link, only those created with it."""
    return [_reply(one) for one in session.access.shares_made_with(grant.link) if one.grant.agent == channel.agent]


@router.post("/api/shares", dependencies=OWN)
async def make_share(wanted: access.NewShare, session: Here, channel: Came, grant: Granted) -> access.Share:
    """Create a share link. It works until it is revoked, or until the link that created it is revoked."""
    return _reply(session.access.share(wanted.capability, wanted.name, channel.agent, maker=grant.link))


@router.delete("/api/shares/{id}", dependencies=OWN, status_code=204)
async def revoke_share(id: str, session: Here, grant: Granted) -> None:
    """Revoke a link and those created with it; pages opened with them are closed."""
    session.revoke(id, grant.link)


@router.post("/api/links", dependencies=OWN)
async def link(session: Here, channel: Came, grant: Granted) -> http_bodies.SavedLink:
    """Save the state under a short name; the link has the capability control, and opens this state."""
    name = await asyncio.to_thread(saved_states.save_state, loading.save(session))
    share = session.access.share("control", "", channel.agent, name, grant.link)
    return http_bodies.SavedLink(name, _reply(share).url)


@router.post("/api/links/{name}/open", dependencies=VIEW)
async def open_link(name: Name, session: Here, grant: Granted) -> http_bodies.Revision:
    """Show a saved state: the owner any, guests the one of their link."""
    if grant.state != name:
        require(grant.capability, "own")
    _limit_opening(session, grant)
    return http_bodies.Revision(await loading.restore(session, await asyncio.to_thread(saved_states.load_state, name)))


def _limit_opening(session: Session, grant: Grant) -> None:
    """Refuse a guest who opens a saved scene soon after another was opened: it replaces what everyone sees."""
    now = time.monotonic()
    if allows(grant.capability, "own"):
        return
    if now - session.link_opened_at < OPENING_PAUSE_S:
        raise TooManyRequests("A saved scene was opened a moment ago.", remedy=f"Wait {OPENING_PAUSE_S:.0f} s.")
    session.link_opened_at = now


def _reply(share: ShareLink) -> access.Share:
    state = f"&state={share.grant.state}" if share.grant.state else ""
    url = f"#share={share.secret}{state}"
    return access.Share(share.id, share.name, share.grant.capability, url, share.grant.state)
