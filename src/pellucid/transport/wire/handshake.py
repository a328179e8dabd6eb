"""The handshake: both ends prove that they hold the same token, without sending it.

Here: the first three messages of every connection.
Not here: what comes after (transfer), TLS (address).

The listening end greets with a random number, the connecting end answers with one of its own and a keyed hash of both,
and the listening end with another. A program that took over the port learns no secret.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable, Sequence

from pellucid.errors import InvalidInput, TokenRejected, TransferProtocolError
from pellucid.transport.wire.messages import Channel, Message, error_message

Tokens = Callable[[], Sequence[str]]
"""The tokens that a listening end takes, at this moment."""
VERSION = "1"
GREETING = "pellucid-transfer"


def prove(token: str, side: str, nonces: tuple[str, str]) -> str:
    """The keyed hash by which a side shows that it holds the token. nonces: the listener's, the caller's."""
    return hmac.new(token.encode(), " ".join((side, *nonces)).encode(), hashlib.sha256).hexdigest()


def checked_token(token: str) -> str:
    """The token, where it is one: an empty one would let anyone in."""
    if len(token) < 8:
        raise InvalidInput("The token is shorter than 8 characters.", remedy="Make one with secrets.token_urlsafe(32).")
    return token


def authenticate_client(channel: Channel, token: str, purpose: dict[str, str]) -> Message:
    """The connecting end's part. purpose: what this connection is for. Gives the listening end's welcome."""
    greeting = channel.expect(GREETING)
    if greeting.get("version") != VERSION:
        raise TransferProtocolError(
            f"it uses version {greeting.get('version')[:10]} of the protocol, this end {VERSION}"
        )
    nonces = (greeting.get("nonce"), secrets.token_hex(32))
    proof = prove(token, "connect", nonces)
    channel.write(Message("open", {"version": VERSION, "nonce": nonces[1], "proof": proof, **purpose}))
    welcome = channel.expect("welcome")
    if not hmac.compare_digest(welcome.get("proof").encode(), prove(token, "listen", nonces).encode()):
        raise TokenRejected("The server")
    return welcome


def authenticate_server(channel: Channel, tokens: Sequence[str], offer: dict[str, str]) -> tuple[Message, str]:
    """The listening end's part. tokens: any of which will do. offer: what the connecting end may use. Gives what it
    came for, and the token that it holds."""
    nonce = secrets.token_hex(32)
    channel.write(Message(GREETING, {"version": VERSION, "nonce": nonce}))
    opening = channel.expect("open")
    nonces = (nonce, opening.get("nonce"))
    shown = opening.get("proof").encode()
    token = next((one for one in tokens if hmac.compare_digest(shown, prove(one, "connect", nonces).encode())), None)
    if token is None:
        error = TokenRejected("The receiver")
        channel.write(error_message(error))
        raise error
    channel.write(Message("welcome", {"proof": prove(token, "listen", nonces), **offer}))
    return opening, token
