"""Authentication through the Hub: a token of the Hub, in a header or a cookie.

Here: HubAuthMiddleware, before every page of the agent's own; ViewerAuth, before every viewer.
Not here: whose token it is (users), getting one (oauth), addresses that do not come from the Hub
(instance.access.auth).
"""

import asyncio
from importlib.metadata import PackageNotFoundError, version
from urllib.parse import parse_qs, quote, unquote

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from pellucid.agent.hub.activity import Activity
from pellucid.agent.hub.environment import HubEnvironment
from pellucid.agent.hub.oauth import LASTS_S, OAuthLogin
from pellucid.agent.hub.users import HubUnavailable, HubUsers
from pellucid.agent.proxy.request_head import RequestHead
from pellucid.instance.access.auth import HEADERS, SESSION
from pellucid.instance.access.origins import is_cross_origin
from pellucid.instance.access.refusal_page import refusal_page

COOKIE, STATE_COOKIE, SESSION_COOKIE = "pellucid-agent", "pellucid-log-in", "jupyterhub-session-id"
READING = ("GET", "HEAD")
DENIED = "Access denied"


class HubAuthMiddleware:
    """Below the Hub's prefix, the user whom the Hub names is the one whom the agent serves; everything else goes on
    as it came. token: the agent's own, by which the routes know that user."""

    def __init__(self, app: ASGIApp, hub: HubEnvironment, people: HubUsers, activity: Activity, token: str) -> None:
        self._app, self._hub, self._people, self._activity, self._token = app, hub, people, activity, token
        self._log_in = OAuthLogin(hub)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope.get("path", "")
        if scope["type"] not in ("http", "websocket") or not f"{path}/".startswith(f"{self._hub.prefix}/"):
            await self._app(scope, receive, send)
        elif scope["type"] == "http" and path == f"{self._hub.prefix}/oauth_callback":
            await (await self._logged_in(scope))(scope, receive, send)
        elif await self._may(scope):
            await self._app(self._as_own(scope), receive, send)
        elif scope["type"] == "http":
            await self._refusal(scope)(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008, "reason": "You are not logged in."})

    async def _may(self, scope: Scope) -> bool:
        headers = Headers(scope=scope)
        asking = RequestCredentials(
            scope.get("method", "GET"), headers.get("authorization", ""), headers.get("cookie", ""),
            headers.get("origin"),
            is_cross_origin(headers.get("origin"), headers.get("host", ""), headers.get("x-forwarded-host", "")),
        )  # fmt: skip
        if not await asking.is_allowed(self._people):
            return False
        if asking.method not in READING or headers.get("sec-fetch-mode") == "navigate":
            self._activity.note()
        return True

    def _as_own(self, scope: Scope) -> Scope:
        """The same request as the agent's own guard expects it, below the prefix."""
        names = (b"authorization", b"cookie", SESSION.encode())
        kept = [(name, value) for name, value in scope["headers"] if name not in names]
        kept.append((b"authorization", f"Bearer {self._token}".encode()))
        path = scope["path"] if scope["path"] != self._hub.prefix else f"{self._hub.prefix}/"
        return {**scope, "path": path, "headers": kept, "root_path": self._hub.prefix, "hub": self._hub.hub_url}

    def _refusal(self, scope: Scope) -> Response:
        """A page is redirected to the log-in and back; any other request is denied."""
        headers = Headers(scope=scope)
        is_page = scope["method"] == "GET" and "text/html" in headers.get("accept", "")
        if not is_page or headers.get("authorization"):
            return HTMLResponse(refusal_page(DENIED, "Log in, or pass an API token."), 403, HEADERS | _version())
        query = scope["query_string"].decode("latin-1")
        url, state = self._log_in.begin(quote(scope["path"]) + (f"?{query}" if query else ""))
        answer = RedirectResponse(url, 302, HEADERS | _version())
        self._set_cookie(answer, scope, STATE_COOKIE, state, int(LASTS_S))
        return answer

    async def _logged_in(self, scope: Scope) -> Response:
        query = parse_qs(scope["query_string"].decode("latin-1"))
        code, state = query.get("code", [""])[0], query.get("state", [""])[0]
        in_cookie = cookie(Headers(scope=scope).get("cookie", ""), STATE_COOKIE)
        try:
            token, back = await asyncio.to_thread(self._log_in.finish, code, state, in_cookie)
        except HubUnavailable:
            return HTMLResponse(refusal_page("The Hub does not respond.", "Try again in a moment."), 503, HEADERS)
        if not token and "error" in query:
            return HTMLResponse(refusal_page(DENIED, "Your account has no access to this server."), 403, HEADERS)
        answer = RedirectResponse(back, 302, HEADERS)
        answer.delete_cookie(STATE_COOKIE, f"{quote(self._hub.prefix)}/")
        if token:
            self._set_cookie(answer, scope, COOKIE, token, None)
        return answer

    def _set_cookie(self, answer: Response, scope: Scope, name: str, value: str, lasts_s: int | None) -> None:
        is_secure = Headers(scope=scope).get("x-forwarded-proto", "").partition(",")[0] == "https"
        path = f"{quote(self._hub.prefix)}/"
        # Lax, not strict: a user who follows a link from elsewhere would be sent to the log-in for ever.
        answer.set_cookie(name, value, lasts_s, path=path, secure=is_secure, httponly=True, samesite="lax")


class RequestCredentials:
    """What a request shows of who sent it. authorization, cookies, origin: the headers as they came."""

    def __init__(
        self, method: str, authorization: str, cookies: str, origin: str | None = None, is_foreign: bool = False
    ) -> None:
        self.method, self._cookies, self._origin, self._is_foreign = method, cookies, origin, is_foreign
        kind, _, value = authorization.partition(" ")
        self.bearer = value.strip() if kind.lower() in ("bearer", "token") else ""

    async def is_allowed(self, people: HubUsers) -> bool:
        if self._is_foreign:
            return False
        if self.bearer:
            return await asyncio.to_thread(people.is_allowed, self.bearer)
        if self.method not in READING and self._origin is None:
            return False  # A browser states the origin of a change; with cookies only the own origin is accepted.
        token, session = cookie(self._cookies, COOKIE), cookie(self._cookies, SESSION_COOKIE)
        return await asyncio.to_thread(people.is_allowed, token, session)


class ViewerAuth:
    """Authentication for viewers. has_links: a viewer's link is sufficient."""

    def __init__(self, hub: HubEnvironment, people: HubUsers, activity: Activity, has_links: bool) -> None:
        self._hub, self._people, self._activity, self._has_links = hub, people, activity, has_links

    async def __call__(self, head: RequestHead) -> tuple[RequestHead, bool]:
        """The head as a viewer knows it, and whether it is its owner's program, which the Hub vouches for.

        Unchanged if it is not for a viewer or not authenticated: the agent's own pages answer then.
        """
        inner = head.without_prefix(self._hub.prefix)
        if inner is None or inner.viewer[0] is None:
            return head, False
        asking = RequestCredentials(
            head.method, head.header("authorization") or "", head.header("cookie") or "", head.header("origin"),
            is_cross_origin(head.header("origin"), head.header("host") or "", head.header("x-forwarded-host") or ""),
        )  # fmt: skip
        if await asking.is_allowed(self._people):
            if head.is_upgrade or head.method not in READING or head.header("sec-fetch-mode") == "navigate":
                self._activity.note()
            return inner, bool(asking.bearer)
        return (inner if self._has_links and not asking.bearer else head), False


def cookie(header: str, name: str) -> str:
    """The value of one cookie; "" where there is none."""
    for part in header.split(";"):
        key, _, value = part.strip().partition("=")
        if key == name:
            return unquote(value.strip('"'))
    return ""


def _version() -> dict[str, str]:
    """The Hub compares this with its own, and warns where they differ much."""
    try:
        return {"X-JupyterHub-Version": version("jupyterhub")}
    except PackageNotFoundError:
        return {}
