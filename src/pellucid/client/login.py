"""The site's Hub, for programs: the user's login and agent there.

Here: login and logout; the token, which only its owner can read; the agent behind the Hub, started where it is not.
Not here: log-in in a browser (agent.hub), what the agent is asked (agent_client).
"""

import getpass
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from pellucid.client.connection import Connection
from pellucid.dataclass_json import from_reply
from pellucid.errors import InvalidInput, NotAllowed, WorkerLost
from pellucid.jobs.private_files import read_dataclass, write_json
from pellucid.settings import current, make_private_folder

START_S = 120.0
POLL_S = 0.2


@dataclass(frozen=True)
class HubUser:
    """Of what a Hub says of a user."""

    name: str


@dataclass(frozen=True)
class HubServer:
    """Of what a Hub says of a user's agent. full_url: where it is; older Hubs do not say it."""

    ready: bool = False
    full_url: str | None = None


@dataclass(frozen=True)
class HubLogin:
    """url: of the Hub, without a slash at its end. user: the user's name there. agent: the address of the user's agent,
    as the Hub states it; "" before it was requested."""

    url: str
    user: str
    token: str = field(repr=False)
    agent: str = ""

    @property
    def agent_url(self) -> str:
        return self.agent or f"{self.url}/user/{quote(self.user, safe='@~')}/"

    def covers(self, url: str) -> bool:
        """Whether an address is the user's, behind that Hub."""
        return _place(url)[:3] == _place(self.agent_url)[:3] and _place(url)[3].startswith(_place(self.agent_url)[3])

    def found(self) -> "HubLogin | None":
        """With the address of the user's agent, where it runs."""
        server = self._server()
        return self._at(server.full_url or "") if server is not None and server.ready else None

    def started(self) -> "HubLogin":
        """With the address of the user's agent, which is started where it does not run, and waited for."""
        deadline = time.monotonic() + START_S
        if self._server() is None:
            self._hub().ask("POST", f"/users/{self.user}/server")
        while (found := self.found()) is None:
            if time.monotonic() > deadline:
                raise WorkerLost("starting the agent", f"{self.url} shows details in the browser")
            time.sleep(POLL_S)
        return found

    def _at(self, address: str) -> "HubLogin":
        """Kept, so that later the token is sent there and nowhere else: a Hub may give everyone a host name."""
        known = self if not address or address == self.agent else replace(self, agent=address)
        if known is not self:
            write_json(_file(), asdict(known))
        return known

    def _server(self) -> HubServer | None:
        """What the Hub knows of the agent; None where it has none, nor is about to."""
        server = self._hub().ask("GET", f"/users/{self.user}").get("servers", {}).get("")
        found: HubServer | None = from_reply(HubServer, server, "the Hub's reply") if server else None
        return found

    def _hub(self) -> Connection:
        return Connection(f"{self.url}/hub/api/", bearer=self.token, is_hub=True)


def login(url: str, token: str | None = None) -> None:
    """Let your agent behind a JupyterHub, such as https://view.site.org, start viewers from now on.

    token: from the Hub's page "Token"; you are asked for it if it is missing. It is stored in a file that only you can
    read.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInput(
            f"{url!r} is not the address of a Hub.", remedy="Use an address such as https://view.site.org."
        )
    url = url.partition("?")[0].rstrip("/").removesuffix("/hub")
    token = (token or _requested(f"Token, from {url}/hub/token: ")).strip()
    try:
        reply = Connection(f"{url}/hub/api/", bearer=token, is_hub=True).ask("GET", "/user")
    except NotAllowed as error:
        raise NotAllowed("The Hub rejected this token.", remedy=f"Create a token at {url}/hub/token.") from error
    user: HubUser = from_reply(HubUser, reply, "the Hub's reply")
    write_json(_file(), asdict(HubLogin(url, user.name, token)))


def _requested(question: str) -> str:
    try:
        return getpass.getpass(question)
    except EOFError as error:
        remedy = "Pass it to login(), or use --stdin."
        raise InvalidInput("No terminal to ask for the token.", remedy=remedy) from error


def logout() -> None:
    """Delete the Hub's address and the token from this machine. Revoke the token on the Hub's page."""
    _file().unlink(missing_ok=True)


def logged_in() -> HubLogin | None:
    """Where the user is logged in, if anywhere."""
    return read_dataclass(HubLogin, _file())


def bearer_for(url: str) -> str:
    """The Hub's token where an address is behind it; "" elsewhere: it is sent nowhere else."""
    kept = logged_in()
    return kept.token if kept is not None and kept.covers(url) else ""


def _place(url: str) -> tuple[str, str | None, int | None, str]:
    """What two spellings of one address have in common."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme), unquote(parts.path)


def _file() -> Path:
    return make_private_folder(current().state_folder) / "hub.json"
