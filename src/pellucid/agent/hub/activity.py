"""Activity reports to JupyterHub.

Here: Activity: input of the user is noted, and reported now and then; images and polling are none.
Not here: what the Hub does with it (it may stop idle agents).
"""

import asyncio
import json
import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime

from pellucid.agent.hub.environment import HubEnvironment
from pellucid.agent.hub.users import HubUnavailable, ask_hub

log = logging.getLogger(__name__)
EVERY_S = 120.0


class Activity:
    """seen: when viewers were used last, in seconds since 1970; they note that themselves."""

    def __init__(
        self,
        hub: HubEnvironment,
        seen: Callable[[], float] = lambda: 0.0,
        ask: Callable[[str, str, bytes], object] = ask_hub,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._hub, self.seen, self._ask, self._clock = hub, seen, ask, clock
        self._last, self._reply = clock(), 0.0

    def note(self) -> None:
        """Record activity now."""
        self._last = self._clock()

    def report(self) -> None:
        """Report to the Hub, where there is something new."""
        last = max(self._last, self.seen())
        if last <= self._reply:
            return
        stamp = datetime.fromtimestamp(last, UTC).isoformat()
        body = {"servers": {"": {"last_activity": stamp}}, "last_activity": stamp}
        try:
            self._ask(self._hub.activity_url, self._hub.api_token, json.dumps(body).encode())
        except HubUnavailable as error:
            log.warning("Could not report activity to JupyterHub: %s", error)
        else:
            self._reply = last

    async def run(self) -> None:
        while True:
            await asyncio.to_thread(self.report)
            await asyncio.sleep(EVERY_S)
