"""A program asks a web server for its proof before it sends a secret."""

import hashlib
import hmac
import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pellucid.transport import server_proof
from pellucid.transport.server_proof import request_proof

SECRET = "s" * 43


@contextmanager
def server(statuses: list[int]) -> Iterator[int]:
    """Answers with these statuses in turn, the last one again and again; with a proof where it is 200."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            assert SECRET not in json.dumps(body) and body["secret_hash"] == hashlib.sha256(SECRET.encode()).hexdigest()
            status = statuses.pop(0) if len(statuses) > 1 else statuses[0]
            proof = hmac.new(SECRET.encode(), f"program {body['nonce']}".encode(), hashlib.sha256).hexdigest()
            content = json.dumps({"proof": proof} if status == 200 else {"what": "Not now."}).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield listening.server_address[1]
        listening.shutdown()


def proof_from(port: int) -> str:
    return request_proof(http.client.HTTPConnection("127.0.0.1", port, timeout=20), "/a", SECRET)


@pytest.mark.parametrize("statuses", [[200], [503, 502, 200], [429, 200]], ids=str)
def test_a_server_that_is_busy_is_asked_again(statuses: list[int]) -> None:
    with server(statuses) as port:
        assert proof_from(port) == "proved"


@pytest.mark.parametrize(("status", "proof"), [(503, "busy"), (404, "other")])
def test_what_never_proves_itself_is_named(status: int, proof: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_proof, "BUSY_TIMEOUT_S", 0.3)
    with server([status]) as port:
        assert proof_from(port) == proof
