"""One page's WebSocket.

Here: the greeting, reading its messages, sending it what is in its outbox.
Not here: what the messages mean (dialogue), who may connect (guard).

Reading and sending are two tasks: input never waits behind a picture.
"""

import asyncio
from uuid import uuid4

from fastapi import WebSocket, WebSocketDisconnect

from pellucid.errors import InvalidInput, PellucidError
from pellucid.instance.capabilities import allows
from pellucid.instance.dialogue import obey
from pellucid.instance.members import Member
from pellucid.instance.protocol.incoming import Hello
from pellucid.instance.protocol.outgoing import Refusal
from pellucid.instance.protocol.parts import MOST_CLIENTS, RESERVED_FOR_OWNER, VERSION, Capability, Client
from pellucid.instance.protocol.wire import read, to_text
from pellucid.instance.session import Session

WRONG_GREETING = 4000
BUSY = 1013
TOO_MANY = "Too many pages are open: close one."
GREETING_S = 10.0


async def serve(websocket: WebSocket, session: Session, capability: Capability) -> None:
    """Talk with a page until it leaves."""
    if not _has_place(session, capability):
        await websocket.close(BUSY, TOO_MANY)
        return
    await websocket.accept()
    member: Member | None = None
    try:
        member = await _greeted(websocket, capability)
        if member is None:
            return
        if not _has_place(session, capability):  # Others came while it said hello.
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


def _has_place(session: Session, capability: Capability) -> bool:
    """Whether another client may join: the last places are the owner's."""
    reserved = 0 if allows(capability, "own") else RESERVED_FOR_OWNER
    return len(session.members) < MOST_CLIENTS - reserved


async def _greeted(websocket: WebSocket, capability: Capability) -> Member | None:
    """Hear the page's hello; a page that speaks another version is told and let go."""
    try:
        async with asyncio.timeout(GREETING_S):
            hello = read(await _text(websocket))
        if not isinstance(hello, Hello) or hello.version != VERSION:
            raise InvalidInput("The page and the viewer are of different versions.", do="Reload the page.")
    except PellucidError as error:
        await websocket.send_text(to_text(Refusal(error.what, error.do)))
        await websocket.close(WRONG_GREETING)
        return None
    except TimeoutError:
        await websocket.close(WRONG_GREETING, "No greeting came.")
        return None
    client = Client(uuid4().hex[:8], hello.name, capability)
    return Member(client, (hello.width, hello.height), hello.encodings)


async def _receive(websocket: WebSocket, session: Session, member: Member) -> None:
    while not member.outbox.is_overfull:
        text = await _text(websocket)
        request = ""
        try:
            message = read(text)
            request = getattr(message, "request", "")
            obey(session, member, message)
        except PellucidError as error:
            member.outbox.put(session.refusal(error, request))


async def _text(websocket: WebSocket) -> str:
    """The next message; bytes, of which the protocol has none in this direction, count as an empty one."""
    message = await websocket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1000))
    return message.get("text") or ""


async def _send(websocket: WebSocket, member: Member) -> None:
    while True:
        match await member.outbox.next():
            case str() as text:
                await websocket.send_text(text)
            case bytes() as picture:
                await websocket.send_bytes(picture)
