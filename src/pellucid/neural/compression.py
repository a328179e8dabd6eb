"""``pellucid compress``: compress a volume into a neural field of a given size, quality or error.

Here: CompressionOptions, compress, and the Report of what came of it.
Not here: networks and training (models, training, cuda_training), bytes (pellucid.formats.neural_field).
"""

import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from pellucid import progress
from pellucid.box import Box
from pellucid.engines.output_check import check_output
from pellucid.errors import InvalidInput, OutputExists
from pellucid.formats.location import Location
from pellucid.formats.neural_field.container import write_file
from pellucid.formats.neural_field.field import Decoder, FeatureGrid, Floats, HashLevel, NeuralField
from pellucid.formats.neural_field.neural_volume import NeuralVolume, PlacedField, to_voxel_type
from pellucid.formats.neural_field.stored_volume import Steps, to_sections
from pellucid.neural.models import make_network
from pellucid.neural.network import FieldNetwork
from pellucid.neural.quality import Quality, measure
from pellucid.neural.residual_coding import RESIDUAL_BRICK, code_residual, evaluation_tolerance
from pellucid.neural.samples import BlockSamples, Samples, VolumeSamples, to_tensor
from pellucid.neural.training import Training, TrainingOptions, rounding_steps, train
from pellucid.volume.volume import Volume, open_volume

BITS = 4.3
"""Bits that a parameter takes in the file, about."""
ROUNDING = 0.25
FINE = 1e-4
"""Steps of features relative to their root mean square: about four bits, and as good as exact."""
WEIGHT_LEVELS = 400
"""Steps between zero and the largest weight of a layer."""
MAX_TRIES = 6
CPU_BATCH = 1 << 12
SMALLEST = 4096
MIN_REFUSED = 1_000_000
"""A field may be larger than its volume up to this size: small volumes are for trying things."""
POINTS_AT_ONCE = 1 << 20
MAX_VALUE = 1e37
"""Fields are float32: larger values, and differences of them, would become infinite."""


@dataclass(frozen=True)
class CompressionOptions:
    """What to reach, and with what.

    size: bytes of the neural part. parameters: how many, instead of a size. psnr: in dB; the smallest size that reaches
    it is looked for. max_error: largest error of any voxel, in the volume's units. seconds: for training. batch: points
    of a step. device: None for the best. is_rounded: whether features are rounded to few bits while they are trained.
    """

    size: int | None = None
    parameters: int | None = None
    psnr: float | None = None
    max_error: float | None = None
    seconds: float | None = None
    steps: int | None = None
    batch: int | None = None
    model: str = "adaptive"
    device: str | None = None
    is_rounded: bool = True
    seed: int = 42
    overwrite: bool = False


@dataclass(frozen=True)
class Report:
    """What came of a compression. Sizes are bytes in the file."""

    path: Path
    quality: Quality
    raw_bytes: int
    file_bytes: int
    field_bytes: int
    residual_bytes: int
    parameters: int
    training: Training
    device: str
    device_memory: int

    @property
    def ratio(self) -> float:
        return self.raw_bytes / self.file_bytes


def compress(source: str | Path | Location, output: str | Path, options: CompressionOptions | None = None) -> Report:
    """Write a volume as a neural field."""
    options, path = options or CompressionOptions(), Path(output)
    _check(options, path)
    with open_volume(source) as volume:
        check_output(path, [volume.location])
        _check_values(volume)
        size = options.size or _default_size(volume)
        _check_size(size, volume)
        device = _device(options.device)
        samples = _samples(volume, device)
        fitted = (
            _search(volume, samples, device, options, size)
            if options.psnr
            else _fit(volume, samples, device, options, size)
        )
        return _write(volume, path, fitted, options, device)


@dataclass(frozen=True)
class Fitted:
    """A trained field, rounded as it is stored, with the steps it was rounded to; the network has the same values."""

    network: FieldNetwork
    field: NeuralField
    steps: Steps
    training: Training


def _check(options: CompressionOptions, path: Path) -> None:
    if path.suffix.lower() != ".plf":
        raise InvalidInput(f"{path} is not a name for a neural field.", remedy="Use a name that ends in .plf.")
    if path.exists() and not options.overwrite:
        raise OutputExists(str(path))
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder.", remedy="Use the name of a file, such as field.plf.")
    if not path.absolute().parent.is_dir():
        raise InvalidInput(f"The folder of {path} does not exist.", remedy="Create it first.")
    numbers = {"size": options.size, "PSNR": options.psnr, "error": options.max_error, "time": options.seconds}
    for name, value in numbers.items():
        if value is not None and not (math.isfinite(value) and value > 0):
            raise InvalidInput(f"The {name} {value} is not positive.", remedy="Use a positive number.")
    if options.size is not None and options.size < SMALLEST:
        raise InvalidInput(f"A field of {options.size} bytes is too small.", remedy=f"Use at least {SMALLEST} bytes.")
    if not 0 <= options.seed < 2**63:
        raise InvalidInput(f"The seed {options.seed} is out of range.", remedy="Use a whole number from 0 to 2^63 - 1.")


def _check_values(volume: Volume) -> None:
    low, high = volume.value_range
    if not (math.isfinite(low) and math.isfinite(high)):
        raise InvalidInput("The volume has no finite value range.", remedy="Replace NaN and infinite values first.")
    if not -MAX_VALUE <= low <= high <= MAX_VALUE:
        raise InvalidInput(
            f"The values {low:.3g} to {high:.3g} are too large for a neural field.",
            remedy=f"Scale the volume to values within {MAX_VALUE:.0e}.",
        )
    if volume.dtype.kind == "f":
        for box in volume.box.tiles((64, *volume.shape[1:])):
            if not np.isfinite(volume.read(box)).all():
                raise InvalidInput(
                    "The volume has voxels that are NaN or infinite.",
                    remedy="Replace them first, for example with the smallest value.",
                )


def _default_size(volume: Volume) -> int:
    """A hundredth of the volume, within what trains quickly."""
    return int(min(max(volume.nbytes // 100, 1 << 15), 8 << 20))


def _device(name: str | None) -> torch.device:
    if name is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name.startswith("cuda") and not torch.cuda.is_available():
        raise InvalidInput(
            "PyTorch found no CUDA GPU on this machine.", remedy="Use --device cpu, or install PyTorch with CUDA."
        )
    is_known = re.fullmatch(r"cpu|cuda(:\d{1,3})?", name)
    if not is_known or (":" in name and int(name[5:]) >= torch.cuda.device_count()):
        raise InvalidInput(f"The device {name} does not exist.", remedy="Use cpu, cuda or cuda:0.")
    return torch.device(name)


def _check_size(size: int, volume: Volume) -> None:
    if size > max(volume.nbytes, MIN_REFUSED):
        raise InvalidInput(
            f"A field of {size:,} bytes is larger than the volume, which has {volume.nbytes:,}.",
            remedy="Use a smaller size, or store the volume with a lossless codec.",
        )


def _samples(volume: Volume, device: torch.device) -> Samples:
    """All voxels where they fit into a third of the device's memory, else blocks in turn."""
    if device.type == "cuda":
        free = torch.cuda.mem_get_info(device)[0]
    else:
        from pellucid.settings import load

        free = load().memory_bytes
    if volume.nbytes * (1 if volume.dtype.itemsize >= 4 or volume.dtype.name in ("uint8", "int16") else 2) < free // 3:
        voxels = to_tensor(volume.read()).to(device)
        return VolumeSamples(voxels, volume.value_range, at_voxels=True)
    return BlockSamples(volume, device)


def _search(volume: Volume, samples: Samples, device: torch.device, options: CompressionOptions, size: int) -> Fitted:
    """The smallest field that reaches a PSNR, by doubling or halving and one step between."""
    target, tried = options.psnr or 0.0, {}
    size = max(SMALLEST * 4, min(size, 1 << 18))
    for _ in range(MAX_TRIES):
        fitted = _fit(volume, samples, device, options, size)
        reached = _stored_quality(volume, fitted).psnr
        tried[size] = (reached, fitted)
        progress.note(f"{size / 1000:,.0f} kB reach {reached:.2f} dB")
        good = [one for one, (psnr, _) in tried.items() if psnr >= target]
        bad = [one for one, (psnr, _) in tried.items() if psnr < target]
        if good and bad and min(good) / max(bad) < 1.3:
            break
        size = int(math.sqrt(min(good) * max(bad))) if good and bad else (min(good) // 2 if good else max(bad) * 2)
        if size < SMALLEST or size > max(volume.nbytes, SMALLEST * 8):
            break
    good = [one for one, (psnr, _) in tried.items() if psnr >= target]
    if not good:
        best = max(psnr for psnr, _ in tried.values())
        raise InvalidInput(
            f"{target:.1f} dB were not reached; the best field has {best:.1f} dB.",
            remedy="Allow more time with --time, or use --max-error, which also stores the remaining error.",
        )
    return tried[min(good)][1]


def _fit(volume: Volume, samples: Samples, device: torch.device, options: CompressionOptions, size: int) -> Fitted:
    """Train a field of a size, and round it until it fits."""
    network = make_network(
        options.model, options.parameters or _parameters_for(size), volume.shape, seed=options.seed
    ).to(device)
    training = _train(network, samples, device, options)
    field = network.to_field(volume.value_range)
    grid_steps = training.rounding_steps or rounding_steps(
        network.grid_groups(), ROUNDING if options.is_rounded else FINE
    )
    scale = 1.0
    for _ in range(20):
        steps = _steps(field, [step * scale for step in grid_steps])
        rounded = _rounded(field, steps)
        if _coded_size(volume, rounded, steps) <= size or options.psnr or options.parameters:
            break
        scale *= 1.12
    else:
        raise InvalidInput(f"No field of {size:,} bytes could be made.", remedy="Use a larger size.")
    network.load_field(rounded)
    return Fitted(network, rounded, steps, training)


def _parameters_for(size: int) -> int:
    """About how many parameters of the grids fit beside the decoder."""
    decoder = 7500 if size > 24_000 else 2500 if size > 7_000 else 1000
    return max(512, int((size - decoder) * 8 / BITS))


def _train(network: FieldNetwork, samples: Samples, device: torch.device, options: CompressionOptions) -> Training:
    on_gpu = device.type == "cuda"
    steps = options.steps or (12_000 if on_gpu else 4_000)
    training = TrainingOptions(
        steps=steps if options.seconds is None else max(steps, 1_000_000 if options.steps is None else steps),
        batch=options.batch or (1 << 17 if on_gpu else CPU_BATCH),
        rounding=ROUNDING if options.is_rounded else 0.0,
        seconds=options.seconds or math.inf,
    )
    start, is_timed = time.monotonic(), math.isfinite(training.seconds)
    total = math.ceil(training.seconds) if is_timed else training.steps
    with progress.task("Training", total=total, unit="seconds" if is_timed else "steps") as bar:
        notes = set()

        def on_step(step: int, loss: float) -> None:
            done = int(time.monotonic() - start) if is_timed else step
            bar.advance(max(0, min(done, total) - bar.done))
            tenth = done * 10 // total
            if tenth not in notes and loss > 0:
                notes.add(tenth)
                progress.note(f"PSNR so far: {-10 * math.log10(loss):.2f} dB after {step:,} steps")

        if on_gpu and isinstance(samples, VolumeSamples):
            from pellucid.neural.cuda_model import can_train_fused
            from pellucid.neural.cuda_training import CudaTrainer

            if can_train_fused(network):
                return CudaTrainer(network, samples, training, at_voxels=True).train(on_step)
        return train(network, samples, training, on_step)


def _steps(field: NeuralField, grids: list[float]) -> Steps:
    tables = [max(float(np.sqrt(np.mean(level.table**2))) * ROUNDING, 1e-8) for level in field.hash_levels]
    weights = [max(float(np.abs(one).max()) / WEIGHT_LEVELS, 1e-8) for one in field.decoder.weights]
    return Steps(tuple(grids), tuple(tables), tuple(weights))


def _rounded(field: NeuralField, steps: Steps) -> NeuralField:
    """The field as it will be read from the file."""

    def whole(values: Floats, step: float) -> Floats:
        return (np.rint(values / np.float32(step)) * np.float32(step)).astype(np.float32)

    grids = [
        FeatureGrid(whole(grid.features, step), grid.transform)
        for grid, step in zip(field.grids, steps.grids, strict=True)
    ]
    tables = [
        HashLevel(level.resolution, whole(level.table, step))
        for level, step in zip(field.hash_levels, steps.hash_levels, strict=True)
    ]
    weights = tuple(whole(one, step) for one, step in zip(field.decoder.weights, steps.weights, strict=True))
    return replace(
        field, grids=tuple(grids), hash_levels=tuple(tables), decoder=Decoder(weights, field.decoder.activation)
    )


def _neural_volume(volume: Volume, field: NeuralField) -> NeuralVolume:
    return NeuralVolume(
        volume.shape, volume.dtype, (PlacedField(volume.box, field),), volume.spacing, volume.unit, volume.orientation
    )


def _coded_size(volume: Volume, field: NeuralField, steps: Steps) -> int:
    return sum(len(data) for data in to_sections(_neural_volume(volume, field), (steps,))[1].values())


def _stored_quality(volume: Volume, fitted: Fitted) -> Quality:
    values = _values(volume, fitted)
    return measure(volume, lambda box: to_voxel_type(values(box), volume.dtype))


def _values(volume: Volume, fitted: Fitted) -> Callable[[Box], Floats]:
    """What gives the field's values of a box: on a GPU the network, where it is much faster, else the definition."""
    device = next(fitted.network.parameters()).device
    if device.type == "cpu":
        return _neural_volume(volume, fitted.field).values
    low, high = fitted.field.value_range

    def values(box: Box) -> Floats:
        axes = [
            torch.linspace(-1, 1, n, device=device)[start:stop] if n > 1 else torch.zeros(1, device=device)
            for n, start, stop in zip(volume.shape, box.start, box.stop, strict=True)
        ]
        z, y, x = torch.meshgrid(*axes, indexing="ij")
        points = torch.stack([x, y, z], dim=-1).reshape(-1, 3)
        with torch.no_grad():
            found = torch.cat([fitted.network(part) for part in points.split(POINTS_AT_ONCE)])
        return np.asarray((found * (high - low) + low).reshape(box.shape).cpu().numpy(), np.float32)

    return values


def _write(volume: Volume, path: Path, fitted: Fitted, options: CompressionOptions, device: torch.device) -> Report:
    stored = _neural_volume(volume, fitted.field)
    residual: dict[str, bytes] = {}
    if options.max_error is None:
        quality = _stored_quality(volume, fitted)
    else:
        quality, residual = code_residual(volume, _values(volume, fitted), options.max_error)
    facts = {
        "psnr": min(quality.psnr, 999.0),
        "ssim": quality.ssim,
        "max_error": quality.max_error,
        "seconds": fitted.training.seconds,
    }
    header, sections = to_sections(replace(stored, quality=facts), (fitted.steps,))
    if options.max_error is not None:
        header["residual"] = {
            "bound": options.max_error,
            "tolerance": evaluation_tolerance(volume),
            "brick": RESIDUAL_BRICK,
        }
    write_file(path, header, {**sections, **residual})
    return Report(
        path,
        quality,
        volume.nbytes,
        path.stat().st_size,
        sum(len(data) for data in sections.values()),
        sum(len(data) for data in residual.values()),
        stored.parameter_count,
        fitted.training,
        str(device),
        torch.cuda.max_memory_allocated(device) if device.type == "cuda" else 0,
    )
