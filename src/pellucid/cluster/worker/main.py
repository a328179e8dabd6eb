"""A Device Worker as a process: ``python -m pellucid.cluster.worker.main FOLDER HOLDER``.

Here: main.
Not here: what it does (server), who starts it (nodes.launch).
"""

import logging
import os
import signal
import sys
import threading
from pathlib import Path

from pellucid.cluster.nodes.folders import WorkerFolder, WorkerRecord, WorkerSpec
from pellucid.cluster.worker.device_buffers import DeviceMemory
from pellucid.cluster.worker.host_memory import HostMemory
from pellucid.cluster.worker.server import DeviceWorker, WorkerSetup
from pellucid.errors import PellucidError
from pellucid.jobs.process_identity import ProcessId
from pellucid.printable import PrintableFormatter
from pellucid.settings import available_memory_bytes
from pellucid.transport.connections import raise_descriptor_limit

HOLD_TIMEOUT_S = 30.0
"""How long the Worker before this one may take to end after it was killed: its memory is given back first."""


def main() -> None:
    folder = WorkerFolder(Path(sys.argv[1]))
    _write_log()
    held = folder.hold(HOLD_TIMEOUT_S)
    spec = folder.spec
    if held is None or spec is None:
        sys.exit("Another Device Worker has this folder, or it contains no specification.")
    is_over = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: is_over.set())
    raise_descriptor_limit()
    setup = WorkerSetup(
        folder.token, spec.host, spec.slot, spec.host_bytes, spec.idle_timeout_s, prefers_local=spec.prefers_local
    )
    try:
        worker = DeviceWorker(setup, memory_of(spec), is_over.set)
    except PellucidError as error:
        sys.exit(str(error))
    worker.lease.hold(int(sys.argv[2]))
    folder.write(WorkerRecord(worker.id, str(ProcessId.this())))
    is_over.wait()
    folder.remove()
    worker.close()
    os._exit(0)  # Threads may still be serving connections.


def memory_of(spec: WorkerSpec) -> DeviceMemory:
    """The memory of the device that a Worker owns."""
    if not spec.device.startswith("cuda"):
        return HostMemory(spec.memory_bytes or available_memory_bytes() // 2)
    from pellucid.cluster.worker.cuda_memory import CudaMemory

    return CudaMemory(spec.device, spec.memory_bytes)


def _write_log() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(PrintableFormatter("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


if __name__ == "__main__":
    main()
