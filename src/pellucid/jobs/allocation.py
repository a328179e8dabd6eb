"""The nodes of the Slurm job in which this process runs.

Here: SlurmAllocation, and the words of a step with a task on each node.
Not here: starting jobs (slurm), what runs in a step (engines, cluster).
"""

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass

from pellucid.errors import InvalidInput


@dataclass(frozen=True)
class SlurmAllocation:
    """cores, gpus, memory_bytes: of each node; memory_bytes: 0 where the job does not state it."""

    nodes: int
    cores: int
    gpus: int
    memory_bytes: int

    @classmethod
    def current(cls, environment: Mapping[str, str] = os.environ) -> "SlurmAllocation":
        """InvalidInput outside of a job."""
        if "SLURM_JOB_ID" not in environment or shutil.which("srun") is None:
            raise InvalidInput("This program does not run in a Slurm job.", remedy="Start it with sbatch or salloc.")
        return cls.of(environment)

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "SlurmAllocation":
        """What Slurm reports of a job. Of nodes that differ, the smallest.

        >>> SlurmAllocation.of({"SLURM_JOB_NUM_NODES": "3", "SLURM_JOB_CPUS_PER_NODE": "8(x2),4"})
        SlurmAllocation(nodes=3, cores=4, gpus=0, memory_bytes=0)
        """
        listed = re.sub(r"\(x\d+\)", "", environment.get("SLURM_JOB_CPUS_PER_NODE", "1"))
        cores = min(int(count) for count in listed.split(","))
        memory = int(environment.get("SLURM_MEM_PER_NODE") or 0)
        memory = memory or cores * int(environment.get("SLURM_MEM_PER_CPU") or 0)
        nodes, gpus = environment.get("SLURM_JOB_NUM_NODES") or 1, environment.get("SLURM_GPUS_ON_NODE") or 0
        return cls(int(nodes), cores, int(gpus), memory * 2**20)


def step_words(tasks: int, per_node: int = 1) -> list[str]:
    """srun, up to the command. Other steps may use the same cores; a task that ends leaves the others."""
    return ["srun", f"--ntasks={tasks}", f"--ntasks-per-node={per_node}", "--overlap", "--kill-on-bad-exit=0"]
