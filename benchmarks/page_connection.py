"""A viewer's WebSocket, opened as its page opens it, without a browser.

Here: open_page.
Not here: what is sent and measured (viewer, stream), pages in a browser (viewer_page).
"""

import http.client
import json
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

from websockets.sync.client import ClientConnection, connect

from pellucid.client.viewer import Viewer
from pellucid.instance.access.proofs import sign
from pellucid.instance.protocol.shared_types import VERSION

HOST = "127.0.0.1"
TIMEOUT_S = 60.0
NONCE = "a nonce"


@contextmanager
def open_page(viewer: Viewer, size: tuple[int, int], encodings: Sequence[str]) -> Iterator[ClientConnection]:
    """A connection that both ends have authenticated, and that has sent hello."""
    link = urlsplit(viewer.url)
    address = f"{link.scheme}://{link.netloc}/"
    opened = _session(link.port or 80, {"code": parse_qs(link.fragment)["code"][0], "address": address})
    with connect(f"ws://{HOST}:{link.port}/ws", max_size=None) as socket:
        socket.send(json.dumps({"type": "prove", "session": opened["session"], "nonce": NONCE, "address": address}))
        given = json.loads(socket.recv(timeout=TIMEOUT_S))
        proof = sign(opened["key"], "page", NONCE, given["nonce"], address)
        width, height = size
        hello = {"type": "hello", "version": VERSION, "width": width, "height": height, "proof": proof}
        socket.send(json.dumps({**hello, "encodings": list(encodings)}))
        yield socket


def _session(port: int, body: dict[str, str]) -> dict[str, Any]:
    with closing(http.client.HTTPConnection(HOST, port, timeout=TIMEOUT_S)) as connection:
        connection.request("POST", "/api/session", json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        content = answer.read()
    if answer.status != http.client.OK:
        raise RuntimeError(f"the viewer answered with {answer.status}: {content.decode()}")
    opened: dict[str, Any] = json.loads(content)
    return opened
