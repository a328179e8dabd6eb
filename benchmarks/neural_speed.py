"""How fast does AMGSRN train on a GPU, and what does rounding its features cost?

    python -m benchmarks.neural_speed [--quick] [--json FILE]

The medium model on real scans: 50,000 steps as published, and the quick training that is to come within 0.3 dB of it.
Without a GPU there is nothing to measure.
"""

import time
from typing import Any

import torch

from benchmarks.neural_volumes import SCANS, scans
from benchmarks.table import TARGET, Row, options, report, unavailable
from pellucid.neural.cuda_training import CudaTrainer
from pellucid.neural.fitting import stored_network
from pellucid.neural.models import make_network
from pellucid.neural.samples import VolumeSamples
from pellucid.neural.training import TrainingOptions

MEDIUM = 1 << 20
QUICK_STEPS, QUICK_BATCH = 21_000, 1 << 16
PUBLISHED_STEPS = 50_000
ROUNDINGS = ((0.2, 0.1), (0.3, 0.1), (0.4, 0.1), (0.3, 0.3))
"""Steps relative to the root mean square of features, and the weights of the bits that they take."""


def main() -> None:
    given = options("Training of neural fields on a GPU.")
    rows: list[Row] = []
    names = tuple(SCANS)[:1] if given.is_quick else tuple(SCANS)
    for name, array in scans(names) if torch.cuda.is_available() else []:
        rows += speed_rows(name, array)
        report("neural_speed", rows, f"AMGSRN, {MEDIUM:,} parameters", given)
    if not rows:
        rows = [unavailable("training", "ours", "no GPU, or no scans")]
        report("neural_speed", rows, f"AMGSRN, {MEDIUM:,} parameters", given)


def speed_rows(name: str, array: Any) -> list[Row]:
    long, long_s = train(array, schedule="plateau", steps=PUBLISHED_STEPS, transform_rate=2.5e-4)
    short, short_s = train(array, at_voxels=True, steps=QUICK_STEPS, batch=QUICK_BATCH)
    exact, _ = train(array, steps=12_000, at_voxels=True)
    rows = []
    for rounding, weight in ROUNDINGS:
        coded: list[int] = []
        rounded, _ = train(array, coded, steps=12_000, at_voxels=True, rounding=rounding, coding_weight=weight)
        ratio = 4 * MEDIUM / coded[0]
        case = f"{name}: lost by rounding to {rounding:g} of the RMS, bits weighted {weight:g}, {ratio:.1f} x smaller"
        rows.append(Row(case, "PSNR", "dB", exact - rounded, TARGET, 0.2, None))
    return [
        Row(f"{name}: 50,000 steps as published", "PSNR", "dB", long, "", None, None),
        Row(f"{name}: the same in {long_s:.1f} s, quickly in", "time", "s", short_s, TARGET, 5.0, 5.0 / short_s),
        Row(f"{name}: lost by training quickly", "PSNR", "dB", long - short, TARGET, 0.3, None),
        *rows,
    ]


def train(
    array: Any, coded: list[int] | None = None, *, at_voxels: bool = False, **settings: Any
) -> tuple[float, float]:
    """PSNR and seconds of a training of the medium model. coded: is given its bytes in a file."""
    voxels = torch.from_numpy(array).cuda()
    extent = float(voxels.min()), float(voxels.max())
    network = make_network("amgsrn", MEDIUM, array.shape).cuda()
    trainer = CudaTrainer(network, VolumeSamples(voxels, extent), TrainingOptions(**settings), at_voxels=at_voxels)
    trainer.prepare()
    start = time.perf_counter()
    trainer.train()
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    if coded is not None:
        coded.append(stored_network(network, trainer.rounding_steps)[1])
    error = trainer.values() - (voxels.float() - extent[0]) / (extent[1] - extent[0])
    return float(-10 * torch.log10(error.square().mean())), seconds


if __name__ == "__main__":
    main()
