"""How long does a volume of 4096³ take as 3 × 3 × 3 neural fields, if it is generated brick by brick and never stored?

    python -m benchmarks.neural_large [--quick] [--json FILE]

Waves of many lengths, as in turbulence, are computed on the device for one brick and its ghost cells at a time; a
medium model (AMGSRN, 2²⁰ parameters) is trained on them, and its error is measured at every voxel of the brick. The
time is of all of it. Without a GPU, or with --quick, a small volume and few steps show that it works.
"""

import math
import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from benchmarks.table import TARGET, Row, options, report, shorter
from pellucid.box import Box, Shape
from pellucid.neural.lattice import brick_lattice
from pellucid.neural.models import make_network
from pellucid.neural.network import FieldNetwork
from pellucid.neural.samples import VolumeSamples
from pellucid.neural.training import TrainingOptions, train

GHOST = 16
PAPER_S, TARGET_S = 420.0, 240.0
"""Published: 250 GB in 7 minutes."""


@dataclass(frozen=True)
class Size:
    """side: voxels along the edge of the volume; counts: bricks along (z, y, x); steps, batch: of their training."""

    side: int
    counts: Shape
    waves: int
    parameters: int
    steps: int
    batch: int

    def __str__(self) -> str:
        models = f"{math.prod(self.counts)} models of {self.parameters:,} parameters, {self.steps} steps"
        return f"{self.side}³ float32 ({self.side**3 * 4 / 1e9:,.1f} GB), {models}"


FULL = Size(4096, (3, 3, 3), 24, 1 << 20, 10_000, 1 << 17)
QUICK = Size(24, (1, 1, 2), 4, 1 << 12, 5, 1 << 8)


def main() -> None:
    given = options("An analytic volume as an ensemble of neural fields.")
    has_gpu = torch.cuda.is_available()
    size = FULL if has_gpu and not given.is_quick else QUICK
    device = torch.device("cuda" if has_gpu else "cpu")
    waves = Waves(size, device)
    ghost = min(GHOST, size.side // 8)
    lowest, highest = waves.value_range()
    start, squares, trained = time.perf_counter(), 0.0, 0.0
    for block in brick_lattice((size.side,) * 3, size.counts, ghost):
        voxels = waves.voxels(block.outer)
        began = time.perf_counter()
        values = fitted(voxels, (lowest, highest), size)
        trained += time.perf_counter() - began
        inside = block.core.relative_to(block.outer.start).slices
        squares += squared_error(values[inside], voxels[inside], lowest, highest)
        del voxels, values
    seconds = time.perf_counter() - start
    psnr = -10 * math.log10(squares / size.side**3)
    memory = torch.cuda.max_memory_allocated() / 2**30 if has_gpu else 0.0
    field_bytes = 4 * size.parameters * math.prod(size.counts)
    rows = [
        shorter("all bricks, generated, trained and measured", "s", seconds, TARGET, TARGET_S),
        shorter("the same", "s", seconds, "published, 250 GB", PAPER_S),
        Row("of that, training and evaluation", "time", "s", trained, "", None, None),
        Row("error at every voxel", "PSNR", "dB", psnr, "", None, None),
        Row("float32 parameters", "ratio", "× smaller", size.side**3 * 4 / field_bytes, "", None, None),
        Row("device memory", "most", "GiB", memory, "", None, None),
    ]
    report("neural_large", rows, str(size), given)


class Waves:
    """A sum of plane waves whose energy falls as in turbulence, with the power -5/3 of the wave number."""

    def __init__(self, size: Size, device: torch.device) -> None:
        random = np.random.default_rng(0)
        lengths = np.exp(random.uniform(0, np.log(24), size.waves))
        directions = random.normal(size=(size.waves, 3))
        self._numbers = 2 * np.pi * lengths[:, None] * directions / np.linalg.norm(directions, axis=1, keepdims=True)
        self._phases = random.uniform(0, 2 * np.pi, size.waves)
        self._sizes = lengths ** (-5 / 6)
        self._side, self._device = size.side, device

    def voxels(self, box: Box) -> Tensor:
        """Values of a box (z, y, x): each wave is a product of one factor along each axis."""
        values = torch.zeros(box.shape, device=self._device)
        for number, phase, height in zip(self._numbers, self._phases, self._sizes, strict=True):
            z, y, x = (
                torch.exp(1j * (k * torch.arange(low, high, device=self._device, dtype=torch.float64) / self._side))
                for k, low, high in zip(number, box.start, box.stop, strict=True)
            )
            plane = (float(height) * np.exp(1j * phase) * y[:, None] * x[None, :]).to(torch.complex64)
            cosine, sine = z.real.float(), z.imag.float()
            for first in range(0, len(z), 64):
                part = slice(first, first + 64)
                values[part] += cosine[part, None, None] * plane.real - sine[part, None, None] * plane.imag
        return values

    def value_range(self) -> tuple[float, float]:
        """No value lies outside."""
        most = float(self._sizes.sum())
        return -most, most


def fitted(voxels: Tensor, value_range: tuple[float, float], size: Size) -> Tensor:
    """Values of a field trained on a brick, 0 to 1 for the range."""
    shape: Shape = (voxels.shape[0], voxels.shape[1], voxels.shape[2])
    network = make_network("amgsrn", size.parameters, shape).to(voxels.device)
    samples = VolumeSamples(voxels, value_range, at_voxels=True)
    settings = TrainingOptions(steps=size.steps, batch=size.batch)
    if voxels.is_cuda:
        from pellucid.neural.cuda_training import CudaTrainer

        trainer = CudaTrainer(network, samples, settings, at_voxels=True)
        trainer.prepare()
        trainer.train()
        return trainer.values()
    train(network, samples, settings)
    return values_on_cpu(network, shape)


def values_on_cpu(network: FieldNetwork, shape: Shape) -> Tensor:
    axes = [torch.linspace(-1, 1, n) for n in shape]
    z, y, x = torch.meshgrid(*axes, indexing="ij")
    with torch.no_grad():
        return network(torch.stack([x, y, z], dim=-1).reshape(-1, 3)).reshape(shape)


def squared_error(values: Tensor, truth: Tensor, low: float, high: float) -> float:
    """Sum over all voxels, relative to the range; slab by slab, which takes little memory."""
    total = 0.0
    for found, exact in zip(values.split(64), truth.split(64), strict=True):
        total += float((found - (exact - low) / (high - low)).square().sum(dtype=torch.float64))
    return total


if __name__ == "__main__":
    main()
