"""An instance on a port of this machine.

Here: Instance: its URL, running it, stopping it.
Not here: routes (app), pictures (session).
"""

import secrets
import socket

import uvicorn

from pellucid.errors import InvalidInput
from pellucid.instance.app import create_app
from pellucid.instance.description import describe
from pellucid.instance.protocol import LARGEST_MESSAGE_BYTES
from pellucid.instance.session import Session
from pellucid.rendering.automatic import automatic_scene
from pellucid.rendering.renderer import Renderer
from pellucid.volume.volume import Volume

HOST = "127.0.0.1"
FIRST_PICTURE = 64
PATIENCE_S = 2


class Instance:
    """A viewer of one volume. The volume may be closed once this exists.

    port 0 takes a free one. Drawing one small picture first refuses here, before there is a URL, what cannot be drawn.
    """

    def __init__(self, volume: Volume, renderer: Renderer, port: int = 0) -> None:
        scene = automatic_scene(volume)
        description = describe(volume)
        renderer.render(scene, FIRST_PICTURE, FIRST_PICTURE, is_exact=False)
        self.token = secrets.token_urlsafe(24)
        self._socket = _listening(port)
        app = create_app(Session(scene, renderer), description, self.token)
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                log_level="warning",
                access_log=False,  # It would write the token.
                server_header=False,
                ws="websockets-sansio",
                ws_max_size=LARGEST_MESSAGE_BYTES,
                timeout_graceful_shutdown=PATIENCE_S,
            )
        )

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    @property
    def url(self) -> str:
        """The address to open in a browser; whoever has it can look and steer."""
        return f"http://{HOST}:{self.port}/?token={self.token}"

    def run(self) -> None:
        """Serve until stop is called or, in the main thread, Ctrl-C is pressed."""
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._socket.close()

    def stop(self) -> None:
        """Ask it to end, from any thread; run returns soon after."""
        self._server.should_exit = True


def _listening(port: int) -> socket.socket:
    """A socket that nobody outside this machine can reach."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except (OSError, OverflowError) as error:
        listener.close()
        do = "Choose another with --port, or leave it out: a free one is found."
        raise InvalidInput(f"Port {port} cannot be used: {error}.", do=do) from error
    listener.listen()
    return listener
