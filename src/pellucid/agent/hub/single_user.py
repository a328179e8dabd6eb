"""The agent as JupyterHub's single-user server.

Here: SingleUserServer, adding the Hub's routes to the agent's; taking over from an agent that was started elsewhere.
Not here: each of those routes (auth, oauth, users, activity), the agent (agent.main).
"""

import os
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.types import ASGIApp

from pellucid.agent.hub.activity import Activity
from pellucid.agent.hub.auth import HubAuthMiddleware, ViewerAuth
from pellucid.agent.hub.environment import HubEnvironment
from pellucid.agent.hub.site_config import read_hub_site
from pellucid.agent.hub.sockets import listen_for_all
from pellucid.agent.hub.users import HubUsers
from pellucid.agent.lease import FILE, RENEWED_EVERY_S, holder
from pellucid.agent.proxy.request_head import RequestHead
from pellucid.jobs.process_identity import ProcessId
from pellucid.settings import current

if TYPE_CHECKING:
    from pellucid.agent.jobs.supervisor import JobSupervisor

SHUTDOWN_TIMEOUT_S = 10.0
POLL_S = 0.05


class SingleUserServer:
    """hub: the environment from the Hub. has_links: whether links to viewers work without a log-in."""

    def __init__(self, hub: HubEnvironment, has_links: bool = False) -> None:
        self.hub = hub
        self._people, self._activity = HubUsers(hub), Activity(hub)
        self.gate = ViewerAuth(hub, self._people, self._activity, has_links)

    @classmethod
    def from_environment(cls) -> "SingleUserServer":
        return cls(HubEnvironment.from_environment(), read_hub_site(current().site_file).links)

    def listen(self) -> socket.socket:
        """Where the Hub's proxy connects to."""
        return listen_for_all(self.hub.socket)

    def with_auth(self, app: ASGIApp, token: str) -> ASGIApp:
        """The agent's own pages, below the Hub's prefix, for users whom the Hub authenticates."""
        return HubAuthMiddleware(app, self.hub, self._people, self._activity, token)

    def place(self, came: RequestHead, viewer: str) -> str:
        """The address of a viewer's page behind the Hub. What the Hub's proxy says of it is trusted."""
        proto = (came.header("x-forwarded-proto") or "http").partition(",")[0].strip()
        proto = {"ws": "http", "wss": "https"}.get(proto, proto)  # Of a WebSocket, whose page is meant.
        host = (came.header("x-forwarded-host") or came.header("host") or "").partition(",")[0].strip()
        path = came.target.partition(f"/i/{viewer}/")[0]
        return f"{proto}://{host}{path}/i/{viewer}/".replace(" ", "")

    async def report(self, supervisor: "JobSupervisor") -> None:
        """Until it is cancelled."""
        self._activity.seen = supervisor.used_at
        await self._activity.run()

    @staticmethod
    def take_over(folder: Path, wait: Callable[[float], None] = time.sleep) -> None:
        """End an agent that a command started: the Hub's can do all that it can, and its records stay.

        One on another machine notices that the lease is not its own any more, and ends; so long it is waited for.
        """
        before = holder(folder)
        if before is None or (before.is_here and not before.is_alive):
            return
        process = ProcessId.parse(before.process)
        if not before.is_here:
            (folder / FILE).unlink(missing_ok=True)
            wait(RENEWED_EVERY_S + 1)
            return
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGTERM)
        deadline = time.monotonic() + SHUTDOWN_TIMEOUT_S
        while process.is_alive and time.monotonic() < deadline:
            wait(POLL_S)
