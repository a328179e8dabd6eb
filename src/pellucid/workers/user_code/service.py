"""The service of the role "user_code": models and functions that users wrote.

Here: UserCodeService and its handlers.
Not here: what it shares with other roles (role_service), custom shadings, which are compiled into kernels (render).
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from pellucid.workers.channel import MessageChannel
from pellucid.workers.protocol import module_requests, requests
from pellucid.workers.role_service import RoleService
from pellucid.workers.service import RequestHandler
from pellucid.workers.user_code.modules import ModuleRuns


class UserCodeService(RoleService):
    """Handlers of a request: its type in protocol/, a line in ``handlers``, a module beside this one."""

    def __init__(self, channel: MessageChannel, device: str | None) -> None:
        super().__init__(channel, device)
        self.modules = ModuleRuns(self)

    handlers: ClassVar[Mapping[type[Any], RequestHandler]] = {
        **RoleService.handlers,
        module_requests.OpenModule: RequestHandler("compute", lambda service, it: service.modules.open(it)),
        module_requests.DraftModule: RequestHandler("compute", lambda service, it: service.modules.draft(it), True),
        module_requests.FillModule: RequestHandler("compute", lambda service, it: service.modules.fill(it), True),
        module_requests.SetBatch: RequestHandler("listener", lambda service, it: service.modules.set_batch(it.content)),
        requests.SetFocus: RequestHandler("listener", lambda service, it: service.modules.set_focus(it.content)),
    }
