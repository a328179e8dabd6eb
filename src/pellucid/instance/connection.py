"""One page's WebSocket.

Here: reading its messages, and sending it the newest picture and everything else in order.
Not here: what the messages mean (session), who may connect (guard).

Reading and sending are two tasks: input never waits behind a picture. A page that is slow to take pictures misses some.
"""

import asyncio
from collections import deque

from fastapi import WebSocket, WebSocketDisconnect

from pellucid.errors import InvalidInput, PellucidError
from pellucid.instance.protocol import VERSION, Hello, Incoming, Look, Outgoing, Patch, Picture, Resize, read, to_text
from pellucid.instance.session import Session, Told

MOST_WAITING = 256
WRONG_GREETING = 4000
GREETING_S = 10.0


class Outbox:
    """What still has to be sent: texts in order, and of the pictures only the newest."""

    def __init__(self) -> None:
        self._texts: deque[str] = deque(maxlen=MOST_WAITING)
        self._picture: Picture | None = None
        self._filled = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def tell(self, told: Told) -> None:
        """Put something in, from any thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.put, told)

    def put(self, told: Outgoing | Picture) -> None:
        if isinstance(told, Picture):
            self._picture = told
        else:
            self._texts.append(to_text(told))
        self._filled.set()

    async def next(self) -> str | bytes:
        while True:
            if self._texts:
                return self._texts.popleft()
            if self._picture is not None:
                picture, self._picture = self._picture, None
                return picture.to_bytes()
            self._filled.clear()
            await self._filled.wait()


async def serve(websocket: WebSocket, session: Session) -> None:
    """Talk with a page until it leaves."""
    await websocket.accept()
    outbox = Outbox()
    try:
        if not await _greeted(websocket, session, outbox):
            return
        sending = asyncio.create_task(_send(websocket, outbox))
        try:
            await _receive(websocket, session, outbox)
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
    except WebSocketDisconnect:
        pass
    finally:
        session.leave(outbox.tell)


async def _greeted(websocket: WebSocket, session: Session, outbox: Outbox) -> bool:
    """Hear the page's hello, and answer; a page that speaks another version is told and let go."""
    try:
        async with asyncio.timeout(GREETING_S):
            hello = read(await _text(websocket))
        if not isinstance(hello, Hello) or hello.version != VERSION:
            raise InvalidInput("The page and the viewer are of different versions.", do="Reload the page.")
    except PellucidError as error:
        await websocket.send_text(to_text(session.refusal(error)))
        await websocket.close(WRONG_GREETING)
        return False
    except TimeoutError:
        await websocket.close(WRONG_GREETING, "No greeting came.")
        return False
    outbox.put(session.join(outbox.tell, (hello.width, hello.height)))
    return True


async def _receive(websocket: WebSocket, session: Session, outbox: Outbox) -> None:
    while True:
        text = await _text(websocket)
        try:
            _obey(read(text), session)
        except PellucidError as error:
            outbox.put(session.refusal(error))


async def _text(websocket: WebSocket) -> str:
    """The next message; bytes, of which the protocol has none in this direction, count as an empty one."""
    message = await websocket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1000))
    return message.get("text") or ""


def _obey(message: Incoming, session: Session) -> None:
    match message:
        case Look(camera, is_moving):
            session.look(camera, is_moving)
        case Resize(width, height):
            session.resize((width, height))
        case Patch():
            session.apply(message)
        case Hello():
            raise InvalidInput("Hello was said already.", do="Reload the page.")


async def _send(websocket: WebSocket, outbox: Outbox) -> None:
    while True:
        match await outbox.next():
            case str() as text:
                await websocket.send_text(text)
            case bytes() as picture:
                await websocket.send_bytes(picture)
