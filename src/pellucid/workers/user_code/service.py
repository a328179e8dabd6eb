"""The service of the role "user_code": models and functions that users wrote.

Here: UserCodeService and its handlers.
Not here: what it shares with other roles (role_service), custom shadings, which are compiled into kernels (render).
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from pellucid.workers.role_service import RoleService
from pellucid.workers.service import RequestHandler


class UserCodeService(RoleService):
    """Handlers of a request: its type in protocol/requests, a line in ``handlers``, a module beside this one."""

    handlers: ClassVar[Mapping[type[Any], RequestHandler]] = {**RoleService.handlers}
