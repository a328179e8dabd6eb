"""The user of a token, as the Hub states it.

Here: HubUsers, who may come in; requests to the Hub.
Not here: where tokens come from (auth, oauth).

The class HubOAuth of the package jupyterhub does the same, and would double the agent's memory: it brings a database
with it.
"""

import json
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pellucid.agent.hub.environment import HubEnvironment
from pellucid.agent.hub.sockets import socket_path
from pellucid.dataclass_json import from_reply
from pellucid.errors import InvalidInput

TIMEOUT_S = 10.0
FRESH_S = 60.0
"""So long an answer of the Hub holds."""
STALE_S = 600.0
"""So long it holds where the Hub does not answer: it may be restarted while users work."""
MAX_KNOWN = 1000


class HubUnavailable(Exception):
    """The Hub did not answer, or not in a way that says anything about a token."""


def ask_hub(url: str, token: str, body: bytes | None = None, content_type: str = "application/json") -> dict[str, Any]:
    """The JSON of the Hub's answer; empty where it refuses or is silent."""
    headers = {"Content-Type": content_type} | ({"Authorization": f"token {token}"} if token else {})
    try:
        status, content = _request(url, body, headers)
    except (HTTPException, OSError, ValueError) as error:
        raise HubUnavailable(str(error)) from error
    if status >= 500:
        raise HubUnavailable(f"status {status}")
    try:
        reply = json.loads(content) if content and status < 400 else {}
    except ValueError as error:
        raise HubUnavailable("The reply is not valid JSON.") from error
    return reply if isinstance(reply, dict) else {}


class SocketConnection(HTTPConnection):
    """HTTP to a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=TIMEOUT_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(TIMEOUT_S)
        self.sock.connect(str(self._path))


def _request(url: str, body: bytes | None, headers: Mapping[str, str]) -> tuple[int, bytes]:
    """Status and content of the Hub's reply."""
    connection = SocketConnection(socket_path(url))
    try:
        connection.request("GET" if body is None else "POST", urlsplit(url).path, body, headers)
        reply = connection.getresponse()
        return reply.status, reply.read()
    finally:
        connection.close()


@dataclass(frozen=True)
class TokenScopes:
    """Of what the Hub says of a token's user: what the token allows."""

    scopes: tuple[str, ...] = ()


class HubUsers:
    """Answers are kept for a minute. Any thread may ask."""

    def __init__(
        self,
        hub: HubEnvironment,
        ask: Callable[[str, str], Mapping[str, Any]] = ask_hub,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._hub, self._ask, self._clock = hub, ask, clock
        self._known: dict[tuple[str, str], tuple[float, bool]] = {}

    def is_allowed(self, token: str, session: str = "") -> bool:
        """session: which log-in of a browser it belongs to: after logging out it is another, and the Hub is asked."""
        if not token:
            return False
        requested_at, answer = self._known.get((token, session), (-STALE_S, False))
        age_s = self._clock() - requested_at
        if age_s < FRESH_S and answer:
            return True
        try:
            answer = has_scope(self._ask(f"{self._hub.api_url}/user", token), self._hub.access)
        except HubUnavailable:
            return answer and age_s < STALE_S
        self._remember(token, session, answer)
        return answer

    def _remember(self, token: str, session: str, answer: bool) -> None:
        self._known.pop((token, session), None)
        if answer:
            self._known[token, session] = (self._clock(), answer)
        while len(self._known) > MAX_KNOWN:
            del self._known[next(iter(self._known))]


def has_scope(user: Mapping[str, Any], access: tuple[str, ...]) -> bool:
    """Whether the Hub's answer has one of the scopes, or one that is for everyone's.

    >>> has_scope({"scopes": ["access:servers!user=ada"]}, ("access:servers!server=ada/", "access:servers!user=ada"))
    True
    >>> has_scope({"scopes": ["access:servers!user=bob"]}, ("access:servers!server=ada/", "access:servers!user=ada"))
    False
    """
    try:
        scopes = from_reply(TokenScopes, dict(user), "the Hub's reply").scopes
    except InvalidInput:
        return False
    return any(scope in scopes or scope.partition("!")[0] in scopes for scope in access)
