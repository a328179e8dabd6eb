"""Training the models of all bricks of a volume: one after the other, or several at once in processes.

Here: BrickTask, which trains one brick in a worker; train_bricks, which trains what is not trained yet; Ensemble.
Not here: one model (fitting), where bricks are (lattice), the file that users get (compression).
"""

import math
import multiprocessing
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from pellucid import progress
from pellucid.box import Shape
from pellucid.engines.budget import check_fits
from pellucid.engines.engine import Engine, EngineOptions, make_engine
from pellucid.engines.task import TaskContext, Work
from pellucid.errors import Cancelled, InvalidInput
from pellucid.formats.neural_field.neural_volume import NeuralVolume
from pellucid.formats.neural_field.stored_volume import coded_step, step_prefix, to_sections
from pellucid.jobs.resources import Resources
from pellucid.neural.fitting import Fitted, FittingRequest, fit, load_fitted
from pellucid.neural.training import Training
from pellucid.settings import current
from pellucid.volume.blocks import Block
from pellucid.volume.volume import Volume, open_volume

STEPS_PER_KEY = 16
"""Of a series, every so many steps one is stored whole: to read a step, all since then are decoded."""
WORKER_BYTES = 256 << 20
"""What PyTorch and a small network take."""


@dataclass(frozen=True)
class BrickTask:
    """Trains the model of a brick and leaves it in a folder.

    requests: one for every brick. devices: bricks take them in turn. threads: of one worker, or 0 for PyTorch's choice.
    gpus: that a brick needs of its worker; with one, the worker says which.
    """

    source: str
    requests: tuple[FittingRequest, ...]
    folder: str
    devices: tuple[str, ...] = ("cpu",)
    threads: int = 0
    gpus: int = 0

    @property
    def inputs(self) -> tuple[str, ...]:
        return (self.source,)

    @property
    def output_chunk(self) -> Shape:
        return (1, 1, 1)

    def needs(self, block: Block) -> Resources:
        voxels = min(4 * block.outer.size, current().memory_bytes // 3)  # More are read in turn.
        return Resources(min(WORKER_BYTES + voxels, current().memory_bytes), gpus=self.gpus)

    @contextmanager
    def open(self, context: TaskContext) -> Iterator[Work]:
        if self.threads:
            torch.set_num_threads(self.threads)
        own = replace(self, devices=(context.device,)) if self.gpus else self
        with _quiet_worker(), open_volume(self.source) as volume:
            yield lambda block: training_psnr(own.fit(volume, block))

    def fit(self, volume: Volume, block: Block) -> Fitted:
        """The model of a brick, trained unless it is in the folder already."""
        device = torch.device(self.devices[block.index % len(self.devices)])
        return fit(volume, self.requests[block.index], device, self._path(block))

    def is_trained(self, block: Block) -> bool:
        return load_fitted(self.requests[block.index], self._path(block)) is not None

    def _path(self, block: Block) -> Path:
        return Path(self.folder) / f"brick{block.index}.npz"


def training_psnr(fitted: Fitted) -> float:
    """The PSNR in dB at the last step of the training."""
    losses = fitted.training.losses
    return -10 * math.log10(max(losses[-1], 1e-30)) if losses else 0.0


@dataclass(frozen=True)
class Ensemble:
    """Trained models of all bricks; one for a volume that is not cut. workers: how many were trained at a time."""

    requests: tuple[FittingRequest, ...]
    models: tuple[Fitted, ...]
    workers: int

    @property
    def training(self) -> Training:
        """Of all models together."""
        total = total_training([one.training for one in self.models])
        return replace(total, seconds=total.seconds / self.workers)


def total_training(trainings: Sequence[Training]) -> Training:
    """Of several models, one after the other; of a single one, with all that is known about it."""
    if len(trainings) == 1:
        return trainings[0]
    return Training(sum(one.steps for one in trainings), sum(one.seconds for one in trainings))


def coded_series(stored: NeuralVolume, ensembles: Sequence[Ensemble]) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The header and the sections of a file. stored: the first step. ensembles: of all steps."""
    header, sections = to_sections(stored, tuple(one.steps for one in ensembles[0].models))
    differences = []
    for t in range(1, len(ensembles)):
        models = ensembles[t].models
        before = [(one.field, one.steps) for one in ensembles[t - 1].models] if t % STEPS_PER_KEY else None
        found = coded_step([one.field for one in models], [one.steps for one in models], before)
        differences.append(found[0])
        sections |= {f"{step_prefix(t)}field{number}": data for number, data in enumerate(found[1])}
    return ({**header, "differences": differences} if differences else header), sections


def brick_engine(name: str | None, workers: int, volume: Volume) -> Engine:
    """An engine by name; by default this process, or processes for several bricks at a time."""
    workers = 1 if volume.location.is_memory else workers
    options = EngineOptions(workers, current().memory_bytes)
    engine = make_engine(name or ("processes" if workers > 1 else "serial"), options)
    if engine.needs_shareable_output and volume.location.is_memory:
        raise InvalidInput(
            f"{volume.location} does not support several processes.", remedy="Compress a file, or leave the engine out."
        )
    return engine


def train_bricks(volume: Volume, blocks: Sequence[Block], task: BrickTask, engine: Engine, workers: int) -> Ensemble:
    """The models of all bricks, in order; those that are in the folder already are not trained again."""
    if len(blocks) > 1 or not engine.is_here:
        _train_missing(blocks, task, engine)
    return Ensemble(task.requests, tuple(task.fit(volume, block) for block in blocks), workers)


def _train_missing(blocks: Sequence[Block], task: BrickTask, engine: Engine) -> None:
    todo = [block for block in blocks if not task.is_trained(block)]
    check_fits(task, todo, engine.capacity())
    cancel, count = threading.Event(), len(blocks)
    with progress.task("Training bricks", total=count, unit="bricks", done=count - len(todo)) as bar:
        with closing(engine.run(task, todo, cancel)) as results:  # type: ignore[type-var]
            for done in results:
                bar.advance()
                progress.note(f"Brick {done.index + 1} of {count}: PSNR {done.result:.2f} dB")
        if cancel.is_set():
            raise Cancelled("Training")


@contextmanager
def _quiet_worker() -> Iterator[None]:
    """In a process of its own, no progress: the driver shows that of all."""
    if multiprocessing.parent_process() is None:
        yield
    else:
        with progress.use(progress.Silent()):
            yield
