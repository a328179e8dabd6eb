"""How fast neural fields train on a GPU; part of benchmarks.neural.

Here: rows about training and rounding, on the GPU.
Not here: quality beside other codecs (neural), evaluation (neural_drawing).
"""

import time
from typing import Any

import torch

from benchmarks.table import TARGET, Row
from pellucid.neural.cuda_training import CudaTrainer
from pellucid.neural.models import make_network
from pellucid.neural.samples import VolumeSamples
from pellucid.neural.training import TrainingOptions

MEDIUM = 1 << 20
QUICK_STEPS, QUICK_BATCH = 21_000, 1 << 16
PUBLISHED_STEPS = 50_000


def speed_rows(volumes: list[tuple[str, Any]]) -> list[Row]:
    rows = []
    for name, array in volumes:
        long, _, long_s = train(array, schedule="plateau", steps=PUBLISHED_STEPS, transform_rate=2.5e-4)
        short, _, short_s = train(array, steps=QUICK_STEPS, batch=QUICK_BATCH)
        exact, _, _ = train(array, steps=12_000, at_voxels=True)
        rounded, _, _ = train(array, steps=12_000, at_voxels=True, rounding=0.25)
        rows += [
            Row(f"{name}: AMGSRN medium, 50,000 steps as published", "PSNR", "dB", long, "", None, None),
            Row(f"{name}: the same in {long_s:.1f} s, quickly in", "time", "s", short_s, TARGET, 5.0, 5.0 / short_s),
            Row(f"{name}: lost by training quickly", "PSNR", "dB", long - short, TARGET, 0.3, None),
            Row(f"{name}: lost by rounding to 4 bits", "PSNR", "dB", exact - rounded, TARGET, 0.2, None),
        ]
    return rows


def train(array: Any, *, at_voxels: bool = False, **settings: Any) -> tuple[float, CudaTrainer, float]:
    """PSNR, the trainer and the seconds of a training of the medium model."""
    voxels = torch.from_numpy(array).cuda()
    extent = float(voxels.min()), float(voxels.max())
    network = make_network("amgsrn", MEDIUM, array.shape).cuda()
    trainer = CudaTrainer(network, VolumeSamples(voxels, extent), TrainingOptions(**settings), at_voxels=at_voxels)
    trainer.prepare()
    start = time.perf_counter()
    trainer.train()
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    error = trainer.values() - (voxels.float() - extent[0]) / (extent[1] - extent[0])
    return float(-10 * torch.log10(error.square().mean())), trainer, seconds
