"""Who may come in: a token in the address, then a cookie; and no page of somebody else's.

Here: Guard, which stands before every route, HTTP and WebSocket alike.
Not here: what the routes do (app).
"""

import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
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
    """Lets through who has the token, and sets the cookie that stands for it from then on."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        fault = self._fault(scope)
        if fault is None:
            await self._app(scope, receive, self._marked(scope, send))
        elif scope["type"] == "http":
            await _closed(fault)(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008, "reason": fault})

    def _fault(self, scope: Scope) -> str | None:
        """Why this request may not come in."""
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        if origin is not None and _host_of(origin) != headers.get("host"):
            return "It was asked for by a page from elsewhere."
        given = _from_query(scope) or _from_cookie(headers, _cookie_name(scope))
        if not given:
            return "The address has no token."
        if not secrets.compare_digest(given.encode(), self._token.encode()):
            return "The token is not the right one."
        return None

    def _marked(self, scope: Scope, send: Send) -> Send:
        """Send, with our headers on every answer."""

        async def send_marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                if _from_query(scope):
                    cookie = f"{_cookie_name(scope)}={self._token}; HttpOnly; SameSite=Strict; Path=/"
                    headers.append("Set-Cookie", cookie)
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
