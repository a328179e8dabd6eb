"""JupyterHub's spawner of agents: local processes that listen at Unix sockets instead of ports.

Here: AgentSpawner, which JupyterHub imports by its name.
Not here: the sockets (sockets), the settings that name it (jupyterhub_settings).
"""

import pwd
from pathlib import Path
from typing import Any

from jupyterhub.objects import Server
from jupyterhub.spawner import LocalProcessSpawner
from traitlets import Unicode

from pellucid.agent.hub.sockets import HubSockets, socket_url


class AgentSpawner(LocalProcessSpawner):  # type: ignore[misc]  # JupyterHub is not typed.
    """sockets: the folder of the Hub's sockets."""

    sockets = Unicode(config=True)

    @property
    def server(self) -> Server | None:
        """The database has only hosts and ports; the URL is the same at every start."""
        found = LocalProcessSpawner.server.fget(self)
        if found is not None and not found.connect_url:
            found.connect_url = self._url
        return found

    @server.setter
    def server(self, server: Server | None) -> None:
        LocalProcessSpawner.server.fset(self, server)

    async def get_url(self) -> str:
        return self.server.url if self.server is not None else self._url

    def get_env(self) -> dict[str, Any]:
        prefix = "/" if self.server is None else self.server.base_url
        return {**super().get_env(), "JUPYTERHUB_SERVICE_URL": self._url + prefix}

    async def start(self) -> tuple[str, int]:
        HubSockets(Path(self.sockets)).prepare_agent(self._uid)
        started: tuple[str, int] = await super().start()
        return started

    @property
    def _uid(self) -> int:
        return pwd.getpwnam(self.user.name).pw_uid

    @property
    def _url(self) -> str:
        return socket_url(HubSockets(Path(self.sockets)).agent(self._uid))
