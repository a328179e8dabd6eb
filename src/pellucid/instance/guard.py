"""Who may come in: a token in the address, then a cookie; and no page of somebody else's.

Here: Guard, which stands before every route, HTTP and WebSocket alike, and says what the token allows.
Not here: what the routes do (routes), what each capability is for (capabilities).

A program gives the token in the header ``Authorization: Bearer TOKEN``.
"""

from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pellucid.instance.capabilities import Tokens
from pellucid.instance.protocol.parts import Capability

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
    "connect-src 'self'; worker-src 'self'; font-src 'self'; manifest-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
FRAMED_BY_NOTEBOOKS = " http://localhost:* http://127.0.0.1:*"
"""Whoever gives the token may also show the page inside another: a notebook on this machine does."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
CLOSED = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Pellucid</title>
<h1>This viewer is closed to this address</h1>
<p>%s</p>
<p>Open the whole address that <code>pellucid view</code> printed, with everything after <code>?token=</code>.
It changes every time the viewer is started.</p></html>
"""


class Guard:
    """Lets through who has a token, and sets the cookie that stands for it from then on.

    Behind it, ``scope["capability"]`` is what the token allows.
    """

    def __init__(self, app: ASGIApp, tokens: Tokens) -> None:
        self._app = app
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        given = _given(scope)
        capability = self._tokens.capability(given)
        fault = _fault(scope, given, capability)
        if fault is None:
            scope["capability"] = capability
            await self._app(scope, receive, _marked(scope, send))
        elif scope["type"] == "http":
            await _closed(fault)(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008, "reason": fault})


def _fault(scope: Scope, given: str, capability: Capability | None) -> str | None:
    """Why this request may not come in."""
    headers = Headers(scope=scope)
    if is_foreign(headers.get("origin"), headers.get("host", ""), headers.get("x-forwarded-host", "")):
        return "It was asked for by a page from elsewhere."
    if not given:
        return "The address has no token."
    return "The token is not the right one." if capability is None else None


def is_foreign(origin: str | None, host: str, forwarded: str) -> bool:
    """Whether a page from elsewhere asks. forwarded: what a proxy says it was asked for, which no page can say.

    >>> is_foreign("https://site.org", "node:8443", "site.org"), is_foreign("https://elsewhere.org", "site.org", "")
    (False, True)
    """
    known = {host, *(name.strip() for name in forwarded.split(","))} - {""}
    return origin is not None and _host_of(origin) not in known


def _given(scope: Scope) -> str:
    """The token: in the address, in a header, or in the cookie."""
    headers = Headers(scope=scope)
    bearer = headers.get("authorization", "").removeprefix("Bearer ").strip()
    return _from_query(scope) or bearer or _from_cookie(headers, _cookie_name(scope))


def _marked(scope: Scope, send: Send) -> Send:
    """Send, with our headers on every answer."""

    async def send_marked(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            if token := _from_query(scope):
                # Without a path: below a proxy's prefix it is then kept from everything else on that host.
                headers.append("Set-Cookie", f"{_cookie_name(scope)}={token}; HttpOnly; SameSite=Strict")
                headers["Content-Security-Policy"] = POLICY + FRAMED_BY_NOTEBOOKS
        await send(message)

    return send_marked


def _closed(fault: str) -> Response:
    return HTMLResponse(CLOSED % fault, status_code=403, headers=HEADERS)


def _host_of(origin: str) -> str:
    """Host and port of an address; nothing where it is none."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _from_query(scope: Scope) -> str:
    query: bytes = scope["query_string"]
    return parse_qs(query.decode("latin-1")).get("token", [""])[0]


def _from_cookie(headers: Headers, name: str) -> str:
    try:
        cookies = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return ""
    return str(cookies[name].value) if name in cookies else ""


def _cookie_name(scope: Scope) -> str:
    """Browsers keep cookies by host alone: the port in the name keeps two viewers on one machine apart."""
    return f"pellucid-{(scope.get('server') or ('', 0))[1]}"
