"""The time limit of a job, seen from inside.

Here: TimeLimitWarning, which warns before it, and saves the scene so that another viewer can take over.
Not here: who ends the job (the scheduler), ending for lack of use (instance.lifecycle.idle).
"""

import logging
import threading
from collections.abc import Callable

from pellucid.errors import PellucidError
from pellucid.instance.protocol.server_messages import ErrorMessage
from pellucid.instance.scene import loading, saved_states
from pellucid.instance.session import Session

log = logging.getLogger(__name__)
WARN_BEFORE_S = (600.0, 120.0)
"""So long before the end there is a warning."""
POLL_S = 0.1


class TimeLimitWarning:
    """session: of the viewer. left_s: time left of its job. on_saved: called with the name of the saved scene."""

    def __init__(self, session: Session, left_s: float, on_saved: Callable[[str], None] = lambda _: None) -> None:
        self._session, self._left_s, self._on_saved = session, left_s, on_saved
        self._never = threading.Event()

    def watch(self, wait: Callable[[float], object] | None = None) -> None:
        """On a thread of its own: until the last warning is said. wait: for so many seconds."""
        wait = wait or self._never.wait
        left_s = self._left_s
        for mark_s in WARN_BEFORE_S:
            if left_s > mark_s:
                wait(left_s - mark_s)
                left_s = mark_s
            self._post(left_s)

    def _post(self, left_s: float) -> None:
        """To the event loop, which may only be about to run where a job is short."""
        while (loop := self._session.relay.loop) is None:
            self._never.wait(POLL_S)
        if not loop.is_closed():
            loop.call_soon_threadsafe(self._warn, left_s)

    def _warn(self, left_s: float) -> None:
        """On the event loop."""
        what = f"This viewer's job reaches its time limit in {max(1, round(left_s / 60))} min."
        try:
            name = saved_states.save_state(loading.save(self._session))
            self._on_saved(name)
            remedy = f"Continue with: pellucid start --state {name}"
        except PellucidError as error:
            log.warning("The scene could not be saved: %s", error)
            remedy = "Save your results."
        self._session.broadcast(ErrorMessage(what, remedy, self._session.history.revision), "control")
