"""A Worker of any role but "render", as a process: ``python -m pellucid.workers.role_main DESCRIPTOR SERVICE DEVICE``.

Here: main().
Not here: the services (compute, user_code), the role "render" (main).
"""

import importlib
import sys

from pellucid.workers.channel import MessageChannel
from pellucid.workers.service import WorkerService, serve


def main() -> None:
    descriptor, service, *device = sys.argv[1:]

    def make_service(channel: MessageChannel) -> WorkerService:
        module, _, name = service.partition(":")
        made: WorkerService = getattr(importlib.import_module(module), name)(channel, device[0] if device else None)
        return made

    serve(int(descriptor), make_service)


if __name__ == "__main__":
    main()
