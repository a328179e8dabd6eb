"""The service of the role "compute": our own code that takes long, such as networks on the visible volume.

Here: ComputeService and its handlers.
Not here: what it shares with other roles (role_service), users' code (user_code).
"""

import logging
import threading
from collections.abc import Mapping
from typing import Any, ClassVar

from pellucid.errors import PellucidError
from pellucid.infer.warm_up import warm_up
from pellucid.workers.channel import MessageChannel
from pellucid.workers.compute.networks import NetworkRuns
from pellucid.workers.protocol import requests
from pellucid.workers.role_service import RoleService
from pellucid.workers.service import RequestHandler

logger = logging.getLogger(__name__)


class ComputeService(RoleService):
    """Handlers of a request: its type in protocol/requests, a line in ``handlers``, a module beside this one."""

    def __init__(self, channel: MessageChannel, device: str | None) -> None:
        super().__init__(channel, device)
        self.networks = NetworkRuns(self)

    def start(self) -> None:
        """Requests that come meanwhile do not wait for it."""
        threading.Thread(target=self._warm_up, name="pellucid-warm-up", daemon=True).start()

    def _warm_up(self) -> None:
        try:
            warm_up(self.device_name)
        except PellucidError as error:  # The first network says so to the user.
            logger.info("the runtime of networks did not start: %s", error)

    handlers: ClassVar[Mapping[type[Any], RequestHandler]] = {
        **RoleService.handlers,
        requests.ApplyNetwork: RequestHandler("compute", lambda service, it: service.networks.apply(it), True),
        requests.SetFocus: RequestHandler("listener", lambda service, it: service.networks.set_focus(it.content)),
    }
