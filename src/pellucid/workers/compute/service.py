"""The service of the role "compute": our own code that takes long, such as networks on the visible volume.

Here: ComputeService and its handlers.
Not here: what it shares with other roles (role_service), users' code (user_code).
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from pellucid.workers.role_service import RoleService
from pellucid.workers.service import RequestHandler


class ComputeService(RoleService):
    """Handlers of a request: its type in protocol/requests, a line in ``handlers``, a module beside this one."""

    handlers: ClassVar[Mapping[type[Any], RequestHandler]] = {**RoleService.handlers}
