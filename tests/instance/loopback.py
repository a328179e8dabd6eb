"""A running instance, and what a page does with it, without a browser: it greets, steers, and takes pictures.

Here: running, and Page, a client over a real WebSocket.
Not here: tests.
"""

import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from PIL import Image
from websockets.sync.client import ClientConnection, connect

from pellucid.formats.protocol import Voxels
from pellucid.instance.protocol import VERSION
from pellucid.instance.server import Instance
from pellucid.rendering.camera import Camera
from pellucid.rendering.renderer import Renderer
from pellucid.volume.volume import Volume

PATIENCE_S = 20


@dataclass(frozen=True)
class Shown:
    """A picture that arrived: its header, and its pixels (height, width, 3)."""

    header: dict[str, Any]
    rgb: Voxels


@dataclass(frozen=True)
class Page:
    socket: ClientConnection

    def say(self, kind: str, **message: object) -> None:
        self.socket.send(json.dumps({"kind": kind, **message}))

    def look(self, camera: Camera, is_moving: bool) -> None:
        self.say("look", camera=asdict(camera), is_moving=is_moving)

    def hear(self) -> dict[str, Any] | Shown:
        """The next message of any kind."""
        message = self.socket.recv(timeout=PATIENCE_S)
        if isinstance(message, str):
            heard: dict[str, Any] = json.loads(message)
            return heard
        length = int.from_bytes(message[:4], "little")
        return Shown(json.loads(message[4 : 4 + length]), np.asarray(Image.open(io.BytesIO(message[4 + length :]))))

    def hear_text(self, kind: str) -> dict[str, Any]:
        """The next message of a kind; others are passed over."""
        while not isinstance(heard := self.hear(), dict) or heard["kind"] != kind:
            pass
        return heard

    def pictures_until_exact(self, camera: Camera) -> list[Shown]:
        """All pictures up to the exact one from a camera."""
        seen: list[Shown] = []
        while not seen or not seen[-1].header["is_exact"] or seen[-1].header["camera"] != as_sent(camera):
            if isinstance(heard := self.hear(), Shown):
                seen.append(heard)
        return seen

    def exact_of(self, revision: int) -> Shown:
        """The exact picture of a revision."""
        while True:
            heard = self.hear()
            if isinstance(heard, Shown) and heard.header["is_exact"] and heard.header["revision"] == revision:
                return heard


def as_sent(camera: Camera) -> Any:
    return json.loads(json.dumps(asdict(camera)))


def address(instance: Instance, token: str | None = None) -> str:
    return f"ws://127.0.0.1:{instance.port}/ws?token={instance.token if token is None else token}"


@contextmanager
def open_page(instance: Instance, width: int = 64, height: int = 48, **options: Any) -> Iterator[Page]:
    """A page that has said hello."""
    with connect(address(instance), max_size=None, **options) as socket:
        page = Page(socket)
        page.say("hello", version=VERSION, width=width, height=height)
        yield page


@contextmanager
def running(volume: Volume, renderer: Renderer) -> Iterator[Instance]:
    """An instance on a free port, served from a thread until the end."""
    instance = Instance(volume, renderer)
    thread = threading.Thread(target=instance.run, name="instance-under-test")
    thread.start()
    try:
        yield instance
    finally:
        instance.stop()
        thread.join()
