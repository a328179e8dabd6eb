"""One page's WebSocket.

Here: the proofs of both ends, the greeting, reading its messages, sending it what is in its outbox.
Not here: what the messages mean (handlers), how proofs are made (sessions).

Reading and sending are two tasks: input never waits behind an image.
"""

import asyncio
import secrets
from typing import Any, TypeVar
from uuid import uuid4

from fastapi import WebSocket, WebSocketDisconnect

from pellucid.errors import InvalidInput, PellucidError
from pellucid.instance.access.capabilities import allows
from pellucid.instance.access.guest_limits import limited_size
from pellucid.instance.access.proofs import sign
from pellucid.instance.access.redaction import refuse
from pellucid.instance.access.sessions import Access, AccessChannel, PageSession
from pellucid.instance.protocol.client_messages import Hello, Incoming, Prove
from pellucid.instance.protocol.codec import read, to_text
from pellucid.instance.protocol.server_messages import ErrorMessage, Moved, Proof
from pellucid.instance.protocol.shared_types import MAX_CLIENTS, RESERVED_FOR_OWNER, VERSION, Client
from pellucid.instance.session import Session
from pellucid.instance.websocket.client import ConnectedClient, ConnectionEnded
from pellucid.instance.websocket.handlers import handle_message
from pellucid.instance.websocket.message_rates import MessageLimiter

WRONG_GREETING = 4000
LATE = 4006
"""A page that was slow, on a busy machine, connects again."""
MOVED = 4005
"""The page goes on at another address."""
UNKNOWN = 4004
"""The page is not one of this viewer, or could not prove it."""
BUSY = 1013
TOO_MANY = "Too many pages are open. Close one."
GREETING_S = 10.0
Greeting = TypeVar("Greeting", Prove, Hello)


async def serve(websocket: WebSocket, session: Session, channel: AccessChannel) -> None:
    """Talk with a page until it leaves."""
    if len(session.members) >= MAX_CLIENTS:
        await websocket.close(BUSY, TOO_MANY)
        return
    await websocket.accept()
    address = tuple(websocket.scope.get("client") or ())
    member: ConnectedClient | None = None
    page: PageSession | None = None
    try:
        page, member = await _handshake(websocket, session.access, channel)
        if page is None or member is None:
            return
        # Until now it has waited, as far as the registry of connections knows: what proves nothing is closed soon.
        if not _has_place(session, member, address):
            await websocket.close(BUSY, TOO_MANY)
            return
        session.join(member)
        sending = asyncio.create_task(_send(websocket, member))
        try:
            await _receive(websocket, session, member)
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
    except WebSocketDisconnect:
        pass
    finally:
        if member is not None:
            session.leave(member)
        if page is not None:
            session.access.leave(page)
            session.connections.end(address)


def _has_place(session: Session, member: ConnectedClient, address: tuple[Any, ...]) -> bool:
    """Whether another client may join: the last places are the owner's."""
    is_owner = allows(member.client.capability, "own")
    reserved = 0 if is_owner else RESERVED_FOR_OWNER
    return len(session.members) < MAX_CLIENTS - reserved and session.connections.begin(address, is_owner)


async def _handshake(
    websocket: WebSocket, access: Access, channel: AccessChannel
) -> tuple[PageSession | None, ConnectedClient | None]:
    """Prove who this is, and have the page do the same; nothing else is said before that."""
    try:
        async with asyncio.timeout(GREETING_S):
            page, hello = await _proved(websocket, access, channel)
    except PellucidError as error:
        await websocket.send_text(to_text(ErrorMessage(error.what, error.remedy)))
        await websocket.close(WRONG_GREETING)
        return None, None
    except TimeoutError:
        await websocket.close(LATE, "The page sent no hello.")
        return None, None
    if page is None or not access.is_current(page.grant):
        await websocket.close(UNKNOWN, "The session of this page is unknown.")
        return None, None
    if link := access.new_link(page, channel):
        await websocket.send_text(to_text(Moved(link)))
        await websocket.close(MOVED, "The viewer has a new address.")
        return None, None
    access.keep(page)
    client = Client(uuid4().hex[:8], hello.name, page.grant.capability)
    size = limited_size((hello.width, hello.height), page.grant.capability)
    return page, ConnectedClient(client, size, hello.encodings, link=page.grant.link, token=page.token)


async def _proved(websocket: WebSocket, access: Access, channel: AccessChannel) -> tuple[PageSession | None, Hello]:
    """The session of a page that holds its key; None for one that does not."""
    wanted = _expected(await _text(websocket), Prove)
    page = access.known(wanted.session, wanted.address, channel)
    key, address = ("", "") if page is None else (page.key, page.address)
    words = (wanted.nonce, secrets.token_hex(32), address)
    # One that is not known gets a proof too, which is worth nothing: what is known here cannot be found out.
    proof = sign(key or secrets.token_hex(32), "server", *words)
    await websocket.send_text(to_text(Proof(words[1], proof)))
    hello = _expected(await _text(websocket), Hello)
    is_proved = secrets.compare_digest(hello.proof.encode(), sign(key, "page", *words).encode())
    return page if page is not None and is_proved else None, hello


def _expected(text: str, kind: type[Greeting]) -> Greeting:
    message = read(text)
    version = getattr(message, "version", VERSION)
    if not isinstance(message, kind) or version != VERSION:
        raise InvalidInput("The page and the viewer have different versions.", remedy="Reload the page.")
    return message


async def _receive(websocket: WebSocket, session: Session, member: ConnectedClient) -> None:
    def act(message: Incoming) -> None:
        try:
            handle_message(session, member, message)
        except PellucidError as error:
            refuse(session, member, error, getattr(message, "request", ""))

    limiter = MessageLimiter(member.client.capability, act, asyncio.get_running_loop().call_later)
    try:
        while not member.outbox.is_overfull:
            text = await _text(websocket)
            await asyncio.sleep(limiter.wait_s(len(text)))
            if member.outbox.is_overfull:  # Its link was revoked meanwhile.
                return
            try:
                limiter.check(len(text))
                message = read(text)
            except PellucidError as error:
                refuse(session, member, error)
                continue
            if (delay_s := limiter.offer(message)) > 0:
                await asyncio.sleep(delay_s)
                if not member.outbox.is_overfull:
                    act(message)
    finally:
        limiter.close()


async def _text(websocket: WebSocket) -> str:
    """The next message; bytes, of which the protocol has none in this direction, count as an empty one."""
    message = await websocket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1000))
    return message.get("text") or ""


async def _send(websocket: WebSocket, member: ConnectedClient) -> None:
    try:
        while True:
            match await member.outbox.next():
                case str() as text:
                    await websocket.send_text(text)
                case bytes() as image:
                    await websocket.send_bytes(image)
    except ConnectionEnded as end:
        await websocket.close(end.code)
