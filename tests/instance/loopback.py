"""A running instance, and what a page does with it, without a browser: it greets, steers, and takes pictures.

Here: running, Page (a client over a real WebSocket), and HTTP with a token.
Not here: tests.
"""

import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from PIL import Image
from websockets.sync.client import ClientConnection, connect

from pellucid.dataclass_json import from_json
from pellucid.formats.protocol import Voxels
from pellucid.instance.access.proofs import sign
from pellucid.instance.app import create_app
from pellucid.instance.protocol.shared_types import VERSION, Capability
from pellucid.instance.server import HOST, Instance
from pellucid.instance.session import Session, SessionOptions
from pellucid.rendering.camera import Camera
from pellucid.rendering.scene import Scene
from pellucid.workers.process import Deadlines
from tests.waiting import TIMEOUT_S


@dataclass(frozen=True)
class Shown:
    """A picture that arrived: its header, its bytes, and for stills its pixels (height, width, 3)."""

    header: dict[str, Any]
    encoded: bytes

    @property
    def rgb(self) -> Voxels:
        return np.asarray(Image.open(io.BytesIO(self.encoded)))


@dataclass
class Page:
    """What it hears of the state it keeps, as the real page does."""

    socket: ClientConnection
    has_acknowledged: bool = True
    state: dict[str, Any] = field(default_factory=dict)
    client: str = ""

    def say(self, type: str, **message: object) -> None:
        self.socket.send(json.dumps({"type": type, **message}))

    def look(self, camera: Camera, is_moving: bool) -> None:
        self.say("set_camera", camera=asdict(camera), is_moving=is_moving)

    def patch(self, *path: str | int, value: object, **more: object) -> None:
        """Change one place, for the revision heard last."""
        self.say("patch", revision=self.state["revision"], changes=[{"path": path, "value": value}], **more)

    def hear(self) -> dict[str, Any] | Shown:
        """The next message of any kind."""
        message = self.socket.recv(timeout=TIMEOUT_S)
        if isinstance(message, str):
            heard: dict[str, Any] = json.loads(message)
            self.state = heard if heard["type"] == "state" else self.state
            self.client = heard["client"] if heard["type"] == "welcome" else self.client
            return heard
        length = int.from_bytes(message[:4], "little")
        shown = Shown(json.loads(message[4 : 4 + length]), message[4 + length :])
        if self.has_acknowledged and shown.header["type"] == "frame":
            self.say("acknowledge", number=shown.header["number"])
        elif self.has_acknowledged:
            self.say("acknowledge_slice", axis=shown.header["axis"], number=shown.header["number"])
        return shown

    def hear_text(self, type: str) -> dict[str, Any]:
        """The next message of a type; others are passed over."""
        while not isinstance(heard := self.hear(), dict) or heard["type"] != type:
            pass
        return heard

    def hear_picture(self, type: str = "frame") -> Shown:
        while not isinstance(heard := self.hear(), Shown) or heard.header["type"] != type:
            pass
        return heard

    def exact(self, revision: int | None = None, camera: Camera | None = None, view: str = "main") -> Shown:
        """The exact picture of a revision, or from a camera; by default of what was heard of last."""
        while True:
            header = (shown := self.hear_picture()).header
            is_wanted = header["is_exact"] and header["view"] == view
            if camera is not None:
                is_wanted = is_wanted and header["camera"] == as_sent(camera)
            elif revision is not None:
                is_wanted = is_wanted and header["revision"] == revision
            if is_wanted:
                return shown

    def exact_views(self, revision: int) -> dict[str, Shown]:
        """The exact pictures of both scenes, side by side, whichever is encoded first."""
        found: dict[str, Shown] = {}
        while len(found) < 2:
            header = (shown := self.hear_picture()).header
            if header["is_exact"] and header["revision"] == revision:
                found[header["view"]] = shown
        return found

    @property
    def scene(self) -> Scene:
        """The scene heard of last."""
        scene: Scene = from_json(Scene, self.state["scene"], "scene")
        return scene


def interface() -> dict[str, Any]:
    """The OpenAPI document."""
    session = Session(SessionOptions())
    try:
        return create_app(session).openapi()
    finally:
        session.close()


def as_sent(camera: Camera) -> Any:
    return json.loads(json.dumps(asdict(camera)))


def address(instance: Instance) -> str:
    return f"ws://{HOST}:{instance.port}/ws"


def begun(instance: Instance, capability: Capability = "own", at: str = "") -> dict[str, str]:
    """A page's session. at: where the page believes to be."""
    code = {"code": instance.session.access.make_code()}
    given = code if capability == "own" else {"share": instance.session.access.share(capability).secret}
    answer = httpx.post(f"http://{HOST}:{instance.port}/api/session", json={"address": at or instance.address, **given})
    assert answer.status_code == 200, answer.text
    opened: dict[str, str] = answer.json()
    return opened


def proved(page: "Page", opened: dict[str, str], at: str) -> str:
    """The page's proof, after the instance has given its own."""
    page.say("prove", session=opened["session"], nonce="a nonce", address=at)
    given = page.hear_text("proof")
    assert given["proof"] == sign(opened["key"], "server", "a nonce", given["nonce"], at)
    return sign(opened["key"], "page", "a nonce", given["nonce"], at)


@contextmanager
def open_page(
    instance: Instance, capability: Capability = "own", size: tuple[int, int] = (64, 48), **greeting: object
) -> Iterator[Page]:
    """A page that has said hello and has heard the state."""
    with connect(address(instance), max_size=None) as socket:
        page = Page(socket)
        proof = proved(page, begun(instance, capability), instance.address)
        page.say("hello", version=VERSION, width=size[0], height=size[1], proof=proof, **greeting)
        page.hear_text("state")
        yield page


def secret(instance: Instance, capability: Capability = "own") -> str:
    """What a program shows."""
    access = instance.session.access
    return access.token if capability == "own" else access.share(capability).secret


def http(instance: Instance, capability: Capability = "own") -> httpx.Client:
    headers = {"Authorization": f"Bearer {secret(instance, capability)}"}
    return httpx.Client(base_url=f"http://{HOST}:{instance.port}", headers=headers, timeout=TIMEOUT_S)


@contextmanager
def running(source: str | None, root: Path, **setup: Any) -> Iterator[Instance]:
    """An instance on a free port, served from a thread until the end."""
    setup = {"device": "cpu", "roots": (root,), "deadlines": Deadlines(shading=5.0), **setup}
    state = setup.pop("state", "")
    with served(Instance(source, SessionOptions(**setup), state=state)) as instance:
        yield instance


@contextmanager
def served(instance: Instance) -> Iterator[Instance]:
    thread = threading.Thread(target=instance.run, name="instance-under-test")
    thread.start()
    try:
        yield instance
    finally:
        instance.stop()
        thread.join()
