"""Events of the Workers beside the one that renders, and how a session handles them.

Here: PoolEvents: what they announce, their progress and their loss; which one starts before its first request.
Not here: events of the render Worker (worker_events), the Workers themselves (workers.pool).
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from pellucid.formats.shared_memory import SharedArray
from pellucid.instance.protocol.server_messages import ErrorMessage
from pellucid.workers.process import ExitReason
from pellucid.workers.protocol.announcements import Announcement, BatchHalved, VoxelsChanged
from pellucid.workers.protocol.replies import ProgressReported
from pellucid.workers.roles import Role

if TYPE_CHECKING:
    from pellucid.instance.session import Session

OnAnnouncement = Callable[[Any, SharedArray | None], None]
NAMES: dict[Role, str] = {"render": "render", "compute": "compute", "user_code": "user code"}


class PoolEvents:
    """Called on threads of the Workers; everything is handled on the event loop.

    handlers: of announcements, by type; each gets the announcement and the array that was sent with it, which is its
    own. Whatever has no handler is dropped.
    """

    def __init__(self, session: "Session") -> None:
        self._session = session
        self.handlers: dict[type[Any], OnAnnouncement] = {
            VoxelsChanged: lambda changed, _: session.show_changed(changed.source),
            BatchHalved: lambda halved, _: session.models.batch_was_halved(halved.source, halved.batch),
        }
        self._is_compute_started = False

    def start_compute(self) -> None:
        """Once, when a volume is shown: on a GPU, starting what runs networks takes seconds, which the first one would
        wait."""
        session = self._session
        has_gpu = (session.relay.device or "").startswith("cuda")
        if not self._is_compute_started and has_gpu and session.history.scene.volumes and find_spec("onnxruntime"):
            self._is_compute_started = True
            session.pool.get("compute").start()

    def announced(self, role: Role, announcement: Announcement, array: SharedArray | None) -> None:
        handler = self.handlers.get(type(announcement))
        if handler is not None:
            self._session.relay.call(lambda: handler(announcement, array))
        elif array is not None:
            array.close()

    def role_progress(self, role: Role, progress_made: ProgressReported) -> None:
        tasks = self._session.tasks
        self._session.relay.call(lambda: tasks.worker_progress(progress_made, tasks.of_role(role), role))

    def role_was_lost(self, role: Role, ending: ExitReason) -> None:
        what, remedy = f"The {NAMES[role]} process stopped: {ending.why}.", "Repeat the request to start another one."
        session = self._session
        session.relay.call(lambda: session.broadcast(ErrorMessage(what, remedy, session.history.revision), "own"))
