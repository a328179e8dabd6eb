"""What the services of all roles beside "render" have in common.

Here: RoleService: the arrays of the instance by their names, files in the allowed folders, cancelling.
Not here: receiving and replying (service), what each role computes (compute, user_code).
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from pellucid.formats.local_files import allow_only
from pellucid.volume.open_files import OpenFiles
from pellucid.workers.channel import MessageChannel
from pellucid.workers.folder_limit import AllowFolders
from pellucid.workers.protocol import replies, requests
from pellucid.workers.queries.sources import Sources, handed_array
from pellucid.workers.service import ReceivedRequest, RequestHandler, WorkerService


class RoleService(WorkerService):
    """Subclasses add requests to the handlers. device: such as "cuda:1"; None for the best one.

    Work on the thread "compute" is done one after the other; it calls touch() or reports progress while it goes on,
    looks at the request's ``cancel``, and announces what it produced or changed.
    """

    threads: ClassVar[Mapping[str, int]] = {"compute": 1}
    handlers: ClassVar[Mapping[type[Any], RequestHandler]] = {
        AllowFolders: RequestHandler("listener", lambda _, it: allow_only(it.content.folders)),
        requests.Cancel: RequestHandler("listener", lambda service, it: service.cancel(it.content.request)),
        requests.AddArray: RequestHandler("listener", lambda service, it: service.add_array(it)),
        requests.RemoveArray: RequestHandler("listener", lambda service, it: service.remove_array(it)),
        requests.MarkChanged: RequestHandler("listener", lambda service, it: service.mark_changed(it.content)),
    }

    def __init__(self, channel: MessageChannel, device: str | None) -> None:
        super().__init__(channel)
        self.device = device
        self.sources = Sources(OpenFiles())

    @property
    def device_name(self) -> str:
        return self.device or "auto"

    def add_array(self, received: ReceivedRequest) -> None:
        self.sources.add(received.content, handed_array(received.content, received.descriptor))
        self.send_reply(replies.Done(received.content.request))

    def remove_array(self, received: ReceivedRequest) -> None:
        self.sources.forget(received.content.source)
        self.send_reply(replies.Done(received.content.request))

    def mark_changed(self, command: requests.MarkChanged) -> None:
        """Another process, or the instance, wrote to an array."""
        self.sources.changed(command.source, command.boxes)
