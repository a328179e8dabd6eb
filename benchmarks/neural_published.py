"""AMGSRN, fV-SRN and NGP with their published settings, in float32.

Here: write_published, which trains one of a number of parameters and writes the values that it gives.
Not here: our own fields (neural), the steps of fV-SRN and NGP on a GPU (neural_graphs).
"""

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.neural_graphs import BATCH, STEPS
from pellucid.box import Shape
from pellucid.neural.cuda_model import can_train_fused
from pellucid.neural.models import make_network
from pellucid.neural.network import FieldNetwork, HashGrid
from pellucid.neural.samples import VolumeSamples, to_tensor
from pellucid.neural.training import Training, TrainingOptions, train

TRANSFORM_RATE = 2.5e-4
MEDIUM = 1 << 20
NGP_LEVELS, NGP_ROWS, NGP_CELLS = 18, 1 << 15, (16, 512)
"""Of the medium size, as published: levels, rows of a level, and cells along an axis of the first and the last."""
CPU_BATCH = 1 << 10
POINTS = 1 << 19


@dataclass(frozen=True)
class Published:
    """model: its name. seconds: after which the training ends, if not all of its steps are made."""

    model: str
    parameters: int
    steps: int | None = None
    seconds: float = math.inf


def write_published(source: Path, wanted: Published, out: Path) -> tuple[Training, int]:
    """Train, and write the values at all voxels; returns the training and how many parameters there are."""
    voxels = np.load(source)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    network = _network(wanted, voxels.shape).to(device)
    extent = float(voxels.min()), float(voxels.max())
    samples = VolumeSamples(to_tensor(voxels).to(device), extent)
    training = _trained(network, samples, wanted)
    values = np.lib.format.open_memmap(out, "w+", voxels.dtype, voxels.shape)
    _write_values(network, extent, values, device)
    return training, sum(one.numel() for name, one in network.named_parameters() if "transforms" not in name)


def _network(wanted: Published, shape: Shape) -> FieldNetwork:
    if wanted.model == "ngp" and wanted.parameters == MEDIUM:
        torch.manual_seed(42)
        first, last = NGP_CELLS
        cells = np.rint(np.geomspace(first, last, NGP_LEVELS)).astype(int).tolist()
        return FieldNetwork("ngp", [], hash_grid=HashGrid(cells, NGP_ROWS))
    return make_network(wanted.model, wanted.parameters, shape)


def _trained(network: FieldNetwork, samples: VolumeSamples, wanted: Published) -> Training:
    is_cuda = samples.voxels.is_cuda
    if is_cuda and not can_train_fused(network):
        from benchmarks.neural_graphs import GraphTrainer

        return GraphTrainer(network, samples).train(wanted.steps or STEPS, wanted.seconds)
    options = TrainingOptions(
        steps=wanted.steps or STEPS,
        batch=BATCH if is_cuda else CPU_BATCH,
        transform_rate=TRANSFORM_RATE,
        schedule="plateau",
        seconds=wanted.seconds,
    )
    if not is_cuda:
        return train(network, samples, options)
    from pellucid.neural.cuda_training import CudaTrainer

    trainer = CudaTrainer(network, samples, options, at_voxels=False)
    trainer.prepare()
    start = time.monotonic()
    training = trainer.train()
    training.seconds = time.monotonic() - start
    return training


def _write_values(network: FieldNetwork, extent: tuple[float, float], out: Any, device: torch.device) -> None:
    """Plane by plane along z, as many at once as PyTorch takes quickly."""
    low, high = extent
    z, y, x = (torch.linspace(-1, 1, n, device=device) for n in out.shape)
    planes = max(1, POINTS // (len(y) * len(x)))
    for first in range(0, len(z), planes):
        points = torch.stack(torch.meshgrid(z[first : first + planes], y, x, indexing="ij")[::-1], -1).reshape(-1, 3)
        with torch.no_grad():
            values = network(points) * (high - low) + low
        part = values.reshape(-1, len(y), len(x)).cpu().numpy()
        if out.dtype.kind in "iu":
            limits = np.iinfo(out.dtype)
            part = np.clip(np.rint(part), limits.min, limits.max)
        out[first : first + planes] = part
    out.flush()
