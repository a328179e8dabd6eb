"""The Unix sockets between the proxy, the Hub and the agents.

Here: HubSockets, their paths and URLs, the folders that they are in; opening and probing one.
Not here: which process uses which (launch, jupyterhub_settings, agent_spawner), requests to the Hub (users).

They are no ports, because any user can listen at the port of a process that has ended: the Hub's gets passwords, and an
agent's the tokens of its user. Only root can create what is directly in this folder, and only its owner what is in one
of the folders below: the socket of the proxy's API, and that of every agent.
"""

import os
import socket
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from pellucid.errors import InvalidInput

SCHEME = "http+unix"
SOCKET = "socket"
MAX_PATH_BYTES = 100
"""Linux has 108; the names of agents are numbers of users, of different length."""
OPEN_TO_ALL = 0o666


@dataclass(frozen=True)
class HubSockets:
    """folder: of the Hub's owner, open to all users. The paths are those of sockets."""

    folder: Path

    @property
    def hub(self) -> Path:
        return self.folder / "hub"

    @property
    def proxy_api(self) -> Path:
        return self.folder / "proxy" / SOCKET

    def agent(self, user: int) -> Path:
        """Of the user with this number."""
        return self.folder / "agents" / str(user) / SOCKET

    def prepare(self) -> None:
        """Create the folders of the Hub's own."""
        if len(os.fsencode(self.agent(2**32))) > MAX_PATH_BYTES:
            raise InvalidInput(
                f"The path {self.folder} is too long for sockets.", remedy="Set sockets in [hub] to a shorter path."
            )
        for folder in (self.folder, self.agent(0).parent.parent):
            _create_folder(folder, os.geteuid(), 0o755)

    def prepare_proxy(self, user: int) -> None:
        """Create the folder of the proxy's API, which only this user and root can enter."""
        _create_folder(self.proxy_api.parent, user, 0o700)

    def prepare_agent(self, user: int) -> None:
        """Create the folder of an agent, where only this user can create a socket."""
        _create_folder(self.agent(user).parent, user, 0o711)

    @property
    def problem(self) -> str:
        """Why the folder cannot be trusted; "" if it can, or does not exist yet."""
        if not self.folder.exists():
            return ""
        status = self.folder.lstat()
        if stat.S_ISDIR(status.st_mode) and status.st_uid in (0, os.geteuid()) and not status.st_mode & 0o022:
            return ""
        return f"{self.folder} is not a folder that only its owner, you or root, can write to. Remove it."


def _create_folder(folder: Path, owner: int, mode: int) -> None:
    """Below a folder where no other user can create anything, so that what is there already is ours."""
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid not in (0, os.geteuid(), owner):
        raise InvalidInput(f"{folder} belongs to another user.", remedy="Remove it, and start again.")
    if status.st_uid != owner:
        os.chown(folder, owner, -1)
    folder.chmod(mode)


def socket_url(path: Path) -> str:
    """The URL of a socket, as JupyterHub and its proxy understand it.

    >>> socket_url(Path("/run/pellucid-hub/hub"))
    'http+unix://%2Frun%2Fpellucid-hub%2Fhub'
    """
    return f"{SCHEME}://{quote(str(path), safe='')}"


def socket_path(url: str) -> Path:
    """The path of the socket in a URL.

    >>> socket_path("http+unix://%2Frun%2Fpellucid-hub%2Fhub/hub/api").as_posix()
    '/run/pellucid-hub/hub'
    """
    parts = urlsplit(url)
    if parts.scheme != SCHEME:
        raise ValueError(f"{url!r} is not the URL of a socket")
    return Path(unquote(parts.netloc))


def listen_for_all(path: Path) -> socket.socket:
    """Any user may connect: requests of the proxy are recognised by what the Hub says of them."""
    path.unlink(missing_ok=True)  # Of a process that has ended.
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    path.chmod(OPEN_TO_ALL)
    listener.listen()
    return listener


def is_listening(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe, suppress(OSError):
        probe.connect(str(path))
        return True
    return False
