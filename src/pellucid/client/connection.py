"""HTTP requests to a viewer.

Here: Connection: HTTP with a secret, answers as JSON or bytes, refusals as the errors that they are.
Not here: arrays on the same machine (transport.lanes), what the requests mean (viewer).
"""

import http.client
import json
import re
from collections.abc import Mapping
from contextlib import closing
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from pellucid.errors import InvalidInput, NotAllowed, PellucidError, ViewerUnreachable, error_named
from pellucid.transport.address import host_to_connect
from pellucid.transport.pinning import pinned_context, shows_pin
from pellucid.transport.server_proof import request_proof

TIMEOUT_S = 600.0
"""For an answer; a large image on a busy machine takes its time, and the instance has deadlines of its own."""
FRESH_LINK = "Use a new link, from viewer.url, pellucid open or pellucid view."
PIN = re.compile("[0-9a-f]{64}")
MAX_JSON_BYTES = 64 * 2**20
MAX_ANSWER_BYTES = 512 * 2**20
"""The largest image, 8192 x 8192 pixels without compression, has half of it."""


class Connection:
    """url: a link to an instance: behind # ``code=`` (works once: it is used here), or ``share=``, and ``pin=``, the
    SHA-256 of the only certificate to be trusted. bearer: shown instead of a link's secret: the owner's token, or the
    user's at a Hub. is_hub: a Hub is asked, or vouches for the user.

    Any thread may ask: every request is a connection of its own. Without TLS, the other end proves first that it is
    the process that issued the secret: on this machine, another user may have taken over the port of one that ended.
    """

    def __init__(self, url: str, bearer: str = "", *, is_hub: bool = False) -> None:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise _no_address(url) from error
        given = {name: values[0] for name, values in parse_qs(parts.fragment).items()}
        self.bearer = bearer or given.get("share", "")
        if parts.scheme not in ("http", "https") or not parts.hostname or not (self.bearer or given.get("code")):
            raise _no_address(url)
        self.port = port or {"http": 80, "https": 443}[parts.scheme]
        self._name, self._is_secure = parts.hostname, parts.scheme == "https"
        self.host = host_to_connect(self._name)
        self._pin = given["pin"] if PIN.fullmatch(given.get("pin", "")) else ""
        self._prefix = parts.path.rstrip("/")
        self.has_proof = not is_hub and not self._is_secure
        self._code = "" if self.bearer else given["code"]
        if self._code:
            body = {"code": self._code, "address": self.address}
            self.bearer = str(self.ask("POST", "/api/session", body)["token"])
            self._code = ""

    def link(self, secret: str) -> str:
        """The address with a secret behind it (``code=...`` or ``share=...``), for a browser or a program."""
        return f"{self.address}#{secret}" + (f"&pin={self._pin}" if self._pin else "")

    @property
    def address(self) -> str:
        """Without any secret, to be shown."""
        return f"{'https' if self._is_secure else 'http'}://{self._name}:{self.port}{self._prefix}/"

    @property
    def web(self) -> str:
        """For the transport, where nothing but the pages' own address leads to the instance."""
        return self.address + (f"#{self._pin}" if self._pin else "")

    def ask(self, method: str, path: str, body: object = None, **query: object) -> Any:
        """The JSON of an answer; None where it has no body."""
        sent = None if body is None else json.dumps(body).encode()
        answer = self._exchange(method, self._target(path, query), sent, MAX_JSON_BYTES)
        return json.loads(answer) if answer else None

    def exchange(self, method: str, path: str, body: bytes | memoryview | None = None, **query: object) -> bytes:
        """The bytes of an answer; a refusal is raised as the error that it was there."""
        return self._exchange(method, self._target(path, query), body, MAX_ANSWER_BYTES)

    def _target(self, path: str, query: Mapping[str, object]) -> str:
        return f"{self._prefix}{quote(path)}" + (f"?{urlencode(query)}" if query else "")

    def _exchange(self, method: str, target: str, body: bytes | memoryview | None, max_bytes: int) -> bytes:
        headers = {"Authorization": f"Bearer {self.bearer}"} if self.bearer else {}
        if body is not None:
            headers |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        try:
            with closing(self._opened()) as opened:
                if self.has_proof:
                    self._check_proof(opened)
                opened.request(method, target, body, headers)
                answer = opened.getresponse()
                content, status = _read(answer, max_bytes), answer.status
        except (OSError, http.client.HTTPException) as error:
            raise ViewerUnreachable(self.address, str(error) or type(error).__name__) from error
        if status >= 400:
            raise _refusal(status, content)
        return content

    def _check_proof(self, opened: http.client.HTTPConnection) -> None:
        """Before anything else is sent."""
        proof = request_proof(opened, self._prefix, self.bearer or self._code, is_code=not self.bearer)
        if proof == "unknown":
            raise _unknown_link() if self.bearer else _other_link()
        if proof == "busy":
            raise ViewerUnreachable(self.address, "it is too busy to answer")
        if proof == "other":
            raise ViewerUnreachable(self.address, "another program responds at this address")

    def _opened(self) -> http.client.HTTPConnection:
        if not self._is_secure:
            return http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT_S)
        if not self._pin:
            return http.client.HTTPSConnection(self.host, self.port, timeout=TIMEOUT_S)
        opened = http.client.HTTPSConnection(self.host, self.port, timeout=TIMEOUT_S, context=pinned_context())
        opened.connect()
        if not shows_pin(opened.sock, self._pin):
            opened.close()
            raise ViewerUnreachable(self.address, "the certificate at this address is not the viewer's")
        return opened


def _read(answer: http.client.HTTPResponse, max_bytes: int) -> bytes:
    """All of an answer. One that is longer, or ends too early, is an error of the connection."""
    content = answer.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise http.client.HTTPException(f"its answer exceeds {max_bytes:,} bytes")
    if answer.length:
        raise http.client.IncompleteRead(content, answer.length)
    return content


def _no_address(url: str) -> InvalidInput:
    shown = url.partition("#")[0].partition("?")[0]
    remedy = "Use the complete link, including #code= or #share= and everything after it."
    return InvalidInput(f"{shown!r} is not a link to a viewer.", remedy=remedy)


def _unknown_link() -> NotAllowed:
    return NotAllowed("The viewer rejected this link.", remedy=FRESH_LINK)


def _other_link() -> NotAllowed:
    return NotAllowed("This link belongs to another viewer, or the viewer was restarted.", remedy=FRESH_LINK)


def _refusal(status: int, content: bytes) -> PellucidError:
    try:
        reply = json.loads(content)
        return error_from_body(reply)
    except (ValueError, KeyError, TypeError):
        # A proxy answers with a page for users.
        if status == 403:
            return _unknown_link()
        return InvalidInput(
            f"The viewer answered with status {status}.", remedy="Check that this is the address of a viewer."
        )


def error_from_body(reply: Mapping[str, Any]) -> PellucidError:
    """The error that an instance sent."""
    return error_named(str(reply.get("kind", "")), reply["what"], reply["remedy"], int(reply.get("line", 0)))
