"""One model of one box of a volume: trained, and rounded until it has the size that was asked for.

Here: FittingOptions, fit, and Fitted; a model that is trained is kept in a file, and so is one that is being trained.
Not here: which boxes there are (lattice), where they are trained (ensemble), the file that users get (compression).
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pellucid import progress
from pellucid.box import Box
from pellucid.engines.stopping import raise_if_stopped
from pellucid.errors import InvalidInput
from pellucid.formats.neural_field.field import Decoder, FeatureGrid, Floats, HashLevel, NeuralField
from pellucid.formats.neural_field.spline import SplineGrid
from pellucid.formats.neural_field.stored_volume import Steps, coded_field, coded_step
from pellucid.neural.checkpoints import TrainingCheckpoint, fits, load_arrays, save_arrays
from pellucid.neural.models import make_network
from pellucid.neural.network import FieldNetwork
from pellucid.neural.samples import BlockSamples, Samples, VolumeSamples, to_tensor
from pellucid.neural.spline_fitting import FittedSpline, SplineResidual, choose_spline, fit_spline
from pellucid.neural.training import OnStep, Training, TrainingOptions, network_arrays, rounding_steps, train
from pellucid.neural.training_watch import Snapshots
from pellucid.volume.volume import Volume

BITS, BITS_OF_MANY = 4.2, 3.6
"""Bits that a parameter takes in the file, about; and in a file of more than MANY_BYTES, where a coder learns more. At
131 kB, four scans took 2.9 to 3.6."""
MANY_BYTES = 50_000
ROUNDING, CODING_WEIGHT = 0.3, 0.1
"""The step of features relative to their root mean square; and how much the bits that they take count while they are
trained. A crop of 64³ voxels of engine, 2^14 features, 2500 steps: 38.42 dB at 4.01 bits a feature, of 39.46 dB with
exact ones; rounded all at once, 38.32 dB at 4.34 bits. A crop of bonsai: 30.95 dB at 4.15 bits, of 31.52 dB."""
FINE = 1e-4
"""A step that is as good as exact."""
WEIGHT_LEVELS, FINE_WEIGHT_LEVELS, MANY_FEATURES = 400, 1600, 1 << 16
"""Steps between zero and the largest weight of a layer; of a field with many features, in which weights are few. With
400, 131 kB of a scan of an engine have 47.11 dB, with 1600 47.27 dB, with exact weights 47.28 dB."""
DECODERS = (
    (MANY_FEATURES, 1 << 40, 9500),
    (1 << 15, MANY_FEATURES - 1, 7500),
    (1 << 13, (1 << 15) - 1, 3000),
    (512, (1 << 13) - 1, 1600),
)
"""From how many to how many parameters of grids: the bytes of transforms and of the decoder that these have."""
CPU_BATCH, CPU_STEPS = 1 << 12, 4_000
OWN_MODELS = ("adaptive", "pyramid")
"""Models that may have a spline; published ones stay as they are."""
MIN_SPLINE_SIZE = 1 << 14
"""Bytes of a field below which a network beside a spline would have too few."""
WARM_SHARE = 0.25
"""Of the steps of a first training: how many follow where the model of the step before is the start."""
WARM_RATE = 0.003
MAX_REFITS, REFIT_SHARE, REFIT_RATE = 3, 0.25, 0.005
"""Where a trained model takes too many bytes: how often, and for which part of its steps, it is trained again with
larger steps of its features. Rounding them once more without that costs far more quality."""
MIN_USED, FINEST = 0.95, 0.4
"""A model that takes less than this part of its bytes is trained again with smaller steps, times this at least, unless
its time or the number of its steps was given."""


@dataclass(frozen=True)
class FittingOptions:
    """How to train a model.

    parameters: how many, instead of what a size allows. must_fit: whether it is rounded until it has its size.
    """

    model: str = "adaptive"
    parameters: int | None = None
    seconds: float | None = None
    steps: int | None = None
    batch: int | None = None
    is_rounded: bool = True
    seed: int = 42
    must_fit: bool = True


@dataclass(frozen=True)
class FittingRequest:
    """A model to train. box: of the volume. value_range: of the whole. name: for users. start: the same model of the
    step before, where the training begins; its grids stay where they are, and its parameters are rounded as those."""

    box: Box
    value_range: tuple[float, float]
    size: int
    options: FittingOptions
    name: str = "Training"
    start: "Fitted | None" = None

    def network(self, spline: FittedSpline | None = None) -> FieldNetwork:
        """The network before training. spline: what counts below it, whose bytes it does not have."""
        parameters = self.options.parameters or _parameters_for(self.size - (spline.nbytes if spline else 0))
        network = make_network(self.options.model, parameters, self.box.shape, seed=self.options.seed)
        if self.start:
            network.load_field(self.start.field)
        return network


@dataclass(frozen=True)
class Fitted:
    """A trained field, rounded as it is stored, with the steps it was rounded to."""

    box: Box
    field: NeuralField
    steps: Steps
    training: Training
    spline: FittedSpline | None = None


@dataclass(frozen=True)
class _Trained:
    """A trained field before it is rounded. grids: steps of the grids."""

    field: NeuralField
    grids: list[float]
    training: Training
    spline: FittedSpline | None


def fit(volume: Volume, request: FittingRequest, device: torch.device, path: Path) -> Fitted:
    """Train a model and keep it in a file; if it is there already, read it."""
    if found := load_fitted(request, path):
        return found
    spline = _spline(volume, request, device)
    network = request.network(spline).to(device)
    checkpoint = TrainingCheckpoint(path.with_suffix(".training.npz"))
    value_range, base = network_range(request, spline), spline.grid if spline else None
    snapshots = Snapshots(network, request.name, volume.shape, request.box, value_range, base)
    if spline:
        volume = SplineResidual(volume, request.box, spline.grid, device).volume
    samples = _samples(volume, request.box, value_range, device)
    training = _train(network, samples, snapshots, request, checkpoint)
    relative = ROUNDING if request.options.is_rounded else FINE
    known = list(request.start.steps.grids) if request.start else training.rounding_steps
    grids = known or rounding_steps(network.grid_groups(), relative)
    trained = _Trained(_field(network, request, spline), grids, training, spline)
    trained = _refitted(network, samples, snapshots, request, trained)
    training, grids = trained.training, trained.grids
    fitted, scale = _rounded_to_size(request, trained)
    facts = np.array([training.steps, training.seconds, scale], np.float64)
    kept = {"facts": facts, "losses": np.array(training.losses), "grids": np.array(grids), **_spline_arrays(spline)}
    save_arrays(path, {**network_arrays(network), **kept})
    checkpoint.remove()
    return fitted


def _refitted(
    network: FieldNetwork, samples: Samples, snapshots: Snapshots, request: FittingRequest, trained: _Trained
) -> _Trained:
    """A trained model with other steps of its features, where it would take too many bytes, or leave many unused."""
    for attempt in range(MAX_REFITS):
        factor, before = _change_of_steps(request, trained, attempt), trained.training
        if factor == 1 or (factor < 1 and attempt):
            break
        kept = {name: tensor.clone() for name, tensor in network.state_dict().items()} if factor < 1 else {}
        grids = [step * factor for step in trained.grids]
        again = _train(network, samples, snapshots, request, None, tuple(grids))
        if kept and again.losses[-1:] >= before.losses[-1:]:
            network.load_state_dict(kept)
            break
        training = Training(before.steps + again.steps, before.seconds + again.seconds, before.losses, grids)
        trained = _Trained(_field(network, request, trained.spline), grids, training, trained.spline)
    return trained


def load_fitted(request: FittingRequest, path: Path) -> Fitted | None:
    """A model that was trained before; None where the file is absent, damaged or of another model."""
    arrays = dict(load_arrays(path) or {})
    if not arrays:
        return None
    facts, losses, grids = (arrays.pop(name, np.zeros(0)) for name in ("facts", "losses", "grids"))
    spline = _loaded_spline(arrays)
    network = request.network(spline)
    count = sum(len(group.features) for group in network.grid_groups())
    if not fits(arrays, network_arrays(network)) or facts.shape != (3,) or grids.shape != (count,):
        return None
    network.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
    steps, seconds, scale = facts.tolist()
    training = Training(int(steps), seconds, losses.tolist(), grids.tolist())
    return _rounded_by(request, _Trained(_field(network, request, spline), grids.tolist(), training, spline), scale)


def network_of(fitted: Fitted, request: FittingRequest) -> FieldNetwork:
    """The network of a fitted field, without its spline."""
    network = request.network(fitted.spline)
    network.load_field(fitted.field)
    return network


def network_range(request: FittingRequest, spline: FittedSpline | None) -> tuple[float, float]:
    """What the network's 0 and 1 stand for: values of the volume, or of what a spline leaves of it."""
    return spline.residual_range if spline else request.value_range


def stored_network(network: FieldNetwork, grids: list[float]) -> tuple[NeuralField, int]:
    """A network as it is read from a file, and the bytes that it takes there. grids: steps of its grids."""
    field = network.to_field((0.0, 1.0))
    steps = _steps(field, grids, ())
    return _rounded(field, steps), len(coded_field(field, steps))


def _spline(volume: Volume, request: FittingRequest, device: torch.device) -> FittedSpline | None:
    """The spline under a model of our own, where the volume is smooth; in a series, like that of the step before."""
    options, start = request.options, request.start
    if start is not None:
        known = start.spline
        fitted = fit_spline(volume, request.box, known.grid.cells, step=known.step, device=device) if known else None
        return replace(fitted, nbytes=known.nbytes) if known and fitted else None  # The network has the same size.
    is_own = options.model in OWN_MODELS and options.is_rounded and not options.parameters
    if not is_own or request.size < MIN_SPLINE_SIZE:
        return None
    return choose_spline(volume, request.box, request.size, device)


def _field(network: FieldNetwork, request: FittingRequest, spline: FittedSpline | None) -> NeuralField:
    field = network.to_field(network_range(request, spline))
    return replace(field, spline=spline.grid) if spline else field


def _spline_arrays(spline: FittedSpline | None) -> dict[str, Floats]:
    if spline is None:
        return {}
    facts = (spline.step, spline.nbytes, spline.mean_square_error, *spline.residual_range)
    return {"spline": spline.grid.coefficients, "spline_facts": np.array(facts)}


def _loaded_spline(arrays: dict[str, Any]) -> FittedSpline | None:
    coefficients, facts = (arrays.pop(name, np.zeros(0)) for name in ("spline", "spline_facts"))
    if coefficients.ndim != 3 or facts.shape != (5,):
        return None
    step, nbytes, error, low, high = facts.tolist()
    return FittedSpline(SplineGrid(coefficients.astype(np.float32)), step, int(nbytes), error, (low, high))


def _rounded_to_size(request: FittingRequest, trained: _Trained) -> tuple[Fitted, float]:
    scale = 1.0
    for _ in range(20):
        fitted = _rounded_by(request, trained, scale)
        if not request.options.must_fit or _coded_size(fitted, request.start) <= request.size:
            return fitted, scale
        scale *= 1.12
    raise InvalidInput(f"No field of {request.size:,} bytes could be made.", remedy="Use a larger size.")


def _change_of_steps(request: FittingRequest, trained: _Trained, attempt: int) -> float:
    """What the steps of features have to be multiplied by for a model to take its bytes; 1 where it does. From attempt
    to attempt it aims at a little less: trained again, features grow."""
    options, features = request.options, sum(grid.features.size for grid in trained.field.grids)
    if not (options.must_fit and options.is_rounded and features) or request.start:
        return 1.0
    size = _coded_size(_rounded_by(request, trained, 1.0), request.start)
    is_limited = options.steps is not None or options.seconds is not None
    if size <= request.size and (is_limited or size >= MIN_USED * request.size):
        return 1.0
    return max(2.0 ** (8 * (size - (0.99 - 0.03 * attempt) * request.size) / features), FINEST)


def _coded_size(fitted: Fitted, start: Fitted | None) -> int:
    before = [(start.field, start.steps)] if start else None
    return len(coded_step([fitted.field], [fitted.steps], before)[1][0])


def _rounded_by(request: FittingRequest, trained: _Trained, scale: float) -> Fitted:
    spline = trained.spline
    steps = _steps(trained.field, [step * scale for step in trained.grids], (spline.step,) if spline else ())
    if request.start:  # Only what is rounded to the same steps can be stored as differences.
        tables = tuple(step * scale for step in request.start.steps.hash_levels)
        steps = replace(steps, hash_levels=tables, weights=request.start.steps.weights)
    return Fitted(request.box, _rounded(trained.field, steps), steps, trained.training, spline)


def _samples(volume: Volume, box: Box, value_range: tuple[float, float], device: torch.device) -> Samples:
    """All voxels where they fit into a third of the device's memory, else blocks in turn."""
    if device.type == "cuda":
        free = torch.cuda.mem_get_info(device)[0]
    else:
        from pellucid.settings import load

        free = load().memory_bytes
    has_own_type = volume.dtype.itemsize >= 4 or volume.dtype.name in ("uint8", "int16")
    if box.size * volume.dtype.itemsize * (1 if has_own_type else 2) < free // 3:
        voxels = to_tensor(volume.read(box)).to(device)
        return VolumeSamples(voxels, value_range, at_voxels=True)
    return BlockSamples(volume, device, box=box, value_range=value_range)


def _parameters_for(size: int) -> int:
    """About how many parameters of the grids fit beside transforms and the decoder, whose width follows from them."""
    bits = BITS if size < MANY_BYTES else BITS_OF_MANY
    for least, most, decoder in DECODERS:
        parameters = int((size - decoder) * 8 / bits)
        if parameters >= least:
            return min(parameters, most)
    return 512


def _train(
    network: FieldNetwork,
    samples: Samples,
    snapshots: Snapshots,
    request: FittingRequest,
    checkpoint: TrainingCheckpoint | None,
    again: tuple[float, ...] = (),
) -> Training:
    """again: steps of the grids, to which features of a trained network are to be rounded."""
    options, on_gpu = request.options, next(network.parameters()).is_cuda
    steps = options.steps or (12_000 if on_gpu else CPU_STEPS)
    training = TrainingOptions(
        steps=steps if options.seconds is None else max(steps, 1_000_000 if options.steps is None else steps),
        batch=options.batch or (1 << 17 if on_gpu else CPU_BATCH),
        rounding=ROUNDING if options.is_rounded else 0.0,
        coding_weight=CODING_WEIGHT if options.is_rounded else 0.0,
        seconds=options.seconds or math.inf,
    )
    if request.start:
        steps = max(1, int(training.steps * WARM_SHARE)) if options.seconds is None else training.steps
        known = request.start.steps.grids if options.is_rounded and not on_gpu else ()
        seconds = training.seconds * WARM_SHARE
        training = replace(training, steps=steps, seconds=seconds, rate=WARM_RATE, density="none")
        # Bits do not count: what stays as it was is cheap, whatever it is.
        training = replace(training, rounding=0.0, rounding_steps=known, coding_weight=0.0)
    if again:
        training = replace(training, steps=max(1, int(training.steps * REFIT_SHARE)), rate=REFIT_RATE, density="none")
        training = replace(training, seconds=training.seconds * REFIT_SHARE, rounding_steps=again)
    low, high = samples.value_range
    gain_db = 20 * math.log10(max(np.ptp(request.value_range), 1e-300) / max(high - low, 1e-300))
    with _reported(request.name, training, gain_db, snapshots) as on_step:
        if on_gpu and isinstance(samples, VolumeSamples):
            from pellucid.neural.cuda_model import can_train_fused
            from pellucid.neural.cuda_training import CudaTrainer

            if can_train_fused(network):
                trainer = CudaTrainer(network, samples, training, at_voxels=True)
                snapshots.before = trainer.store
                return trainer.train(on_step, checkpoint)
        return train(network, samples, training, on_step, checkpoint)


@contextmanager
def _reported(name: str, options: TrainingOptions, gain_db: float, snapshots: Snapshots) -> Iterator[OnStep]:
    """Shows the progress of a training, and ten times the PSNR so far. gain_db: of the range of the volume over the one
    that is trained on."""
    start, is_timed, tenths = time.monotonic(), math.isfinite(options.seconds), {-1}
    total = math.ceil(options.seconds) if is_timed else options.steps
    with progress.task(name, total=total, unit="seconds" if is_timed else "steps") as bar:

        def on_step(step: int, loss: float) -> None:
            raise_if_stopped()
            done = int(time.monotonic() - start) if is_timed else step
            bar.advance(max(0, min(done, total) - bar.done))
            tenth = done * 10 // total
            psnr = gain_db - 10 * math.log10(max(loss, 1e-30))
            if snapshots.is_due:
                snapshots.take(step, psnr)
            if tenth not in tenths and loss > 0:
                tenths.add(tenth)
                progress.note(f"PSNR so far: {psnr:.2f} dB after {step:,} steps")

        yield on_step


def _steps(field: NeuralField, grids: list[float], spline: tuple[float, ...]) -> Steps:
    tables = [max(float(np.sqrt(np.mean(level.table**2))) * ROUNDING, 1e-8) for level in field.hash_levels]
    features = sum(grid.features.size for grid in field.grids) + sum(level.table.size for level in field.hash_levels)
    levels = FINE_WEIGHT_LEVELS if features >= MANY_FEATURES else WEIGHT_LEVELS
    weights = [max(float(np.abs(one).max()) / levels, 1e-8) for one in field.decoder.weights]
    return Steps(tuple(grids), tuple(tables), tuple(weights), spline)


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
