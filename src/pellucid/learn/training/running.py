"""Running a training: in this process, in one for each GPU, or as a block of an engine.

Here: run_training, TrainingTask, train_on; training_device, where it will be.
Not here: the loop (loop), where the result lies.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from pellucid import progress
from pellucid.box import Box, Shape
from pellucid.engines.engine import Engine
from pellucid.engines.run import run
from pellucid.engines.task import TaskContext, Work
from pellucid.jobs.resources import Resources
from pellucid.learn.training.curve import LearningCurve
from pellucid.learn.training.devices import choose_devices
from pellucid.learn.training.loop import LearningResult, train
from pellucid.learn.training.objective import TrainingJob
from pellucid.learn.training.options import LearningControl
from pellucid.learn.training.replicas import Replicas, run_replicas
from pellucid.learn.training.state_folder import TrainingFolder
from pellucid.volume.blocks import Block

ONE = Box((0, 0, 0), (1, 1, 1))
"""A training is one block."""


def run_training(job: TrainingJob, folder: Path, export_folder: Path, control: LearningControl) -> LearningResult:
    """Train in ``folder``, continuing what is there; when it is complete, export the networks."""
    devices = choose_devices(control.device, control.gpus)
    if len(devices) == 1:
        return _train_one(Replicas(), devices[0], job, folder, export_folder, control)
    shown = TrainingFolder(folder)
    with progress.task("Training", job.options.steps, "steps") as bar:

        def show() -> None:
            if (curve := shown.curve) is not None:
                bar.advance(curve.step - bar.done)

        run_replicas(_train_one, (job, folder, export_folder, control), devices, show)
    curve = shown.curve or LearningCurve(job.options.steps)
    return LearningResult(curve, is_complete=shown.state == "finished")


def _train_one(
    replicas: Replicas, device: str, job: TrainingJob, folder: Path, export_folder: Path, control: LearningControl
) -> LearningResult:
    torch.manual_seed(job.options.seed)
    with job.open(device) as objective:
        for part in objective.parts.values():
            part.to(device)
        reached, parts = train(
            objective, job.options, TrainingFolder(folder), control, device=device, replicas=replicas
        )
        if reached.is_complete and replicas.rank == 0:
            export_folder.mkdir(parents=True, exist_ok=True)
            objective.export(parts, export_folder)
    return reached


@dataclass(frozen=True)
class TrainingTask:
    """A training as the one block of a task, so that any engine can run it. memory_bytes, gpus: that it needs."""

    job: TrainingJob
    folder: str
    export_folder: str
    control: LearningControl
    memory_bytes: int = 2**30
    gpus: int = 0

    @property
    def inputs(self) -> tuple[str, ...]:
        return self.job.inputs

    @property
    def output_chunk(self) -> Shape:
        return ONE.shape

    def needs(self, block: Block) -> Resources:
        return Resources(self.memory_bytes, cores=1, gpus=self.gpus)

    @contextmanager
    def open(self, context: TaskContext) -> Iterator[Work]:
        control = replace(self.control, device=context.device) if self.gpus == 1 else self.control

        def work(block: Block) -> dict[str, Any]:
            reached = run_training(self.job, Path(self.folder), Path(self.export_folder), control)
            return {"is_complete": reached.is_complete, "device_bytes": reached.device_bytes}

        yield work


def worker_gpus(engine: Engine | None, control: LearningControl) -> int:
    """GPUs that a training gets where it runs; 0 where that is this process, or a CPU."""
    if engine is None or control.device in ("cpu", "mps") or not engine.capacity().gpus:
        return 0
    return control.gpus


def training_device(engine: Engine | None, control: LearningControl) -> str:
    """The kind of device that will train, for which a network is planned; this machine may have none of it."""
    if worker_gpus(engine, control):
        return "cuda"
    return choose_devices(control.device, control.gpus)[0]


def train_on(
    engine: Engine | None, job: TrainingJob, folder: Path, export_folder: Path, control: LearningControl
) -> LearningResult:
    """Train in this process, or where an engine decides."""
    if engine is None:
        return run_training(job, folder, export_folder, control)
    task = TrainingTask(job, str(folder), str(export_folder), control, gpus=worker_gpus(engine, control))
    (done,) = run(task, [Block(0, ONE, ONE)], engine, name="Training")
    curve = TrainingFolder(folder).curve or LearningCurve(job.options.steps)
    return LearningResult(curve, done.result["is_complete"], done.result["device_bytes"])
