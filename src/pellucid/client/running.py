"""A viewer that runs somewhere.

Here: RunningViewer: where it is, whether it still runs, who else may see it, its end.
Not here: what it shows (viewer), starting one (starting).
"""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from pellucid.client.connection import Connection
from pellucid.client.login import bearer_for
from pellucid.errors import InvalidInput, ViewerUnreachable
from pellucid.jobs.states import State

PROTOCOL = 3
ENDING_S = 10.0
LOOK_AGAIN_S = 0.5


class RunningViewer:
    """device: that draws; pid: of the viewer's process on its machine.

    end: waits for that process, where this program has started it. token: the owner's, from the viewer's record.
    """

    def __init__(self, url: str, end: Callable[[float | None], None] | None = None, *, token: str = "") -> None:
        hub_token = "" if token else bearer_for(url)
        self._connection = Connection(url, bearer=token or hub_token, is_hub=bool(hub_token))
        self._end = end
        about = self._connection.ask("GET", "/api/about")
        if about["version"] != PROTOCOL:
            what = f"The viewer has version {about['version']} of the protocol, and this program {PROTOCOL}."
            raise InvalidInput(what, do="Start it with the Pellucid that is installed here.")
        self.device: str = about["device"]
        self.pid: int = about["pid"]
        self._unix_socket: str = about["socket"]
        self._transfer: str = about["transfer"]
        self._transfer_token: str = about["transfer_token"]

    @property
    def url(self) -> str:
        """To be opened in a browser, as the owner. It works once, within ten minutes: a fresh one comes each time."""
        return self._connection.link(f"code={self.code}")

    @property
    def address(self) -> str:
        """Of the page, without any secret."""
        return self._connection.address

    @property
    def code(self) -> str:
        """A code that opens the viewer once, behind ``#code=``."""
        return str(self._connection.ask("POST", "/api/codes")["code"])

    @property
    def port(self) -> int:
        return self._connection.port

    @property
    def links(self) -> dict[str, str]:
        """Links to give away: ``look`` sees the image, ``steer`` also turns it, ``own`` may do everything. They work
        until they are revoked, or the viewer ends."""
        return {name: self.share(name) for name in ("look", "steer", "own")}

    def share(self, capability: str, name: str = "") -> str:
        """A link to give away: to look, steer or own. The same name gives the same link, until it is revoked."""
        if capability not in ("look", "steer", "own"):
            raise InvalidInput(f"The capability is {capability!r}.", do="Use look, steer or own.")
        made = self._connection.ask("POST", "/api/shares", {"capability": capability, "name": name})
        return self._connection.link(str(made["url"]).removeprefix("#"))

    def revoke(self, link: str) -> None:
        """A link that ``share`` or ``links`` gave stops working, also for pages that are open."""
        secret = link.partition("#")[2].partition("&")[0]
        for one in self._connection.ask("GET", "/api/shares"):
            if secret and secret == one["url"].removeprefix("#").partition("&")[0]:
                self._connection.ask("DELETE", f"/api/shares/{one['id']}")
                return
        raise InvalidInput("The viewer has no such link.", do="Use a link that share() gave and that was not revoked.")

    def wait(self) -> None:
        """Until somebody ends the viewer: in the page, by Ctrl-C here, or by not using it for long."""
        if self._end is not None:
            return self._end(None)
        while self.is_running:
            time.sleep(LOOK_AGAIN_S)
        return None

    @property
    def is_running(self) -> bool:
        try:
            self._connection.ask("GET", "/api/about")
        except ViewerUnreachable:
            return False
        return True

    @property
    def state(self) -> State:
        """running or ended; of one that the agent keeps, all that is known there."""
        return State("running" if self.is_running else "ended")

    def shutdown(self) -> None:
        """End the viewer, also for those who watch; nothing happens where it has ended already."""
        with suppress(ViewerUnreachable):
            self._connection.ask("POST", "/api/shutdown")
        if self._end is not None:
            self._end(ENDING_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
