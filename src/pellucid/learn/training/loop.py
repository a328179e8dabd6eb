"""The training loop.

Here: train(), and TrainingLoop: one step, and the state that is saved.
Not here: what is learnt (objective), which samples (batches), files (state_folder).

A step depends on the weights, the state of the optimisers, its number, and nothing else: its samples and random numbers
follow from the seed and the number. So a training that was interrupted continues exactly.
"""

import math
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pellucid import progress
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.learn.training.averaging import AveragedNetwork
from pellucid.learn.training.batches import Batches
from pellucid.learn.training.curve import LearningCurve
from pellucid.learn.training.devices import fast_convolutions, half_precision, is_compilable, to_channels_last
from pellucid.learn.training.event_files import EventFile
from pellucid.learn.training.objective import Batch, Objective, Parts
from pellucid.learn.training.options import LearningControl, LearningOptions
from pellucid.learn.training.replicas import Replicas
from pellucid.learn.training.state_folder import TrainingFolder, array_text, text_array
from pellucid.learn.training.uploads import uploaded
from pellucid.neural.checkpoints import Arrays, fits
from pellucid.neural.training import network_arrays

MIN_COMPILED_STEPS = 200
"""Compiling takes as long as some hundred steps."""
MAX_TRIED_VOXELS = 2**21
"""Of a batch. With larger ones, algorithms that are only tried take far more memory than the training: 33 GB where 9
were enough, for a patch of 2216²."""
MAX_SEED = 2**63
PREVIEW_S = 4.0
MAX_PREVIEW_SHARE = 0.05
"""Images of what a network does are made again after so many seconds, if they take less than this share of the time."""


@dataclass
class LearningResult:
    """curve: what was measured. is_complete: False where the time limit came first."""

    curve: LearningCurve
    is_complete: bool = True
    device_bytes: int = 0


def train(
    objective: Objective,
    options: LearningOptions,
    folder: TrainingFolder,
    control: LearningControl | None = None,
    *,
    device: str = "cpu",
    replicas: Replicas | None = None,
) -> tuple[LearningResult, Parts]:
    """Train until all steps are done, or the time limit. Returns what was measured, and the averaged networks.

    It continues from the checkpoint in the folder. An interrupted training gives the same result as an uninterrupted
    one, on the CPU to the last bit.
    """
    control, replicas = control or LearningControl(), replicas or Replicas()
    folder.path.mkdir(parents=True, exist_ok=True)
    loop = TrainingLoop(objective, options, device, replicas)
    with torch_threads(control.threads), _Recorder.opened(loop, folder) as recorder:
        deadline = time.monotonic() + control.time_limit_s
        batches = Batches(objective.samples, options, replicas, is_pinned=device.startswith("cuda"))
        with batches.from_step(loop.steps, control.loaders) as made:
            ready = uploaded(made, device)
            while loop.steps < options.steps:
                losses = loop.step(next(ready))
                recorder.add(losses)
                is_stopped = replicas.any(folder.is_stop_requested)
                if is_stopped or loop.steps % options.epoch_steps == 0 or loop.steps == options.steps:
                    recorder.validate()
                elif recorder.is_due:
                    recorder.save()
                recorder.preview_if_due()
                if is_stopped:
                    break
                if loop.steps < options.steps and replicas.any(time.monotonic() >= deadline):
                    return recorder.result(is_complete=False), loop.averaged
        return recorder.result(is_complete=True), loop.averaged


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Use this number of threads on the CPU; 0: as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class TrainingLoop:
    """The networks of an objective, their optimisers and their averages, step by step. steps: how many were done."""

    def __init__(self, objective: Objective, options: LearningOptions, device: str, replicas: Replicas) -> None:
        if options.batch % replicas.count:
            raise InvalidInput(
                f"A batch of {options.batch} cannot be divided among {replicas.count} GPUs.",
                remedy="Choose a batch that is a multiple of their number.",
            )
        # Several GPUs have divided the batch already.
        self._parts = gcd(options.accumulation, options.batch // replicas.count)
        self.objective, self.options, self.device, self.replicas = objective, options, device, replicas
        self.steps = 0
        self._half = half_precision(device, options.precision)
        if device.startswith("cuda"):
            for part in objective.parts.values():
                to_channels_last(part)
        self._averages = {name: AveragedNetwork(part, options.averaging) for name, part in objective.parts.items()}
        self._optimisers = {name: _optimiser(part, options, device) for name, part in objective.parts.items()}
        if is_compilable(device) and options.steps >= MIN_COMPILED_STEPS:
            for part in objective.parts.values():
                part.compile()

    @property
    def averaged(self) -> Parts:
        return {name: average.network for name, average in self._averages.items()}

    def step(self, batch: Batch) -> dict[str, Tensor]:
        """Learn from a batch on the device; the losses by the name of the part."""
        torch.manual_seed((self.options.seed * 1_000_003 + self.steps) % MAX_SEED)
        for part in self.objective.parts.values():
            part.train()
        parts = _divided(batch, self._parts)
        losses = [self.objective.losses(part) for part in parts]
        found = {}
        with convolutions_for(parts[0], self.device):
            while (one := self._learn(losses)) is not None:
                name, loss = one
                self._descend(name)
                found[name] = loss
        self.steps += 1
        return found

    def _learn(self, losses: Sequence[Iterator[tuple[str, Tensor]]]) -> tuple[str, Tensor] | None:
        """The gradients of the next loss, which is the mean over the parts of the batch; None after the last."""
        name, total = "", None
        for part in losses:
            one = self._next(part)
            if one is None:
                return None
            name, loss = one
            if total is None:
                self._optimisers[name].zero_grad(set_to_none=True)
            loss = loss / len(losses) if len(losses) > 1 else loss
            loss.backward()
            total = loss.detach() if total is None else total + loss.detach()
        return None if total is None else (name, total)

    def _next(self, losses: Iterator[tuple[str, Tensor]]) -> tuple[str, Tensor] | None:
        kind = torch.device(self.device).type
        with torch.autocast(kind, self._half) if self._half else nullcontext():
            return next(losses, None)

    def _descend(self, name: str) -> None:
        part, optimiser = self.objective.parts[name], self._optimisers[name]
        self.replicas.average(part)
        nn.utils.clip_grad_norm_(part.parameters(), self.options.clip)
        for group in optimiser.param_groups:
            group["lr"] = self.options.rate_at(self.steps)
        optimiser.step()
        self._averages[name].update(self.steps)

    def arrays(self) -> dict[str, Any]:
        """All that the next step depends on."""
        state: dict[str, Any] = {"steps": np.array(self.steps)}
        for name, network in self._networks().items():
            state |= {f"{name}/{key}": array for key, array in network_arrays(network).items()}
        for name, optimiser in self._optimisers.items():
            for number, moments in optimiser.state_dict()["state"].items():
                for key, value in moments.items():
                    if value is not None:
                        state[f"optimiser/{name}/{number}/{key}"] = torch.as_tensor(value).cpu().numpy()
        return state

    def restore(self, arrays: Arrays) -> bool:
        """Continue from a saved state; False where it is not of these networks."""
        saved = {name: _below(arrays, name) for name in self._networks()}
        if not all(fits(saved[name], network_arrays(network)) for name, network in self._networks().items()):
            return False
        for name, network in self._networks().items():
            network.load_state_dict({key: torch.from_numpy(array) for key, array in saved[name].items()})
        for name, optimiser in self._optimisers.items():
            moments: dict[int, dict[str, Tensor]] = defaultdict(dict)
            weights = list(self.objective.parts[name].parameters())
            for key, array in _below(arrays, f"optimiser/{name}").items():
                number, _, what = key.partition("/")
                moment, weight = torch.from_numpy(np.array(array)), weights[int(number)]
                # In the same order in memory as the weight: fused optimisers accept nothing else.
                is_like = moment.shape == weight.shape
                moments[int(number)][what] = torch.empty_like(weight).copy_(moment) if is_like else moment
            optimiser.load_state_dict({**optimiser.state_dict(), "state": dict(moments)})
        self.steps = int(arrays["steps"])
        return True

    def _networks(self) -> dict[str, nn.Module]:
        averages = {f"average/{name}": average.network for name, average in self._averages.items()}
        return {**{f"part/{name}": part for name, part in self.objective.parts.items()}, **averages}


def convolutions_for(batch: Batch, device: str) -> AbstractContextManager[None]:
    """Trying cuDNN's algorithms is for batches whose workspaces are small, and not for validation, which is rare."""
    voxels = batch[0][:, :1].numel()
    is_tried = device.startswith("cuda") and voxels <= MAX_TRIED_VOXELS
    return fast_convolutions() if is_tried else nullcontext()


def _divided(batch: Batch, count: int) -> list[Batch]:
    """Parts of the same number of samples."""
    return list(zip(*(one.chunk(count) for one in batch), strict=True))


def _below(arrays: Arrays, name: str) -> dict[str, Any]:
    return {key.removeprefix(f"{name}/"): array for key, array in arrays.items() if key.startswith(f"{name}/")}


def _optimiser(part: nn.Module, options: LearningOptions, device: str) -> torch.optim.Optimizer:
    if options.optimiser == "sgd":
        return torch.optim.SGD(part.parameters(), options.rate, momentum=0.9)
    return torch.optim.Adam(part.parameters(), options.rate, fused=device.startswith("cuda"))


@dataclass
class _Recorder:
    """Writes down what the loop does, in the first replica alone."""

    loop: TrainingLoop
    folder: TrainingFolder
    curve: LearningCurve
    bar: progress.Bar
    events: EventFile | None
    started: float
    sums: dict[str, Tensor]
    preview_at: float = 0.0

    @classmethod
    @contextmanager
    def opened(cls, loop: TrainingLoop, folder: TrainingFolder) -> Iterator["_Recorder"]:
        curve = LearningCurve(loop.options.steps)
        saved = folder.checkpoint().load()
        if saved and "curve" in saved and loop.restore(saved):
            curve = LearningCurve.from_text(array_text(saved, "curve"))
        sums = {name: torch.from_numpy(np.array(array)) for name, array in _below(saved or {}, "sums").items()}
        is_first = loop.replicas.rank == 0
        reporter = nullcontext() if is_first else progress.use(progress.Silent())
        with reporter, progress.task("Training", loop.options.steps, "steps", loop.steps) as bar:
            started = time.monotonic() - curve.seconds
            if not is_first:
                yield cls(loop, folder, curve, bar, None, started, sums)
                return
            folder.write_state("running")
            with closing(EventFile(folder.events, loop.steps)) as events:
                yield cls(loop, folder, curve, bar, events, started, sums)

    def __post_init__(self) -> None:
        self._checkpoint = self.folder.checkpoint()

    @property
    def is_due(self) -> bool:
        return self.events is not None and self._checkpoint.is_due

    def add(self, losses: dict[str, Tensor]) -> None:
        self.bar.advance()
        for name, loss in losses.items():
            self.sums[name] = loss + self.sums[name].to(loss.device) if name in self.sums else loss
        if self.loop.steps % self.curve.every:
            return
        means = {name: float(total) / self.curve.every for name, total in self.sums.items()}
        if not all(math.isfinite(mean) for mean in means.values()):
            raise InvalidInput("The training diverged.", remedy="Use a smaller --rate, or --optimiser adam.")
        self.sums = {}
        self._note(self.curve.losses, means)

    def validate(self) -> None:
        """Measure the averaged networks, show what they do, and save."""
        if self.events is None:
            self.loop.replicas.wait()
            return
        with torch.no_grad():
            self._note(self.curve.validations, self.loop.objective.validate(self.loop.averaged))
        images = self._preview()
        if self.curve.validations:
            self.events.add_images(self.loop.steps, images)
        self.save()
        self.loop.replicas.wait()

    def preview_if_due(self) -> None:
        """Between validations, for who watches."""
        if self.events is not None and time.monotonic() >= self.preview_at:
            self._preview()

    def _preview(self) -> dict[str, Voxels]:
        start = time.monotonic()
        with torch.no_grad():
            images = self.loop.objective.preview(self.loop.averaged)
        self.folder.write_preview(images)
        end = time.monotonic()
        self.preview_at = end + max(PREVIEW_S, (end - start) / MAX_PREVIEW_SHARE)
        return images

    def save(self) -> None:
        if self.events is not None:
            self.curve.seconds = time.monotonic() - self.started
            sums = {f"sums/{name}": total.cpu().numpy() for name, total in self.sums.items()}
            self._checkpoint.save({**self.loop.arrays(), **sums, "curve": text_array(self.curve.to_text())})

    def result(self, *, is_complete: bool) -> LearningResult:
        self.save()
        self.curve.seconds = time.monotonic() - self.started
        if self.events is not None:
            self.folder.write_curve(self.curve)
            self.folder.write_state("finished" if is_complete else "paused")
        peak = torch.cuda.max_memory_allocated(self.loop.device) if self.loop.device.startswith("cuda") else 0
        return LearningResult(self.curve, is_complete, peak)

    def _note(self, points: list[dict[str, float]], numbers: dict[str, float]) -> None:
        points.append({"step": self.loop.steps, **numbers})
        if self.events is None:
            return
        self.curve.seconds = time.monotonic() - self.started
        kind = "loss" if points is self.curve.losses else "validation"
        self.events.add_numbers(self.loop.steps, {f"{kind}/{name}": value for name, value in numbers.items()})
        self.folder.write_curve(self.curve)
