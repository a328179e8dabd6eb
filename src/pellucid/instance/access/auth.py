"""Authentication, before every route, for HTTP and WebSocket.

Here: TokenMiddleware, which reads the secret of a request and says what it allows; the headers of every answer.
Not here: the secrets (sessions), pages of other addresses (origins), what the routes do (routes), the proof on a page's
WebSocket (connection).

A program shows its secret in ``Authorization: Bearer SECRET``, a page in ``Pellucid-Session: TOKEN``: behind a Hub the
first is the Hub's. A download, which can have no header, has ``?ticket=``. Cookies are not used: a browser sends
them to every port of this machine, and other users can listen there.
"""

from starlette._utils import get_route_path
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pellucid.errors import NotAllowed
from pellucid.instance.access.origins import is_cross_origin
from pellucid.instance.access.refusal_page import STYLE_HASH, refusal_response
from pellucid.instance.access.sessions import ASK_OWNER, Access, AccessChannel, Grant

FRAMED_BY = "'self' http://localhost:* http://127.0.0.1:*"
"""A notebook on this machine shows the page in a frame. A framed page opens with a code alone, and keeps nothing."""
POLICY = (
    f"default-src 'none'; script-src 'self'; style-src 'self' {STYLE_HASH}; img-src 'self' blob: data:; "
    "connect-src 'self'; worker-src 'self'; font-src 'self'; manifest-src 'self'; "
    f"base-uri 'none'; form-action 'none'; frame-ancestors {FRAMED_BY}"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",  # A page that opened this one has no hold on it.
    "Cache-Control": "no-store",
}
PRIVATE = {"Cross-Origin-Resource-Policy": "same-origin"}
"""Of everything but the page's own files: a page of another origin cannot show it."""
AGENT, SESSION, TICKET = "pellucid-agent", "pellucid-session", "ticket="


class TokenMiddleware:
    """Behind it, ``scope["grant"]`` is what a request may do, ``scope["capability"]`` how much of that, both None where
    it shows no access; ``scope["is_current"]()`` says whether its link still works, and ``scope["channel"]`` is how it
    came. What a page of another address asks for is refused."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        try:
            self._identify(scope)
        except NotAllowed as error:
            await _refuse(scope, receive, send, error)
            return
        await self._app(scope, self._while_current(scope["grant"], receive), _marked(scope, send))

    def _while_current(self, grant: Grant | None, receive: Receive) -> Receive:
        """Receive, until the link that the request came with is revoked: its body may take long to come."""
        if grant is None or not grant.link:
            return receive

        async def receive_current() -> Message:
            message = await receive()
            if message["type"] == "http.request" and not self._access.is_current(grant):
                raise HTTPException(403, f"The link of this request was revoked. {ASK_OWNER}", {"Connection": "close"})
            return message

        return receive_current

    def _identify(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        if is_cross_origin(headers.get("origin"), headers.get("host", ""), headers.get("x-forwarded-host", "")):
            raise NotAllowed("Cross-origin requests are not allowed.", remedy="Open the viewer's own page.")
        channel = scope["channel"] = self._access.channel(headers.get(AGENT))
        grant = scope["grant"] = self._grant(scope, headers, channel)
        scope["capability"] = None if grant is None else grant.capability
        scope["is_current"] = lambda: grant is None or self._access.is_current(grant)

    def _grant(self, scope: Scope, headers: Headers, channel: AccessChannel) -> Grant | None:
        query: str = scope["query_string"].decode("latin-1")
        if scope.get("method") == "GET" and TICKET in query:
            rest, _, ticket = query.rpartition(TICKET)
            target = get_route_path(scope) + (f"?{rest.rstrip('&')}" if rest else "")
            return self._access.grant_of_ticket(ticket, target, channel)
        bearer = headers.get("authorization", "").removeprefix("Bearer ").strip()
        return self._access.grant(headers.get(SESSION) or bearer, channel)


async def _refuse(scope: Scope, receive: Receive, send: Send, error: NotAllowed) -> None:
    if scope["type"] == "http":
        await refusal_response(scope, error, 403, HEADERS | PRIVATE)(scope, receive, send)
    else:
        await send({"type": "websocket.close", "code": 1008, "reason": error.what})


def _marked(scope: Scope, send: Send) -> Send:
    """Send, with our headers on every answer."""

    async def send_marked(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in (HEADERS if scope.get("is_public") else HEADERS | PRIVATE).items():
                headers.setdefault(name, value)
        await send(message)

    return send_marked
