"""``pellucid compress``: compress a volume into a neural field of a given size, quality or error.

Here: compress, and the Report of what came of it.
Not here: options and their checks (compression_options), training one model (fitting) or one for every brick
(ensemble), bytes (pellucid.formats.neural_field).

Trained models, and those that are being trained, are kept in a folder beside the output until it is written: the same
command continues from there after an interruption.
"""

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch

from pellucid import progress
from pellucid.box import Box
from pellucid.engines.output_check import check_output
from pellucid.engines.partial_output import PartialOutput
from pellucid.errors import InvalidInput, SelectionNeeded
from pellucid.formats.fingerprint import fingerprint
from pellucid.formats.location import Location
from pellucid.formats.neural_field.container import overhead, write_file
from pellucid.formats.neural_field.field import Floats
from pellucid.formats.neural_field.neural_volume import NeuralVolume, PlacedField, to_voxel_type
from pellucid.formats.neural_field.stored_volume import header_document
from pellucid.neural.compression_options import (
    MAX_VALUE,
    MIN_FIELD_BYTES,
    CompressionOptions,
    check_options,
    check_size,
    check_values,
    default_size,
    training_devices,
)
from pellucid.neural.ensemble import BrickTask, Ensemble, brick_engine, coded_series, total_training, train_bricks
from pellucid.neural.fitting import WARM_SHARE, FittingOptions, FittingRequest, network_of
from pellucid.neural.lattice import brick_lattice, brick_sizes, choose_counts, default_ghost
from pellucid.neural.network_values import NetworkValues
from pellucid.neural.quality import Quality, measure
from pellucid.neural.residual_coding import RESIDUAL_BRICK, bounded_size, code_residual, evaluation_tolerance
from pellucid.neural.training import Training
from pellucid.settings import current
from pellucid.volume.blocks import Block
from pellucid.volume.series import open_series, time_steps
from pellucid.volume.volume import Volume, open_volume

__all__ = ["CompressionOptions", "Report", "compress"]

MAX_TRIES = 6
QUALITY_NAMES = ("psnr", "ssim", "max_error", "seconds")
SPLINE_OVERHEAD = 64
"""Of the description of a spline, which only some fields have, and of numbers with more digits than expected."""
TRAINING_VERSION = 3
"""Changes with everything that makes earlier checkpoints useless."""


@dataclass(frozen=True)
class Report:
    """What came of a compression. Sizes are bytes in the file. bricks: how many models. times: steps of a series, of
    which quality is that of the worst."""

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
    bricks: int = 1
    times: int = 1

    @property
    def ratio(self) -> float:
        return self.raw_bytes / self.file_bytes


def compress(source: str | Path | Location, output: str | Path, options: CompressionOptions | None = None) -> Report:
    """Write a volume as a neural field. Interrupted, the same call continues."""
    options, path = options or CompressionOptions(), Path(output)
    check_options(options, path)
    with _opened(source) as volumes:
        check_output(path, [volumes[0].location])
        for volume in volumes:
            check_values(volume)
        size = options.size or _chosen_size(volumes[0], options)
        check_size(size, volumes[0])
        compressor = _Compressor(volumes, options, training_devices(options.device))
        with _partial_output(path, volumes, options) as partial:
            folder = partial.folder / "models"
            fitted = [compressor.search(size, folder) if options.psnr else compressor.fit(size, folder)]
            for t in range(1, len(volumes)):
                fitted.append(compressor.follow(t, fitted[-1], folder / f"step{t}"))
            report = compressor.write(partial.output.local, fitted)
            partial.publish()
        return replace(report, path=path)


def _chosen_size(volume: Volume, options: CompressionOptions) -> int:
    if options.max_error is None or options.psnr:
        return default_size(volume)
    return bounded_size(volume, options.max_error)


@contextmanager
def _opened(source: str | Path | Location) -> Iterator[list[Volume]]:
    """The volume of a file, or those of all its time steps."""
    location = Location.parse(source)
    if time_steps(location) == 1:
        with open_volume(location) as volume:
            yield [volume]
    else:
        with open_series(location) as series:
            channel = location.number("c")
            if channel is None and series.channels > 1:
                raise SelectionNeeded(location.path, series.times, series.channels)
            yield [series[t, channel or 0] for t in range(series.times)]


@contextmanager
def _partial_output(path: Path, volumes: list[Volume], options: CompressionOptions) -> Iterator[PartialOutput]:
    """Where models are kept until the output has its name; of refused work, nothing stays."""
    with PartialOutput(Location(str(path)), overwrite=options.overwrite) as partial, partial.naming_target():
        partial.begin(_key(volumes, options))
        try:
            yield partial
        except BaseException as error:
            is_worth_keeping = any((partial.folder / "models").rglob("*.npz"))
            if isinstance(error, InvalidInput) or not is_worth_keeping:
                partial.discard()
            raise


def _key(volumes: list[Volume], options: CompressionOptions) -> str:
    """Changes with the input and with every option that changes the output."""
    chosen = {**asdict(options), "overwrite": None, "workers": None, "engine": None}
    location = volumes[0].location
    source = str(location.absolute), fingerprint(location), len(volumes)
    facts = (TRAINING_VERSION, source, sorted(chosen.items()))
    return hashlib.sha256(repr(facts).encode()).hexdigest()


class _Compressor:
    """A volume that is being compressed, or the steps of a series."""

    def __init__(self, volumes: list[Volume], options: CompressionOptions, devices: tuple[str, ...]) -> None:
        self.volume, self.volumes, self.options, self.devices = volumes[0], volumes, options, devices
        self.engine = brick_engine(options.engine, options.workers or len(devices), self.volume)
        ranges = [volume.value_range for volume in volumes]
        self.value_range = min(low for low, _ in ranges), max(high for _, high in ranges)

    def search(self, size: int, folder: Path) -> Ensemble:
        """The smallest field that reaches a PSNR, by doubling or halving and one step between."""
        target, tried = self.options.psnr or 0.0, {}
        size = max(MIN_FIELD_BYTES * 4, min(size, 1 << 18))
        for _ in range(MAX_TRIES):
            fitted = self.fit(size, folder / str(size))
            reached = self.quality(fitted, self.volume).psnr
            tried[size] = (reached, fitted)
            progress.note(f"{size / 1000:,.0f} kB reach {reached:.2f} dB")
            good = [one for one, (psnr, _) in tried.items() if psnr >= target]
            bad = [one for one, (psnr, _) in tried.items() if psnr < target]
            if good and bad and min(good) / max(bad) < 1.3:
                break
            size = int(math.sqrt(min(good) * max(bad))) if good and bad else (min(good) // 2 if good else max(bad) * 2)
            if size < MIN_FIELD_BYTES or size > max(self.volume.nbytes, MIN_FIELD_BYTES * 8):
                break
        good = [one for one, (psnr, _) in tried.items() if psnr >= target]
        if not good:
            best = max(psnr for psnr, _ in tried.values())
            raise InvalidInput(
                f"{target:.1f} dB were not reached; the best field has {best:.1f} dB.",
                remedy="Allow more time with --time, or use --max-error, which also stores the remaining error.",
            )
        return tried[min(good)][1]

    def fit(self, size: int, folder: Path) -> Ensemble:
        """Train the models of a field of a size."""
        options, shape = self.options, self.volume.shape
        counts = choose_counts(shape, size) if isinstance(options.bricks, str) else options.bricks or (1, 1, 1)
        blocks = brick_lattice(shape, counts, default_ghost(shape, counts) if options.ghost is None else options.ghost)
        sizes = brick_sizes(self.volume, blocks, size - self._overhead(blocks, size), MIN_FIELD_BYTES // 2)
        workers = self._workers(len(blocks))
        requests = tuple(
            FittingRequest(block.outer, self.value_range, own, self._fitting(own / size, len(blocks) / workers), name)
            for block, own, name in zip(blocks, sizes, _names(len(blocks)), strict=True)
        )
        task = self._task(self.volume, requests, folder, workers)
        return train_bricks(self.volume, blocks, task, self.engine, workers)

    def _overhead(self, blocks: Sequence[Block], size: int) -> int:
        """Bytes of the file beside those of the models: its header."""
        share, fitting = size // len(blocks), self._fitting(1 / len(blocks), 1.0)
        network = FittingRequest(blocks[0].outer, self.value_range, share, fitting).network()
        placed = PlacedField(blocks[0].outer, network.to_field((MAX_VALUE / 3, MAX_VALUE / 3)))
        volume = self.volume
        stored = NeuralVolume(
            volume.shape, volume.dtype, (placed,) * len(blocks), volume.spacing, volume.unit, volume.orientation,
            dict.fromkeys(QUALITY_NAMES, math.pi),
        )  # fmt: skip
        return overhead(header_document(stored), len(blocks)) + SPLINE_OVERHEAD * len(blocks)

    def follow(self, t: int, before: Ensemble, folder: Path) -> Ensemble:
        """Train the models of a later step of a series; those of the step before are the start."""
        volume = self.volumes[t]
        names = _names(len(before.models), f"Training step {t + 1} of {len(self.volumes)}")
        requests = tuple(
            replace(request, start=model, name=name)
            for request, model, name in zip(before.requests, before.models, names, strict=True)
        )
        blocks = [Block(number, request.box, request.box) for number, request in enumerate(requests)]
        task = self._task(volume, requests, folder, before.workers)
        return train_bricks(volume, blocks, task, self.engine, before.workers)

    def _task(self, volume: Volume, requests: tuple[FittingRequest, ...], folder: Path, workers: int) -> BrickTask:
        threads = max(1, current().threads // workers) if workers > 1 else 0
        gpus = 0 if self.options.device == "cpu" else self.engine.capacity().gpus
        return BrickTask(str(volume.location.absolute), requests, str(folder), self.devices, threads, gpus)

    @property
    def _trainings(self) -> float:
        """How many trainings all steps take, counted in first ones."""
        return 1 + WARM_SHARE * (len(self.volumes) - 1)

    def _workers(self, bricks: int) -> int:
        """How many models are trained at the same time."""
        return min(self.engine.options.workers, bricks)

    def _fitting(self, share: float, turns: float) -> FittingOptions:
        """share: of the size. turns: how many models are trained one after the other."""
        chosen = self.options
        return FittingOptions(
            model=chosen.model,
            parameters=max(1, int(chosen.parameters * share)) if chosen.parameters else None,
            seconds=chosen.seconds / math.ceil(turns) / self._trainings if chosen.seconds else None,
            steps=chosen.steps,
            batch=chosen.batch,
            is_rounded=chosen.is_rounded,
            seed=chosen.seed,
            must_fit=not (chosen.psnr or chosen.parameters),
        )

    def quality(self, ensemble: Ensemble, volume: Volume) -> Quality:
        values = self.values(ensemble)
        return measure(volume, lambda box: to_voxel_type(values(box), volume.dtype), self.devices[0])

    def values(self, ensemble: Ensemble) -> Callable[[Box], Floats]:
        """What gives the values of a box: on a GPU the networks, where they are much faster, else the definition."""
        stored, device = self.stored(ensemble), torch.device(self.devices[0])
        if device.type == "cpu":
            return stored.values
        networks = [network_of(*pair) for pair in zip(ensemble.models, ensemble.requests, strict=True)]
        evaluate = NetworkValues(stored.fields, networks, device)
        return lambda box: stored.values(box, evaluate=evaluate)

    def stored(self, ensemble: Ensemble) -> NeuralVolume:
        volume, fields = self.volume, tuple(PlacedField(one.box, one.field) for one in ensemble.models)
        return NeuralVolume(volume.shape, volume.dtype, fields, volume.spacing, volume.unit, volume.orientation)

    def measured(self, ensembles: list[Ensemble]) -> tuple[Quality, dict[str, bytes]]:
        """The quality of the worst step, and what the fields lack, if every voxel has to be within a bound."""
        found: list[Quality] = []
        residual: dict[str, bytes] = {}
        for t, (ensemble, volume) in enumerate(zip(ensembles, self.volumes, strict=True)):
            if self.options.max_error is None:
                found.append(self.quality(ensemble, volume))
            else:
                quality, sections = code_residual(volume, self.values(ensemble), self.options.max_error, t)
                found.append(quality)
                residual |= sections
        worst = min(one.psnr for one in found), min(one.ssim for one in found), max(one.max_error for one in found)
        return Quality(*worst), residual

    def write(self, path: Path, ensembles: list[Ensemble]) -> Report:
        quality, residual = self.measured(ensembles)
        training = total_training([ensemble.training for ensemble in ensembles])
        numbers = min(quality.psnr, 999.0), quality.ssim, quality.max_error, training.seconds
        facts = dict(zip(QUALITY_NAMES, numbers, strict=True))
        stored = replace(self.stored(ensembles[0]), quality=facts)
        header, sections = coded_series(stored, ensembles)
        if self.options.max_error is not None:
            header["residual"] = {
                "bound": self.options.max_error,
                "tolerance": max(evaluation_tolerance(volume) for volume in self.volumes),
                "brick": RESIDUAL_BRICK,
            }
        write_file(path, header, {**sections, **residual})
        is_cuda = self.devices[0] != "cpu"
        return Report(
            path,
            quality,
            self.volume.nbytes * len(ensembles),
            path.stat().st_size,
            sum(len(data) for data in sections.values()),
            sum(len(data) for data in residual.values()),
            stored.parameter_count,
            training,
            ", ".join(self.devices),
            torch.cuda.max_memory_allocated(torch.device(self.devices[0])) if is_cuda else 0,
            len(ensembles[0].models),
            len(ensembles),
        )


def _names(count: int, label: str = "Training") -> list[str]:
    return [label] if count == 1 else [f"{label} brick {number + 1} of {count}" for number in range(count)]
