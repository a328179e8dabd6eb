"""Device Workers on the nodes of a Slurm job, started from inside of it, without Spark.

Here: AllocationWorkers: srun starts a step with a task for every Worker; what the tasks are given.
Not here: a task (step_main), a Worker (worker), jobs (pellucid.jobs).
"""

import os
import shutil
import subprocess
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pellucid.cluster.credentials import Credentials
from pellucid.cluster.handles import WorkerId
from pellucid.cluster.links import WorkerLinks
from pellucid.cluster.nodes.folders import WorkerRecord
from pellucid.errors import BlockLost, JobEnded
from pellucid.jobs.allocation import SlurmAllocation, step_words
from pellucid.jobs.private_files import private_folder, read_dataclass, write_json
from pellucid.python_processes import module_command
from pellucid.settings import current

START_TIMEOUT_S = 300.0
END_TIMEOUT_S = 20.0
POLL_S = 0.05


@dataclass(frozen=True)
class StepOptions:
    """What the tasks of a step are given, in a file that only their owner can read. memory_bytes: of each Worker; 0: as
    in WorkerSpec. driver_host: a host that all nodes reach."""

    credentials: str = field(repr=False)
    memory_bytes: int = 0
    driver_host: str = ""


class AllocationWorkers:
    """As a context: Workers on all nodes of the Slurm job in which this process runs. The nodes share the state folder.

    per_node: Workers of each node: by default one for each GPU that the job has there, or one. A Worker that ends is
    started again.
    """

    def __init__(self, per_node: int = 0, memory_bytes: int = 0) -> None:
        allocation = SlurmAllocation.current()
        self.credentials = Credentials.create()
        self.links = WorkerLinks(self.credentials.token, 0)
        self._per_node = per_node or allocation.gpus or 1
        self._count = self._per_node * allocation.nodes
        self._memory_bytes = memory_bytes
        self.folder = current().state_folder / "cluster" / self.credentials.application / "step"
        self._step: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "AllocationWorkers":
        private_folder(self.folder)
        host = os.environ.get("SLURM_LAUNCH_NODE_IPADDR", "")
        options = StepOptions(self.credentials.text, self._memory_bytes, host)
        write_json(self.folder / "options.json", asdict(options))
        self._step = subprocess.Popen(
            [
                *step_words(self._count, self._per_node),
                "--export=ALL",
                *module_command("pellucid.cluster.nodes.step_main", str(self.folder)),
            ],
            stdin=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + START_TIMEOUT_S
        while len(self.workers()) < self._count:
            if self._step.poll() is not None or time.monotonic() > deadline:
                self._end()
                raise JobEnded("The Device Workers of the job", "srun did not start all of them.", [])
            time.sleep(POLL_S)
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def workers(self) -> tuple[WorkerId, ...]:
        """Those that respond."""
        records = (read_dataclass(WorkerRecord, path) for path in sorted(self.folder.glob("worker-*.json")))
        return tuple(record.worker for record in records if record is not None and self._responds(record.worker))

    def _responds(self, worker: WorkerId) -> bool:
        try:
            self.links.usage(worker)
        except BlockLost:
            return False
        return True

    def _end(self) -> None:
        workers = self.workers()
        (self.folder / "options.json").unlink(missing_ok=True)  # Before: a task would start its Worker again.
        for worker in workers:
            self.links.end(worker)
        self.links.close()
        if self._step is not None:
            try:
                self._step.wait(END_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._step.terminate()
                self._step.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def step_options(folder: Path) -> StepOptions | None:
    """None after the end."""
    return read_dataclass(StepOptions, folder / "options.json")
