"""Device Workers on this machine: found where they run already, started where they do not.

Here: find_or_start.
Not here: their folders (folders), other machines (spark.task), the process itself (worker.main).
"""

import os
import subprocess
import time

from pellucid.cluster.credentials import Credentials
from pellucid.cluster.handles import WorkerId
from pellucid.cluster.nodes.folders import WorkerFolder, WorkerSpec
from pellucid.errors import JobEnded
from pellucid.python_processes import module_command

START_TIMEOUT_S = 120.0
POLL_S = 0.01
LOG_LINES = 5


def find_or_start(credentials: Credentials, spec: WorkerSpec, holder: int) -> WorkerId:
    """The Worker of a device. holder: the process for which it is there at first.

    Of several processes that call this at the same time, one starts the Worker and all find it.
    """
    folder = WorkerFolder.of(credentials, spec)
    found = folder.read()
    if found is None:
        with folder.starting():
            found = folder.read()
            if found is None:
                folder.prepare(spec, credentials.token)
                return _started(folder, spec, holder)
    return found.worker


def _started(folder: WorkerFolder, spec: WorkerSpec, holder: int) -> WorkerId:
    log = folder.open_log()
    try:
        # A session of its own: it outlives the task that starts it, and Ctrl-C is not for it.
        process = subprocess.Popen(
            module_command("pellucid.cluster.worker.main", str(folder.path), str(holder)),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, "PELLUCID_THREADS": str(spec.threads)},
            start_new_session=True,
        )
    finally:
        os.close(log)
    deadline = time.monotonic() + START_TIMEOUT_S
    while (record := folder.read()) is None:
        code = process.poll()
        if code is not None or time.monotonic() > deadline:
            process.kill()
            why = (
                f"its process ended with code {code}" if code is not None else f"not ready after {START_TIMEOUT_S:g} s"
            )
            lines = folder.log.read_text(errors="replace").splitlines()[-LOG_LINES:]
            raise JobEnded(f"The Device Worker of {spec.device}", f"{why}.", lines)
        time.sleep(POLL_S)
    return record.worker
