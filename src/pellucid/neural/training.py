"""Training a network on points of a volume, in PyTorch: the definition, and what runs on the CPU.

Here: TrainingOptions, Trainer, train.
Not here: networks (network), points (samples), the fused step on GPUs (cuda_training), files (compression).
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

from pellucid.errors import InvalidInput
from pellucid.neural.checkpoints import Arrays, TrainingCheckpoint, fits
from pellucid.neural.density import density_loss
from pellucid.neural.network import FieldNetwork, GridGroup
from pellucid.neural.rounding_order import random_ranks, rounding_ranks
from pellucid.neural.samples import Samples

BETAS = (0.9, 0.99)
EPSILON = 1e-15
DENSITY_STARTS = 500
DENSITY_ENDS = {"cosine": 0.2, "plateau": 0.8}
"""The part of all steps after which grids stay where they are; with "plateau", they may stay earlier."""
ROUNDING_STARTS, ROUNDING_ENDS = 0.4, 0.92
"""Between these parts of all steps, one feature after the other is rounded as it will be in the file and stays so.
Those that are still free make up for what rounding did, which leaves less of an error than rounding all at once. With
the most important ones first (rounding_order), less is left than in a random order: 0.75 instead of 1.06 dB on a crop
of an engine, 0.42 instead of 0.60 on one of a bonsai, each 64³ voxels in 2^14 features of four bits."""

OnStep = Callable[[int, float], bool | None]


class GridStop:
    """Says when adaptive grids have settled: twice, 1,000 steps were less than 0.01 % better than the 1,000 before."""

    first, window, gain, needed = 2_500, 1_000, 1e-4, 2

    def __init__(self) -> None:
        self._losses: list[tuple[int, float]] = []
        self._next, self._found, self.is_settled = self.first, 0, False

    def add(self, step: int, loss: float) -> None:
        """The mean loss of the steps since the last call, up to this one."""
        self._losses.append((step, loss))
        if step < self._next or self.is_settled:
            return
        self._next = step + self.window
        last = [loss for at, loss in self._losses if at > step - self.window]
        before = [loss for at, loss in self._losses if step - 2 * self.window < at <= step - self.window]
        if before and last and sum(last) / len(last) > (1 - self.gain) * sum(before) / len(before):
            self._found += 1
        self.is_settled = self._found >= self.needed


class Plateau:
    """The published schedule: a tenth of the rate when 500 steps were no better; over below a hundredth."""

    steps, gain, pause = 500, 1e-4, 250

    def __init__(self, rate: float) -> None:
        self.rate, self._first, self._best = rate, rate, math.inf
        self._bad, self._paused = 0, 0

    @property
    def is_over(self) -> bool:
        return self.rate < 0.01 * self._first

    def add(self, steps: int, loss: float) -> None:
        """The mean loss of so many steps."""
        self._paused = max(0, self._paused - steps)
        if loss < self._best * (1 - self.gain):
            self._best, self._bad = loss, 0
        elif not self._paused:
            self._bad += steps
        if self._bad > self.steps:
            self.rate, self._bad, self._paused = self.rate / 10, 0, self.pause


@dataclass(frozen=True)
class TrainingOptions:
    """How to train.

    schedule: "cosine", or "plateau" as published for AMGSRN. density: "authors", "printed" or "none". rounding: step of
    the features relative to their root mean square, or 0 for none. rounding_steps: one for every grid, known from the
    beginning. coding_weight: of the bits that rounded features will take, in mean squared errors per bit of each.
    seconds: stop after so long (the schedule follows).
    """

    steps: int = 10_000
    batch: int = 1 << 17
    rate: float = 0.01
    transform_rate: float = 5e-4
    schedule: str = "cosine"
    density: str = "authors"
    rounding: float = 0.0
    rounding_steps: tuple[float, ...] = ()
    coding_weight: float = 0.0
    seconds: float = math.inf

    def __post_init__(self) -> None:
        if self.steps < 1 or self.batch < 1 or not self.rate > 0 or not self.seconds > 0:
            raise InvalidInput(
                "Steps, batch, rate and seconds must be positive.", remedy="Correct the training options."
            )


@dataclass
class Training:
    """What came of it. rounding_steps: step of every grid, in the order of the network's grids."""

    steps: int = 0
    seconds: float = 0.0
    losses: list[float] = field(default_factory=list)
    rounding_steps: list[float] = field(default_factory=list)


def train(
    network: nn.Module,
    samples: Samples,
    options: TrainingOptions,
    on_step: OnStep | None = None,
    checkpoint: TrainingCheckpoint | None = None,
) -> Training:
    """Train in place. on_step: called with the step and the loss, every 50 steps; True ends the training.

    checkpoint: where the training is saved from time to time, and from where it continues. The result is the same as
    without an interruption, to the last bit where the steps are counted and all voxels are in memory.
    """
    trainer, result = Trainer(network, options), Training()
    saved = checkpoint.load() if checkpoint else None
    if saved and trainer.restore(saved, samples):
        steps, seconds = saved["progress"].tolist()
        result = Training(int(steps), seconds, saved["losses"].tolist())
    start = time.monotonic() - result.seconds
    for step in range(result.steps, options.steps):
        progress = max(step / options.steps, (time.monotonic() - start) / options.seconds)
        if progress >= 1:
            break
        loss = trainer.step(samples, step, progress)
        result.steps = step + 1
        if step % 50 == 0 or step + 1 == options.steps:
            result.losses.append(float(loss))
            if not math.isfinite(result.losses[-1]):
                raise InvalidInput("The training diverged.", remedy="Use a smaller rate, or another model.")
            if checkpoint and checkpoint.is_due and options.schedule == "cosine":
                counts = np.array([result.steps, time.monotonic() - start])
                made = {"progress": counts, "losses": np.array(result.losses)}
                checkpoint.save({**trainer.arrays(samples), **made})
            if on_step and on_step(step + 1, result.losses[-1]):
                break
        if trainer.is_over:
            break
    trainer.finish()
    result.seconds, result.rounding_steps = time.monotonic() - start, trainer.rounding_steps
    return result


class Trainer:
    """The optimisers of a network and their schedules, step by step."""

    def __init__(self, network: nn.Module, options: TrainingOptions) -> None:
        self._network, self._options = network, options
        groups = network.adaptive_groups() if isinstance(network, FieldNetwork) else []
        self._groups = groups if options.density != "none" else []
        transforms = [id(group.transforms) for group in _grid_groups(network)]
        plain = [parameter for parameter in network.parameters() if id(parameter) not in transforms]
        self._optimiser = torch.optim.Adam(plain, options.rate, BETAS, EPSILON)
        self._mover = torch.optim.Adam(
            [group.transforms for group in self._groups] or [torch.zeros(1)], options.transform_rate, BETAS, EPSILON
        )
        self._plateau = Plateau(options.rate)
        self.rounding_steps = list(options.rounding_steps)
        self._stop = GridStop()
        self._ranks = random_ranks(network) if isinstance(network, FieldNetwork) else []

    def step(self, samples: Samples, step: int, progress: float) -> Tensor:
        """One step. progress: how much of the training is over, 0 to 1."""
        is_cosine = self._options.schedule == "cosine"
        for group in self._optimiser.param_groups:
            cosine = self._options.rate * 0.5 * (1 + math.cos(math.pi * progress))
            group["lr"] = cosine if is_cosine else self._plateau.rate
        if self._options.rounding and progress >= ROUNDING_STARTS and not self.rounding_steps:
            self.rounding_steps = rounding_steps(_grid_groups(self._network), self._options.rounding)
            if isinstance(self._network, FieldNetwork):
                self._ranks = rounding_ranks(self._network, samples, self._options.batch)
        points, truth = samples.draw(self._options.batch)
        error = self._network(points) - truth
        loss = (error**2).mean()
        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()
        if self.rounding_steps and self._options.coding_weight:
            self._add_coding_gradients(loss.detach())
        share = rounded_share(progress) if self.rounding_steps else 0.0
        before = [group.features.detach().clone() for group in _grid_groups(self._network)] if share else []
        self._optimiser.step()
        self._round_some(before, share)
        is_moving = (
            step > DENSITY_STARTS and progress < DENSITY_ENDS[self._options.schedule] and not self._stop.is_settled
        )
        if self._options.schedule == "plateau" and step % 10 == 0:
            self._stop.add(step, float(loss.detach()))
        if self._groups and is_moving:
            for group in self._mover.param_groups:
                group["lr"] = transform_rate(self._options, progress)
            self._move_grids(points, (error**2).detach())
        elif self._options.schedule == "plateau" and not is_moving:
            self._plateau.add(1, float(loss.detach()))
        return loss.detach()

    @property
    def is_over(self) -> bool:
        """Whether the published schedule has ended before all steps are made."""
        return self._plateau.is_over

    def _round_some(self, before: list[Tensor], share: float) -> None:
        """Features whose turn it is are rounded from what they were before the step."""
        for (group, steps), ranks, values in zip(self._with_steps(), self._ranks, before, strict=False):
            with torch.no_grad():
                group.features.copy_(torch.where(ranks < share, _rounded(values, steps), group.features))

    def finish(self) -> None:
        """Leave rounded features in the network."""
        if self.rounding_steps:
            with torch.no_grad():
                for group, steps in self._with_steps():
                    group.features.copy_(_rounded(group.features, steps))

    def arrays(self, samples: Samples) -> Arrays:
        """The state of the training as plain arrays."""
        state = {f"network/{name}": array for name, array in network_arrays(self._network).items()}
        for name, optimiser in self._optimisers():
            for number, moments in optimiser.state_dict()["state"].items():
                state |= {f"{name}/{number}/{key}": moment.cpu().numpy() for key, moment in moments.items()}
        rounding = np.array(self.rounding_steps, np.float64)
        state |= {f"ranks/{number}": ranks.cpu().numpy() for number, ranks in enumerate(self._ranks)}
        return {**state, "rounding_steps": rounding, "samples": samples.state()}

    def restore(self, arrays: Arrays, samples: Samples) -> bool:
        """Continue from the state of an earlier training. False where it is not of this network."""
        network = {name.removeprefix("network/"): array for name, array in arrays.items() if name[:8] == "network/"}
        if not fits(network, network_arrays(self._network)) or not {"rounding_steps", "samples"} <= set(arrays):
            return False
        states = {name: _moments(arrays, name, optimiser) for name, optimiser in self._optimisers()}
        ranks = [arrays[f"ranks/{n}"] for n in range(len(_grid_groups(self._network))) if f"ranks/{n}" in arrays]
        shapes = [tuple(group.features.shape) for group in _grid_groups(self._network)]
        if any(state is None for state in states.values()) or [one.shape for one in ranks] != shapes:
            return False
        self._network.load_state_dict({name: torch.from_numpy(array) for name, array in network.items()})
        for name, optimiser in self._optimisers():
            optimiser.load_state_dict({**optimiser.state_dict(), "state": states[name]})
        self.rounding_steps = arrays["rounding_steps"].tolist()
        self._ranks = [torch.from_numpy(one).to(next(self._network.parameters()).device) for one in ranks]
        samples.restore(arrays["samples"])
        return True

    def _optimisers(self) -> list[tuple[str, torch.optim.Optimizer]]:
        return [("optimiser", self._optimiser), ("mover", self._mover)]

    def _add_coding_gradients(self, loss: Tensor) -> None:
        """Of the bits of features, log2(1 + (w / step)^2) / 2 each: small ones are cheap."""
        count = sum(group.features.numel() for group in _grid_groups(self._network))
        weight = coding_scale(self._options, count) * loss
        for group, steps in self._with_steps():
            features = group.features
            if features.grad is not None:
                features.grad += weight * features.detach() / (steps**2 + features.detach() ** 2)

    def _with_steps(self) -> list[tuple[GridGroup, Tensor]]:
        found, position = [], 0
        for group in _grid_groups(self._network):
            count = len(group.features)
            steps = torch.tensor(self.rounding_steps[position : position + count], device=group.features.device)
            found.append((group, steps.reshape(-1, 1, 1, 1, 1)))
            position += count
        return found

    def _move_grids(self, points: Tensor, squared_error: Tensor) -> None:
        self._mover.zero_grad(set_to_none=True)
        for group in self._groups:
            density_loss(group.transforms, points, squared_error, form=self._options.density).backward()
        self._mover.step()


def transform_rate(options: TrainingOptions, progress: float) -> float:
    """How fast grids move: with "cosine" slower and slower, until they stay."""
    if options.schedule == "plateau":
        return options.transform_rate
    return options.transform_rate * 0.5 * (1 + math.cos(math.pi * min(progress / DENSITY_ENDS["cosine"], 1)))


def rounded_share(progress: float) -> float:
    """Which part of all features is rounded by now.

    >>> rounded_share(0.1), round(rounded_share(0.66), 2), rounded_share(0.95)
    (0.0, 0.5, 1.0)
    """
    return min(1.0, max(0.0, (progress - ROUNDING_STARTS) / (ROUNDING_ENDS - ROUNDING_STARTS)))


def coding_scale(options: TrainingOptions, count: int) -> float:
    """What the mean squared error is multiplied by for the gradients of bits. count: features together."""
    return options.coding_weight / (math.log(2) * count)


def rounding_steps(groups: Sequence[GridGroup], relative: float) -> list[float]:
    """The step of every grid: a part of the root mean square of its features."""
    return [
        max(float(one.detach().square().mean().sqrt()) * relative, 1e-8) for group in groups for one in group.features
    ]


def _rounded(features: Tensor, steps: Tensor) -> Tensor:
    return torch.round(features / steps) * steps


def _grid_groups(network: nn.Module) -> list[GridGroup]:
    return network.grid_groups() if isinstance(network, FieldNetwork) else []


def network_arrays(network: nn.Module) -> Arrays:
    """Everything that a network has learnt, by name."""
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in network.state_dict().items()}


def _moments(arrays: Arrays, name: str, optimiser: torch.optim.Optimizer) -> dict[int, dict[str, Tensor]] | None:
    """What an optimiser knows of its parameters, by their number; None where the shapes are of others."""
    parameters = [one for group in optimiser.param_groups for one in group["params"]]
    found: dict[int, dict[str, Tensor]] = {}
    for key, array in arrays.items():
        if not key.startswith(f"{name}/"):
            continue
        _, number, part = key.split("/")
        shape = tuple(parameters[int(number)].shape) if int(number) < len(parameters) else None
        if array.shape not in ((), shape):
            return None
        found.setdefault(int(number), {})[part] = torch.from_numpy(np.array(array))
    return found
