"""Several processes that train the same network, each on a part of every batch.

Here: Replicas, which average gradients; run_replicas, which starts the processes.
Not here: what a process does (loop).
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors
from torch.multiprocessing.spawn import ProcessExitedException, ProcessRaisedException, spawn

from pellucid.errors import InvalidInput
from pellucid.learn.training.devices import distributed_backend
from pellucid.python_processes import safe_path

POLL_S = 0.5
Wait = Callable[[], None]


@dataclass(frozen=True)
class Replicas:
    """rank: of this process. count: of all."""

    rank: int = 0
    count: int = 1

    def average(self, part: nn.Module) -> None:
        """Make the gradients, and statistics such as those of batch normalisation, the mean of all replicas."""
        if self.count == 1:
            return
        gradients = [one.grad for one in part.parameters() if one.grad is not None]
        statistics = [one for one in part.buffers() if one.is_floating_point()]
        for tensors in (gradients, statistics):
            if tensors:
                self._average(tensors)

    def _average(self, tensors: Sequence[Tensor]) -> None:
        flat = _flatten_dense_tensors(list(tensors))
        distributed.all_reduce(flat)
        flat /= self.count
        with torch.no_grad():
            for one, mean in zip(tensors, _unflatten_dense_tensors(flat, list(tensors)), strict=True):
                one.copy_(mean)

    def wait(self) -> None:
        """Until all replicas are here."""
        if self.count > 1:
            distributed.barrier()

    def any(self, is_true: bool) -> bool:
        """Whether it is true for the first replica, which decides for all."""
        if self.count == 1:
            return is_true
        flag = torch.tensor([float(is_true)], device="cuda" if distributed.get_backend() == "nccl" else "cpu")
        distributed.broadcast(flag, 0)
        return bool(flag.item())


def run_replicas(work: Callable[..., object], arguments: tuple[Any, ...], devices: Sequence[str], wait: Wait) -> None:
    """Call ``work(replicas, device, *arguments)`` in a process for each device. wait: called while they run."""
    with tempfile.TemporaryDirectory() as folder, safe_path():
        meeting = (Path(folder) / "meeting").as_uri()
        processes = spawn(_replica, (list(devices), meeting, work, arguments), len(devices), join=False)
        try:
            while not processes.join(POLL_S):
                wait()
        except (ProcessRaisedException, ProcessExitedException) as error:
            raise InvalidInput(f"A training process failed: {error}", remedy="Run the command again.") from error
        finally:
            for process in processes.processes:
                process.terminate()


def _replica(rank: int, devices: list[str], meeting: str, work: Callable[..., object], arguments: Any) -> None:
    device = devices[rank]
    if device.startswith("cuda"):
        torch.cuda.set_device(device)
    distributed.init_process_group(distributed_backend(device), init_method=meeting, rank=rank, world_size=len(devices))
    try:
        work(Replicas(rank, len(devices)), device, *arguments)
    finally:
        distributed.destroy_process_group()
