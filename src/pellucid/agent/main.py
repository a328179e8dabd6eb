"""The agent's process.

Here: main, which ``python -m pellucid.agent.main`` runs: the lease, the proxy, the routes, watching jobs.
Not here: each of them (its module), starting it (client).

It stops when nothing runs and no request has arrived for a while; the next agent finds all records.
"""

import argparse
import asyncio
import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
from starlette.types import ASGIApp

from pellucid.agent.app import create_app
from pellucid.agent.audit import Audit
from pellucid.agent.change_events import ChangeNotifier
from pellucid.agent.jobs.records import JobRecord, ViewerAddress
from pellucid.agent.jobs.schedulers import LOCAL_POLL_S
from pellucid.agent.jobs.supervisor import JobSupervisor
from pellucid.agent.jobs.viewer_tasks import take_requests
from pellucid.agent.lease import RENEWED_EVERY_S, AgentElsewhere, AgentRunning, Lease, StartState
from pellucid.agent.proxy.server import ReverseProxy
from pellucid.errors import InvalidInput, NotFound, PellucidError
from pellucid.formats.system_errors import system_error
from pellucid.instance.access.loopback import listen_on_loopback, new_host_name
from pellucid.instance.access.sessions import Access
from pellucid.instance.http_server import HttpServer
from pellucid.instance.lifecycle.scratch_folders import short_parent
from pellucid.jobs.private_files import private_folder, read_dataclass, write_json
from pellucid.jobs.site import read_site
from pellucid.settings import current
from pellucid.transport.connections import ConnectionRegistry, raise_descriptor_limit

if TYPE_CHECKING:
    from pellucid.agent.hub.single_user import SingleUserServer

log = logging.getLogger(__name__)
HOST = "127.0.0.1"
IDLE_MINUTES = 30.0
INNER, IDENTITY = "pellucid-agent-", "identity.json"
QUIET_POLL_S = 1.0
TIMEOUT_S = 2


def agent_folder() -> Path:
    return current().state_folder / "agent"


def main() -> None:
    parser = argparse.ArgumentParser("pellucid.agent")
    parser.add_argument("--port", type=int, default=0, help="port to listen on (default: any free port)")
    parser.add_argument(
        "--idle-minutes", type=float, default=IDLE_MINUTES, help="stop after this many minutes without work"
    )
    parser.add_argument("--hub", action="store_true", help="started by JupyterHub, which authenticates the users")
    parser.add_argument("--ready", type=int, default=-1, help=argparse.SUPPRESS)
    options = parser.parse_args()
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.WARNING)
    # The server hands a signal on when it has ended: without this, the lease would not be given back.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    try:
        front = _front() if options.hub else None
        asyncio.run(Agent(agent_folder(), options.idle_minutes * 60, front).run(options.port, options.ready))
    except (PellucidError, OSError) as error:
        refused = system_error(error) if isinstance(error, OSError) else error
        _send_state(options.ready, _state_of(refused), refused.what, refused.remedy)
        sys.exit(f"pellucid: {refused.what}\n{refused.remedy}")


def _front() -> "SingleUserServer":
    from pellucid.agent.hub.single_user import SingleUserServer

    front = SingleUserServer.from_environment()
    front.take_over(agent_folder())
    return front


@dataclass(frozen=True)
class AgentIdentity:
    """What the next agent has to know of this one. inner: the folder of its sockets."""

    inner: str


class Agent:
    """One user's agent, on this machine until it ends. front: of the Hub that started it, if one did.

    Its token and, unless it is chosen, its port are new at every start: another user may have had the port in between,
    and a browser may have kept what was served there.
    """

    def __init__(self, folder: Path, idle_s: float, front: "SingleUserServer | None" = None) -> None:
        self._folder, self._idle_s, self._front = private_folder(folder), idle_s, front
        self._lease = Lease(self._folder)
        self._audit = Audit(self._folder / "audit.jsonl")
        self._used_at = time.monotonic()
        self._access = Access()

    async def run(self, port: int, ready: int) -> None:
        """Run until it is stopped, is idle, or has lost its lease."""
        self._lease.acquire()
        left = read_dataclass(AgentIdentity, self._folder / IDENTITY)
        if left is not None and Path(left.inner).name.startswith(INNER):  # Left by one that was killed.
            shutil.rmtree(left.inner, ignore_errors=True)
        inner = Path(tempfile.mkdtemp(prefix=INNER, dir=short_parent()))
        write_json(self._folder / IDENTITY, asdict(AgentIdentity(str(inner))))
        try:
            await self._serve(inner, port, ready)
        finally:
            self._lease.release()
            shutil.rmtree(inner, ignore_errors=True)

    async def _serve(self, inner: Path, port: int, ready: int) -> None:
        raise_descriptor_limit()
        changes = ChangeNotifier()

        def changed(record: JobRecord) -> None:
            self._audit.note(record)
            changes.notify()

        self._supervisor = JobSupervisor(self._folder / "jobs", read_site(current().site_file), changed)
        front, access = self._front, self._access
        place = None if front is None else front.place
        acceptor = ReverseProxy(
            str(inner / "socket"), self._find, self._use, None if front is None else front.gate, place=place
        )
        connections = ConnectionRegistry()
        app: ASGIApp = create_app(self._supervisor, access, changes, acceptor.run, connections)
        config = uvicorn.Config(
            app if front is None else front.with_auth(app, access.token), log_level="error", access_log=False,
            http="h11", server_header=False, proxy_headers=False, timeout_graceful_shutdown=TIMEOUT_S, lifespan="off",
        )  # fmt: skip
        self._server = HttpServer(config, connections)
        url = access.address = await self._opened(acceptor, port)
        if not self._lease.renew(url, access.token):
            raise InvalidInput("Another agent started at the same time.", remedy="Use the other agent.")
        work = [asyncio.create_task(self._watch()), asyncio.create_task(self._renew(url))]
        if front is not None:
            work.append(asyncio.create_task(front.report(self._supervisor)))
        _send_state(ready, "ready")
        try:
            await self._server.serve(sockets=[_listening(inner / "socket")])
        finally:
            await acceptor.close()
            for task in work:
                task.cancel()

    async def _opened(self, acceptor: ReverseProxy, port: int) -> str:
        """At a port for this user's programs and, behind a Hub, at a socket for the Hub's proxy."""
        sockets = [] if self._front is None else [self._front.listen()]
        try:
            return await acceptor.open([*listen_on_loopback(port), *sockets], new_host_name())
        except OSError as error:
            remedy = "Choose another port with --port, or leave it out to use any free port."
            raise InvalidInput(f"Cannot use port {port}: {error.strerror}.", remedy=remedy) from error

    def _use(self) -> None:
        self._used_at = time.monotonic()

    async def _find(self, id: str) -> ViewerAddress | None:
        with suppress(NotFound):
            address = await asyncio.to_thread(self._supervisor.address, id)
            if address is not None and address.host == socket.gethostname():
                return replace(address, host=HOST)
            return address
        return None

    async def _watch(self) -> None:
        while True:
            try:
                await asyncio.to_thread(self._supervisor.poll)
                await asyncio.to_thread(take_requests, self._supervisor, self._folder / "jobs")
            except Exception:
                # The edge of the watch: one bad look must not end all later ones.
                log.exception("supervising the jobs failed")
            is_busy = self._supervisor.is_busy
            self._used_at = time.monotonic() if is_busy else self._used_at
            if time.monotonic() - self._used_at > self._idle_s:
                self._server.should_exit = True
            await asyncio.sleep(LOCAL_POLL_S if self._supervisor.is_starting else QUIET_POLL_S)

    async def _renew(self, url: str) -> None:
        while True:
            await asyncio.sleep(RENEWED_EVERY_S)
            try:
                is_held = await asyncio.to_thread(self._lease.renew, url, self._access.token)
            except OSError as error:  # A full disk: the next time may do.
                log.warning("the lease could not be renewed: %s", system_error(error))
                continue
            if not is_held:
                log.warning("another agent has taken over")
                self._server.should_exit = True


def _listening(path: Path) -> socket.socket:
    """In a folder that only its owner can open."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen(128)
    return listener


def _state_of(refused: PellucidError) -> StartState:
    if isinstance(refused, AgentRunning):
        return "running"
    return "elsewhere" if isinstance(refused, AgentElsewhere) else "failed"


def _send_state(descriptor: int, state: StartState, *sentences: str) -> None:
    """To the program that started this agent and waits: the state, then what is wrong and what to do, a line each."""
    if descriptor >= 0:
        with suppress(OSError):
            os.write(descriptor, "\n".join([state, *(" ".join(text.splitlines()) for text in sentences)]).encode())
            os.close(descriptor)


if __name__ == "__main__":
    main()
