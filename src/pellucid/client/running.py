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

PROTOCOL = 2
ENDING_S = 10.0
LOOK_AGAIN_S = 0.5


class RunningViewer:
    """device: that draws; pid: of the viewer's process on its machine.

    end: waits for that process, where this program has started it.
    """

    def __init__(self, url: str, end: Callable[[float | None], None] | None = None) -> None:
        self._connection = Connection(url, bearer=bearer_for(url))
        self._end = end
        about = self._connection.ask("GET", "/api/about")
        if about["version"] != PROTOCOL:
            what = f"The viewer has version {about['version']} of the protocol, and this program {PROTOCOL}."
            raise InvalidInput(what, do="Start it with the Pellucid that is installed here.")
        self.device: str = about["device"]
        self.pid: int = about["pid"]
        self._unix_socket: str = about["socket"]
        self._transfer: str = about["transfer"]

    @property
    def url(self) -> str:
        """To be opened in a browser; whoever has it owns the viewer."""
        return self._connection.url

    @property
    def token(self) -> str:
        return self._connection.token

    @property
    def port(self) -> int:
        return self._connection.port

    @property
    def links(self) -> dict[str, str]:
        """Addresses to give away: ``look`` sees the picture, ``steer`` also turns it, ``own`` may do everything."""
        base = self._connection.address
        return {name: base + part for name, part in self._connection.ask("GET", "/api/sharing").items()}

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
