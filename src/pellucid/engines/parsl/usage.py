"""What workers used of what was requested for them.

Here: Usage of one block, the Meter that measures it in a worker, and the sums over all blocks.
Not here: the picture (usage_report).
"""

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pellucid.device.driver import query_driver

SAMPLE_S = 1.0
MAX_SAMPLES = 64
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, order=True)
class WorkerName:
    """kind: of the site's workers. pool: the process on that host that started it. rank: in the pool."""

    kind: str
    host: str
    pool: str
    rank: int


@dataclass(frozen=True)
class Sample:
    """Between two moments (seconds since 1970). cores: used on average. gpu: share of it, 0 to 1; None without one."""

    began: float
    ended: float
    cores: float
    memory_bytes: int
    gpu: float | None = None
    gpu_memory_bytes: int = 0

    @property
    def seconds(self) -> float:
        return self.ended - self.began


@dataclass(frozen=True)
class Usage:
    """One block on one worker."""

    worker: WorkerName
    block: int
    samples: tuple[Sample, ...]


@dataclass
class Meter:
    """Watches a process and its children while it works on a block. gpu: as in CUDA_VISIBLE_DEVICES; empty: none."""

    pid: int
    gpu: str = ""
    _samples: list[Sample] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._began, self._cpu_s = time.time(), cpu_seconds(self.pid)

    def sample(self, now: float, *, is_last: bool = False) -> None:
        """Take a sample if it is time for one."""
        if now - self._began < SAMPLE_S and not is_last:
            return
        used, memory = cpu_seconds(self.pid), resident_bytes(self.pid)
        seconds = max(now - self._began, 1e-6)
        # Asking the driver takes longer than a short block.
        share, gpu_memory = gpu_use(self.gpu) if self.gpu and seconds >= SAMPLE_S else (None, 0)
        cores = max(0.0, used - self._cpu_s) / seconds
        self._samples.append(Sample(self._began, now, cores, memory, share, gpu_memory))
        self._began, self._cpu_s = now, used
        if len(self._samples) > MAX_SAMPLES:
            self._samples = _halved(self._samples)

    def finished(self, worker: WorkerName, block: int) -> Usage:
        self.sample(time.time(), is_last=True)
        return Usage(worker, block, tuple(self._samples))


def _halved(samples: Sequence[Sample]) -> list[Sample]:
    pairs = zip(samples[::2], samples[1::2], strict=False)
    rest = [samples[-1]] if len(samples) % 2 else []
    return [*(joined(pair) for pair in pairs), *rest]


def joined(samples: Sequence[Sample]) -> Sample:
    """One sample for several: means over time of what flows, the most of memory.

    >>> joined([Sample(0, 1, 2.0, 10), Sample(1, 4, 1.0, 30)])
    Sample(began=0, ended=4, cores=1.25, memory_bytes=30, gpu=None, gpu_memory_bytes=0)
    """
    seconds = sum(one.seconds for one in samples) or 1e-6
    shares = [(one.gpu, one.seconds) for one in samples if one.gpu is not None]
    return Sample(
        samples[0].began,
        samples[-1].ended,
        sum(one.cores * one.seconds for one in samples) / seconds,
        max(one.memory_bytes for one in samples),
        sum(share * length for share, length in shares) / sum(s for _, s in shares) if shares else None,
        max(one.gpu_memory_bytes for one in samples),
    )


def cpu_seconds(pid: int) -> float:
    """Of a process and the children that it has waited for; 0 where it is gone."""
    try:
        values = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(int(one) for one in values[11:15]) / TICKS_PER_S


def resident_bytes(pid: int) -> int:
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))
    return 0


def gpu_use(gpu: str) -> tuple[float | None, int]:
    """The share of a GPU's time and the bytes of its memory that are in use, as its driver says."""
    try:
        share, memory = map(float, query_driver("utilization.gpu", "memory.used", gpu=gpu))
    except ValueError:
        return None, 0
    return share / 100, int(memory * 2**20)
