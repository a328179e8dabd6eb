"""An instance on a port of this machine.

Here: Instance: its URL, running it, stopping it.
Not here: routes (app), what it shows (session).
"""

import socket
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import uvicorn

from pellucid.errors import InvalidInput
from pellucid.formats.location import Location
from pellucid.instance.access.loopback import listen_everywhere, listen_on_loopback, new_host_name
from pellucid.instance.app import create_app
from pellucid.instance.arrays.local_socket import LocalSocketServer
from pellucid.instance.arrays.receiver import ArrayReceiver
from pellucid.instance.http_server import HttpServer
from pellucid.instance.lifecycle import viewer_records
from pellucid.instance.protocol.model_bodies import ModelRequest
from pellucid.instance.protocol.shared_types import MAX_MESSAGE_BYTES, Capability
from pellucid.instance.scene import loading, model_layers, saved_states
from pellucid.instance.session import Session, SessionOptions
from pellucid.transport.address import LOOPBACK, Certificate
from pellucid.transport.connections import raise_descriptor_limit
from pellucid.transport.host import ReceiveLimits
from pellucid.transport.server import Listener

HOST = LOOPBACK
EVERYWHERE = "0.0.0.0"
TIMEOUT_S = 2
ARRIVING = ReceiveLimits(at_once=8)
"""A program that streams may send points besides."""


class Instance:
    """A viewer. source: what it shows at first; without one, it waits for a file or an array. state: the name of a
    saved one, or a file with it, to be shown instead.

    port 0 takes a free one. With a certificate, other machines can reach it, by TLS. What cannot be opened or drawn is
    refused here, before there is a URL.
    """

    def __init__(
        self,
        source: str | None = None,
        setup: SessionOptions | None = None,
        port: int = 0,
        state: str = "",
        certificate: Certificate | None = None,
        limits: ReceiveLimits = ARRIVING,
    ) -> None:
        self._opened = ExitStack()
        try:
            self._open(source, setup or SessionOptions(), port, state, certificate, limits)
        except BaseException:  # Refused, or asked to end meanwhile: nothing is left behind.
            self.close()
            raise

    def _open(
        self,
        source: str | None,
        setup: SessionOptions,
        port: int,
        state: str,
        certificate: Certificate | None,
        limits: ReceiveLimits,
    ) -> None:
        """Everything that close gives back, in the opposite order."""
        self._sockets = _listening(port, is_everywhere=certificate is not None)
        for one in self._sockets:
            self._opened.callback(one.close)
        self._name = new_host_name() if certificate is None else socket.gethostname()
        self._pin = "" if certificate is None else certificate.pin
        self.session = Session(_as_before(setup, port))
        self._opened.callback(self.session.close)
        self.unix_socket = self.session.socket_folder / "web.socket"
        self._begin(source, state, setup.model)
        self.session.on_end = self.stop
        self._opened.callback(LocalSocketServer(self.session).close)
        self._listener = self._listening_for_arrays(limits, certificate)
        self._opened.callback(self._listener.close)
        access = self.session.access
        access.address = self.address
        self.session.owner_url = lambda: self.url
        self._record = viewer_records.write(
            viewer_records.ViewerRecord.of_this_process(self.address, access.token, access.root)
        )
        self._opened.callback(viewer_records.remove, self._record)
        raise_descriptor_limit()
        self._server = _server(self.session, certificate)

    def _begin(self, source: str | None, state: str, model: ModelRequest | None) -> None:
        saved = saved_states.load_state(state) if state else None
        self.session.worker.start()
        self.session.relay.wait()
        if saved is not None:
            loading.restore_first(self.session, saved)
        elif source is not None:
            loading.load_first(self.session, source)
        elif model is not None:
            model_layers.start_first(self.session, model)

    def _listening_for_arrays(self, limits: ReceiveLimits, certificate: Certificate | None) -> Listener:
        """Where the pages can be reached, arrays can be sent to."""
        where = HOST if certificate is None else EVERYWHERE
        limits = replace(limits, limit_bytes=self.session.arrays.max_bytes or limits.limit_bytes)
        arrivals = ArrayReceiver(self.session)
        access = self.session.access
        tokens = lambda: access.transfer_tokens  # noqa: E731
        listener = Listener(f"{where}:0", token=tokens, host=arrivals, limits=limits, certificate=certificate)
        arrivals.receiving.cancel = listener.cancel
        self.session.take_connection = listener.serve
        host = HOST if certificate is None else socket.gethostname()
        self.session.transfer = str(replace(listener.address, host=host))
        return listener

    @property
    def port(self) -> int:
        return int(self._sockets[0].getsockname()[1])

    @property
    def url(self) -> str:
        """The address to open in a browser, as the owner. It works once: a fresh one comes each time."""
        return f"{self.address}#code={self.session.access.make_code()}{self._pinned}"

    @property
    def address(self) -> str:
        """Of the page, without any secret."""
        return f"{'https' if self._pin else 'http'}://{self._name}:{self.port}/"

    def link(self, capability: Capability) -> str:
        """An address that allows so much, for others and for programs, until it is revoked."""
        return f"{self.address}#share={self.session.access.share(capability).secret}{self._pinned}"

    @property
    def _pinned(self) -> str:
        """What its certificate is known by, for programs."""
        return f"&pin={self._pin}" if self._pin else ""

    def run(self) -> None:
        """Serve until stop is called or, in the main thread, Ctrl-C is pressed."""
        try:
            # With TLS an agent knows it by its certificate; otherwise by a private folder.
            more = [] if self._pin else [_listening_locally(self.unix_socket)]
            self._server.run(sockets=[*self._sockets, *more])
        finally:
            self.close()

    def close(self) -> None:
        """Give everything back. Only where run is not called: that does so itself."""
        self._opened.close()

    @property
    def is_listed(self) -> bool:
        """Whether other programs of its owner find it."""
        return self._record is not None

    def stop(self) -> None:
        """Ask it to end, from any thread; run returns soon after."""
        self._server.should_exit = True


def _server(session: Session, certificate: Certificate | None) -> HttpServer:
    return HttpServer(
        uvicorn.Config(
            create_app(session),
            log_level="error",  # Anyone could make it write a warning for each malformed request.
            access_log=False,  # It would write tickets.
            server_header=False,
            proxy_headers=False,  # The address of a connection is what it is registered by.
            http="h11",  # httptools, where it is installed, reads headers of any length.
            ws="websockets-sansio",
            ws_max_size=MAX_MESSAGE_BYTES,
            ws_per_message_deflate=False,  # Images are compressed already.
            timeout_graceful_shutdown=TIMEOUT_S,
            ssl_certfile=None if certificate is None else certificate.certificate,
            ssl_keyfile=None if certificate is None else certificate.key,
        ),
        session.connections,
    )


def _as_before(setup: SessionOptions, port: int) -> SessionOptions:
    """As a viewer that was killed at this port: it can prove itself to the owner's pages that wait for it. Links,
    codes and tokens are new: they may have been sent to another program that had taken over the port."""
    left = viewer_records.find_crashed(port) if port else None
    return setup if left is None else replace(setup, root=left.root)


def _listening(port: int, *, is_everywhere: bool) -> list[socket.socket]:
    """Listening sockets; unless they are to be reached from everywhere, of this machine alone."""
    try:
        return listen_everywhere(port) if is_everywhere else listen_on_loopback(port)
    except (OSError, OverflowError) as error:
        remedy = "Choose another port with --port, or leave it out to use any free port."
        raise InvalidInput(f"Cannot use port {port}: {error}.", remedy=remedy) from error


def _listening_locally(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen()
    return listener


def default_roots(source: str | None) -> tuple[str, ...]:
    """Where the file that is shown lies, and where the viewer was started.

    >>> default_roots("/data/scan.h5:/entry/data")[0], default_roots("s3://bucket/scans/rock.zarr")[0]
    ('/data', 's3://bucket/scans')
    """
    here = str(Path.cwd())
    if source is None:
        return (here,)
    location = Location.parse(source)
    beside = location.path.rstrip("/").rpartition("/")[0] if location.is_remote else location.local.absolute().parent
    return (str(beside), here)
