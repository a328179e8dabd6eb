"""A task of a Slurm step, for one Device Worker: ``python -m pellucid.cluster.nodes.step_main FOLDER``.

Here: main.
Not here: the step (allocation), the Worker (worker.main).
"""

import os
import sys
import time
from dataclasses import asdict
from pathlib import Path

from pellucid.cluster.credentials import Credentials
from pellucid.cluster.nodes.allocation import StepOptions, step_options
from pellucid.cluster.nodes.folders import WorkerFolder, WorkerRecord, WorkerSpec
from pellucid.cluster.nodes.launch import find_or_start
from pellucid.cluster.nodes.node_address import own_host
from pellucid.device.hardware import count_gpus
from pellucid.jobs.private_files import write_json
from pellucid.settings import current

POLL_S = 0.2


def main() -> None:
    folder = Path(sys.argv[1])
    while (options := step_options(folder)) is not None:
        spec = _spec(options)
        credentials = Credentials.parse(options.credentials)
        worker = find_or_start(credentials, spec, os.getpid())
        record = WorkerFolder.of(credentials, spec).read()
        if record is None:
            continue
        write_json(folder / f"worker-{spec.node}-{spec.slot}.json", asdict(WorkerRecord(worker, record.process)))
        while WorkerFolder.of(credentials, spec).read() is not None and step_options(folder) is not None:
            time.sleep(POLL_S)


def _spec(options: StepOptions) -> WorkerSpec:
    launcher = options.driver_host or os.environ.get("SLURM_LAUNCH_NODE_IPADDR", "")
    slot, gpus = int(os.environ.get("SLURM_LOCALID") or 0), count_gpus()
    return WorkerSpec(
        f"cuda:{slot % gpus}" if gpus else "cpu", slot, os.environ.get("SLURMD_NODENAME", "local"),
        own_host(launcher), current().threads, options.memory_bytes, idle_timeout_s=0.0,
    )  # fmt: skip


if __name__ == "__main__":
    main()
