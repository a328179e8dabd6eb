"""A role for tests: it doubles voxels in place and says so, makes arrays of its own, hangs and crashes.

It uses requests of the protocol for its own purposes: a Worker knows no others.
"""

import os
import signal
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from pellucid import progress
from pellucid.box import Box
from pellucid.errors import Cancelled, InvalidInput
from pellucid.formats.shared_memory import SharedArray
from pellucid.workers.protocol import replies, requests
from pellucid.workers.protocol.announcements import ArrayProduced, VoxelsChanged
from pellucid.workers.role_service import RoleService
from pellucid.workers.service import ReceivedRequest, RequestHandler


class DoublingService(RoleService):
    """MeasureValues doubles a volume slice by slice; Describe makes a copy; Compile runs what it is given."""

    def double(self, received: ReceivedRequest) -> None:
        source = received.content.source
        handed = self.sources.handed(source)
        assert handed is not None
        volume = self.sources.volume(source)
        with progress.task("Doubling", total=len(handed.array), unit="slices") as bar:
            for z in range(len(handed.array)):
                handed.array[z] *= 2
                bar.advance()
                whole = volume.shape
                self.announce(VoxelsChanged(source, (Box((z, 0, 0), (z + 1, whole[1], whole[2])),)))
        self.send_reply(replies.Done(received.content.request))

    def copy(self, received: ReceivedRequest) -> None:
        handed = self.sources.handed(received.content.source)
        assert handed is not None
        with SharedArray.create(handed.array.shape, handed.array.dtype) as shared:
            np.copyto(shared.array, handed.array)
            name = f"{received.content.source}-copy"
            self.announce(ArrayProduced(name, shared.shape, shared.dtype.str, handed.spacing), shared.descriptor)
        self.send_reply(replies.Done(received.content.request))

    def compile(self, received: ReceivedRequest) -> None:
        match received.content.source:
            case "crash":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "wait":
                received.cancel.wait()
                raise Cancelled("Waiting")
            case str() as text if text.startswith("stuck "):  # And so is a process that it has started.
                child = subprocess.Popen(["sleep", "600"])
                Path(text.removeprefix("stuck ")).write_text(f"{child.pid}\n")
                threading.Event().wait()
            case "unsealed":
                descriptor = os.memfd_create("unsealed")
                os.ftruncate(descriptor, 8)
                self.announce(ArrayProduced("memory:unsealed", (2, 2, 2), "|u1"), descriptor)
            case _:
                raise InvalidInput("This is no code.", remedy="Send crash or wait.")

    handlers: ClassVar[Mapping[type[Any], RequestHandler]] = {
        **RoleService.handlers,
        requests.MeasureValues: RequestHandler("compute", lambda service, it: service.double(it)),
        requests.Describe: RequestHandler("compute", lambda service, it: service.copy(it)),
        requests.Compile: RequestHandler("compute", lambda service, it: service.compile(it), is_cancellable=True),
    }


class AbsentDeviceService(RoleService):
    """Its device is not there."""

    def __init__(self, channel: object, device: str | None) -> None:
        raise InvalidInput(f"The device {device!r} is not there.", remedy="Use another one.")
