"""The proof of a web server that it holds a secret, before the secret is sent to it.

Here: request_proof, for every program that sends a secret to a viewer or an agent without TLS.
Not here: the server's end (instance.routes.sessions), the same proof between the ends of a transfer (handshake).

Another user of this machine may listen at the port of a process that has ended. The request names the secret by its
SHA-256, or a code by its parts that are not secret, and has a random number; the answer is a keyed hash of that.
"""

import hashlib
import hmac
import http.client
import json
import secrets
import time
from typing import Literal

MAX_ANSWER_BYTES = 4096
ROUTE = "/api/prove"
BUSY_TIMEOUT_S, RETRY_S = 10.0, 0.2
ServerProof = Literal["proved", "unknown", "busy", "other"]
"""unknown: the server says that it does not hold the secret. busy: for 10 s it said that it cannot answer. other: it
is another program."""


def request_proof(
    opened: http.client.HTTPConnection, prefix: str, secret: str, *, is_code: bool = False
) -> ServerProof:
    """Whether the server behind a connection holds a secret. prefix: the path of the viewer's or agent's page.

    One that is busy, such as an agent whose viewer is not reached at once, is asked again: nothing secret is sent.
    """
    end = time.monotonic() + BUSY_TIMEOUT_S
    while (proof := _request_once(opened, prefix, secret, is_code)) == "busy" and time.monotonic() < end:
        time.sleep(RETRY_S)
    return proof


def _request_once(opened: http.client.HTTPConnection, prefix: str, secret: str, is_code: bool) -> ServerProof:
    nonce = secrets.token_hex(16)
    named = {"code": secret.rpartition(".")[0]} if is_code else {"secret_hash": _hashed(secret)}
    body = json.dumps({"nonce": nonce, **named}).encode()
    opened.request("POST", f"{prefix}{ROUTE}", body, {"Content-Type": "application/json"})
    answer = opened.getresponse()
    content = answer.read(MAX_ANSWER_BYTES)
    if answer.status == http.HTTPStatus.TOO_MANY_REQUESTS or answer.status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
        return "busy"
    try:
        proof = str(json.loads(content)["proof"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return "other"
    wanted = hmac.new(secret.encode(), f"program {nonce}".encode(), hashlib.sha256).hexdigest()
    if hmac.compare_digest(proof.encode(), wanted.encode()):
        return "proved"
    # A server that was started again makes another proof for a code.
    return "unknown" if answer.status == http.HTTPStatus.OK and (is_code or not proof) else "other"


def _hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
