"""The head of an HTTP request, as far as the proxy needs it.

Here: RequestHead: where it leads, and what is passed on; answers of one sentence.
Not here: moving bytes (proxy).
"""

import re
from dataclasses import dataclass, replace
from http import HTTPStatus
from urllib.parse import unquote

from pellucid.instance.access.auth import AGENT
from pellucid.instance.access.refusal_page import STYLE_HASH, is_for_browser, refusal_page

MAX_HEAD_BYTES = 64 * 1024
REMEDY = "Open the page of the agent, which lists the viewers that run."
VIEWER = re.compile(r"/i/([0-9a-f]{10})(/|\?|$)")
HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+:")
# These speak of one connection only, and are decided here.
OF_THE_CONNECTION = ("connection", "keep-alive", "proxy-connection")


class InvalidRequest(ValueError):
    """What came is no request."""


@dataclass(frozen=True)
class RequestHead:
    """method, target and headers as they came; a header is its whole line."""

    method: str
    target: str
    headers: tuple[str, ...]

    @classmethod
    def parse(cls, raw: bytes) -> "RequestHead":
        first, *headers = raw.decode("latin-1").split("\r\n")
        words = first.split(" ")
        if len(words) != 3 or words[2] not in ("HTTP/1.1", "HTTP/1.0") or not words[0].isalpha():
            raise InvalidRequest("Invalid HTTP request.")
        # Whole addresses and folded or nameless headers are refused: two readers could understand them differently.
        if not words[1].startswith("/") or not all(HEADER.match(line) for line in headers):
            raise InvalidRequest("Invalid HTTP request.")
        if any(set(line) & set("\r\n\0") for line in (words[1], *headers)):
            raise InvalidRequest("Invalid HTTP request.")
        return cls(words[0], words[1], tuple(headers))

    @property
    def viewer(self) -> tuple[str | None, bool]:
        """The id of the viewer that it leads to, if any, and whether the slash after it is missing."""
        found = VIEWER.match(self.target)
        return (None, False) if found is None else (found[1], found[2] != "/")

    @property
    def with_trailing_slash(self) -> str:
        path, mark, query = self.target.partition("?")
        return f"{path}/{mark}{query}"

    @property
    def is_for_browser(self) -> bool:
        """Whether a person opens this address, and would read a refusal."""
        return is_for_browser(self.method, self.header("accept") or "")

    @property
    def is_upgrade(self) -> bool:
        """To a WebSocket. Nothing else is passed on as one: its connection could then be used for a second request, of
        which nothing would be known here."""
        return (self.header("upgrade") or "").lower() == "websocket"

    def header(self, name: str) -> str | None:
        """Its value, where it is there once; two could be understood differently, and count as none.

        Only spaces and tabs around it are no part of it, as for the upstream server: what counted as an upgrade here
        and not there would leave the connection open for a second request.
        """
        values = [line.partition(":")[2].strip(" \t") for line in self.headers if _name(line) == name]
        return values[0] if len(values) == 1 else None

    def without_prefix(self, prefix: str) -> "RequestHead | None":
        """The same without a prefix (given decoded, with no slash at its end); None where it is not there."""
        path, mark, query = self.target.partition("?")
        parts = path.split("/")
        depth = prefix.count("/") + 1
        if [unquote(part) for part in parts[:depth]] != prefix.split("/"):
            return None
        return replace(self, target="/" + "/".join(parts[depth:]) + mark + query)

    def for_upstream(self, viewer: str | None, stated: str = "") -> bytes:
        """The head for the upstream server: its own path, and that this is the only request of the connection.

        stated: what the agent says of the request (instance.sessions.Access.channel); clients cannot set it.
        """
        target = self.target if viewer is None else self.target[len(f"/i/{viewer}") :]
        dropped = (*OF_THE_CONNECTION, AGENT, *(() if self.is_upgrade else ("upgrade",)))
        kept = [line for line in self.headers if _name(line) not in dropped]
        kept += [f"{AGENT}: {stated}"] if stated else []
        kept.append("Connection: Upgrade" if self.is_upgrade else "Connection: close")
        return "\r\n".join([f"{self.method} {target} HTTP/1.1", *kept, "", ""]).encode("latin-1")


def _name(line: str) -> str:
    return line.partition(":")[0].lower()


def text_response(status: int, why: str, location: str = "", *, is_page: bool = False) -> bytes:
    """A whole answer of one sentence: text, or a page."""
    body = (refusal_page(why, REMEDY) if is_page else f"{why}\n").encode()
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        f"Content-Type: text/{'html' if is_page else 'plain'}; charset=utf-8",
        f"Content-Security-Policy: default-src 'none'; style-src {STYLE_HASH}; frame-ancestors 'self'",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        "Connection: close",
    ]
    if location:
        lines.append(f"Location: {location}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body
