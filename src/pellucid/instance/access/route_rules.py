"""What each route requires and accepts, checked before any of the request's body is read.

Here: RouteRule, needs and public, which declare one, RouteTable and RouteMiddleware.
Not here: who sent the request (auth), what the routes do (routes).

A route without a rule is a mistake of ours: the application then does not start.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from fastapi import Depends
from fastapi.params import Depends as Dependency
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pellucid.errors import InvalidInput, NotAllowed, NotFound, PellucidError, TooManyRequests
from pellucid.instance.access.capabilities import allows, require
from pellucid.instance.access.refusal_page import refusal_response
from pellucid.instance.access.sessions import ASK_OWNER, FRESH_LINK
from pellucid.instance.protocol.shared_types import Capability
from pellucid.instance.websocket.message_rates import Rate

MAX_JSON_BYTES = 2**20
MAX_STREAM_BYTES = 2**40
"""Of a body that its route writes away as it comes, and checks as it does."""
MAX_GUEST_BODY_BYTES = 2**18
MAX_GUEST_REQUESTS_PER_SECOND = 100
MAX_WAIT_S = 5.0
"""Where guests' requests wait longer for their turn, further ones are refused: a few must not lock out all others."""
MAX_GUEST_HEAVY = 2
"""Of all guests together."""
COUNTED_BYTES = 1024
"""A guest's request counts once more for each of these in its body: checking a long one takes the time of many."""
PUBLIC_BODY_S = 10.0
"""Within this time all of a body has to come that anyone may send."""
GUEST_SILENCE_S = 60.0
"""So long the body of a guest's request may pause. The owner's may pause as long as it likes."""
BAD_REQUEST, FORBIDDEN, NOT_FOUND, WRONG_METHOD, TOO_SLOW, TOO_LARGE, TOO_MANY = 400, 403, 404, 405, 408, 413, 429
BODILESS = {"GET", "HEAD", "DELETE"}
POLICY_VIOLATION, TRY_AGAIN_LATER = 1008, 1013
CLOSE = {"Connection": "close"}


@dataclass(frozen=True)
class RouteRule:
    """capability: which one a request must have; None where everyone may send it. max_body_bytes: how long its body
    may be. is_heavy: it takes so much work that guests may have only a few at a time."""

    capability: Capability | None
    max_body_bytes: int = MAX_JSON_BYTES
    is_heavy: bool = False

    async def __call__(self) -> None:
        """A dependency of the route, which is where RouteTable finds it; the check is the middleware's."""


def needs(capability: Capability, max_body_bytes: int = MAX_JSON_BYTES, is_heavy: bool = False) -> Any:
    """Declare a route's rule: one of its dependencies."""
    return Depends(RouteRule(capability, max_body_bytes, is_heavy))


def public(max_body_bytes: int = MAX_JSON_BYTES) -> Any:
    """Declare that everyone may use a route: nothing that it gives is secret, or it checks that itself."""
    return Depends(RouteRule(None, max_body_bytes))


class RouteTable:
    """The rules of all routes of an application."""

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        self._rules = [(route, _rule_of(route)) for route in _flattened(routes)]

    def find(self, scope: Scope) -> tuple[RouteRule | None, bool]:
        """The rule for a request, and whether its path is known at all."""
        is_known = False
        for route, rule in self._rules:
            match, _ = route.matches(scope)
            if match is Match.FULL:
                return rule, True
            is_known = is_known or match is Match.PARTIAL
        return None, is_known

    @property
    def rules(self) -> dict[str, RouteRule]:
        """By method and path, such as ``PUT /api/camera``; ``WEBSOCKET /ws``."""
        named: dict[str, RouteRule] = {}
        for route, rule in self._rules:
            for method in getattr(route, "methods", None) or {"WEBSOCKET"}:
                named[f"{method} {getattr(route, 'path', '')}"] = rule
        return named


def _flattened(routes: Iterable[BaseRoute]) -> list[BaseRoute]:
    """With the routes of included routers, which FastAPI keeps by themselves."""
    found: list[BaseRoute] = []
    for route in routes:
        included = getattr(route, "original_router", None)
        found += [route] if included is None else _flattened(included.routes)
    return found


def _rule_of(route: BaseRoute) -> RouteRule:
    dependencies: list[Dependency] = getattr(route, "dependencies", [])
    rules = [one.dependency for one in dependencies if isinstance(one.dependency, RouteRule)]
    if not rules:
        raise RuntimeError(f"The route {getattr(route, 'path', route)} declares no rule: add needs(...) to it.")
    rule = rules[-1]  # Those of its router come first.
    methods: set[str] = getattr(route, "methods", None) or {"WEBSOCKET"}
    return replace(rule, max_body_bytes=0) if methods <= BODILESS else rule


class RouteMiddleware:
    """Refuses a request by its head, and cuts off a body that becomes longer than its route accepts.

    Stands behind the guard, which sets ``scope["capability"]``; None where a request shows no access.
    """

    def __init__(self, app: ASGIApp, table: RouteTable) -> None:
        self._app, self._table = app, table
        self._guests, self._heavy = Rate(MAX_GUEST_REQUESTS_PER_SECOND), 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        has: Capability | None = scope["capability"]
        is_guest = has is not None and not allows(has, "own")
        try:
            if is_guest:
                await self._turn(scope)
            rule = self._checked(scope)
            if is_guest and rule.is_heavy and self._heavy >= MAX_GUEST_HEAVY:
                raise TooManyRequests(
                    "The viewer is busy with other requests of guests.", remedy="Try again in a moment."
                )
        except PellucidError as error:
            await refuse(scope, receive, send, error)
            return
        self._heavy += (weight := int(is_guest and rule.is_heavy))
        try:
            if is_guest and rule.max_body_bytes:
                try:
                    await self._turn(scope, _counted_bytes(scope) // COUNTED_BYTES)
                except PellucidError as error:
                    await refuse(scope, receive, send, error)
                    return
            if scope["type"] == "http" and (rule.capability is None or is_guest):
                receive = _timed(receive, rule.capability is None)
            await self._app(scope, _limited(receive, rule.max_body_bytes), send)
        finally:
            self._heavy -= weight

    async def _turn(self, scope: Scope, count: int = 1) -> None:
        """Wait for a guest's turn, unless other guests wait too long already. The link may be revoked meanwhile."""
        if self._guests.debt_s > MAX_WAIT_S:
            raise TooManyRequests("The viewer is busy with other requests of guests.", remedy="Try again in a moment.")
        await asyncio.sleep(self._guests.take(count))
        if not scope["is_current"]():
            raise NotAllowed("The link of this request was revoked.", remedy=ASK_OWNER)

    def _checked(self, scope: Scope) -> RouteRule:
        rule, is_known = self._table.find(scope)
        if rule is None and is_known:
            what = f"{scope['path']} does not accept {scope['method']}."
            raise _WrongMethod(what, remedy="See /api/docs for the methods of each address.")
        if rule is None:
            raise _unknown(scope["path"])
        scope["is_public"] = rule.capability is None
        if rule.capability is not None and scope["capability"] is None:
            raise NotAllowed("The request has no valid token for this viewer.", remedy=FRESH_LINK)
        if rule.capability is not None:
            require(scope["capability"], rule.capability)
        if scope["capability"] in ("view", "control"):
            rule = replace(rule, max_body_bytes=min(rule.max_body_bytes, MAX_GUEST_BODY_BYTES))
        declared = Headers(scope=scope).get("content-length", "")
        if declared.isdecimal() and int(declared) > rule.max_body_bytes:
            raise _BodyTooLarge(rule.max_body_bytes)
        return rule


def _unknown(path: str) -> NotFound:
    error = NotFound(path)
    error.remedy = "Check the address, or open the link of the page again."
    return error


class _WrongMethod(InvalidInput):
    """An address that is known, with a method that it does not have."""


class _BodyTooLarge(InvalidInput):
    """A body longer than its route accepts."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(f"The body of this request exceeds {max_bytes:,} bytes.", remedy="Send less in one request.")


STATUSES: dict[type[PellucidError], int] = {
    NotAllowed: FORBIDDEN,
    NotFound: NOT_FOUND,
    _WrongMethod: WRONG_METHOD,
    _BodyTooLarge: TOO_LARGE,
    TooManyRequests: TOO_MANY,
}


async def refuse(scope: Scope, receive: Receive, send: Send, error: PellucidError) -> None:
    """Answer with an error, and read nothing of the body."""
    if scope["type"] == "websocket":
        code = TRY_AGAIN_LATER if isinstance(error, TooManyRequests) else POLICY_VIOLATION
        await send({"type": "websocket.close", "code": code, "reason": error.what})
        return
    # The body is not read: the connection cannot be used for another request. Nor should one be used on which more
    # requests without access may have come already: refusing each of them takes time too.
    is_last = _has_body(scope) or (isinstance(error, TooManyRequests) and scope["capability"] is None)
    headers = CLOSE if is_last else None
    answer = refusal_response(scope, error, STATUSES.get(type(error), BAD_REQUEST), headers)
    await answer(scope, receive, send)


def _has_body(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers


def _counted_bytes(scope: Scope) -> int:
    """As how long the body of a guest's request counts; one in chunks does not say, and counts as the longest."""
    headers = Headers(scope=scope)
    declared = headers.get("content-length", "0")
    is_short = (
        "transfer-encoding" not in headers and declared.isdecimal() and len(declared) <= len(str(MAX_GUEST_BODY_BYTES))
    )
    return min(int(declared), MAX_GUEST_BODY_BYTES) if is_short else MAX_GUEST_BODY_BYTES


def _limited(receive: Receive, max_bytes: int) -> Receive:
    """Receive, until more came than was allowed: a body in chunks does not say before how long it will be."""
    received = 0

    async def receive_limited() -> Message:
        nonlocal received
        message = await receive()
        if message["type"] == "http.request":
            received += len(message.get("body", b""))
            if received > max_bytes:
                error = _BodyTooLarge(max_bytes)
                raise HTTPException(TOO_LARGE, f"{error.what} {error.remedy}", CLOSE)
        return message

    return receive_limited


def _timed(receive: Receive, is_public: bool) -> Receive:
    """Receive, until the body takes too long. What comes after it, the end of the connection, may take any time."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PUBLIC_BODY_S
    is_whole = False

    async def receive_timed() -> Message:
        nonlocal is_whole
        if is_whole:
            return await receive()
        try:
            async with asyncio.timeout_at(deadline if is_public else loop.time() + GUEST_SILENCE_S):
                message = await receive()
        except TimeoutError as error:
            what = "The body of this request did not arrive in time. Send it again."
            raise HTTPException(TOO_SLOW, what, CLOSE) from error
        is_whole = not message.get("more_body", False)
        return message

    return receive_timed
