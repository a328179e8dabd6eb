"""Training a network of feature grids on a GPU: the whole step in a few launches, recorded as a CUDA graph.

Here: CudaTrainer, which trains like training.Trainer.
Not here: parameters on the GPU (cuda_model), the kernels, the definition (network, density, training).
"""

import math

import numpy as np
import torch
from torch import Tensor

from pellucid.neural.checkpoints import Arrays, TrainingCheckpoint, fits
from pellucid.neural.cuda_model import CudaModel, have_same_grids
from pellucid.neural.network import FieldNetwork
from pellucid.neural.rounding_order import random_ranks, rounding_ranks
from pellucid.neural.samples import VolumeSamples
from pellucid.neural.training import (
    DENSITY_ENDS,
    DENSITY_STARTS,
    ROUNDING_STARTS,
    GridStop,
    OnStep,
    Plateau,
    Training,
    TrainingOptions,
    coding_scale,
    rounded_share,
    rounding_steps,
    transform_rate,
)

GRADIENT_SCALE = 1 / 8
"""Gradients are kept in half precision times this and the number of points, which is far from its limits."""
STEPS_BETWEEN_RATES = 16


class CudaTrainer(CudaModel):
    """Trains the parameters of a network on a GPU, and puts them back."""

    def __init__(
        self, network: FieldNetwork, samples: VolumeSamples, options: TrainingOptions, *, at_voxels: bool
    ) -> None:
        super().__init__(network, samples, options.batch, at_voxels=at_voxels)
        self._options, self._samples = options, samples
        self._graphs: dict[bool, torch.cuda.CUDAGraph] = {}
        self.rounding_steps: list[float] = []
        self._stop, self._plateau = GridStop(), Plateau(options.rate)
        if options.rounding_steps:
            with torch.cuda.stream(self._stream):
                self._round_to(list(options.rounding_steps), random_ranks(network))

    @property
    def network(self) -> FieldNetwork:
        return self._network

    def prepare(self) -> None:
        """Record the graphs, which takes a moment."""
        with torch.cuda.device(self._device), torch.cuda.stream(self._stream):
            self._graph(is_moving=False)
            if self._adaptive and self._options.density != "none":
                self._graph(is_moving=True)

    def train(self, on_step: OnStep | None = None, checkpoint: TrainingCheckpoint | None = None) -> Training:
        """Train, and leave the result in the network. checkpoint: as for training.train."""
        options = self._options
        with torch.cuda.device(self._device), torch.cuda.stream(self._stream):
            result = self._restored(checkpoint)
            start, before = torch.cuda.Event(enable_timing=True), result.seconds
            start.record(self._stream)
            spent, first = before, result.steps
            for step in range(result.steps, options.steps):
                progress = max(step / options.steps, spent / options.seconds)
                if progress >= 1:
                    break
                if step % STEPS_BETWEEN_RATES == 0 or step == first:
                    self._set_rates(step, progress)
                self._graph(is_moving=self._is_moving(step, progress)).replay()
                result.steps = step + 1
                if step % 250 == 249:
                    spent = before + self._since(start)
                    result.losses.append(float(self._loss[0]) / (250 * self._count))
                    self._loss.zero_()
                    self._follow_loss(step, progress, result.losses[-1])
                    if self._plateau.is_over or not math.isfinite(result.losses[-1]):
                        break
                    if checkpoint and checkpoint.is_due and options.schedule == "cosine":
                        checkpoint.save(self.arrays(result, spent))
                    if on_step and on_step(step + 1, result.losses[-1]):
                        break
            result.seconds = before + self._since(start)
            self.store()
        result.rounding_steps = self.rounding_steps
        return result

    def arrays(self, result: Training, seconds: float) -> Arrays:
        """The state of the training as plain arrays. Points follow from the number of the step."""
        state = {f"cuda/{name}": tensor.cpu().numpy() for name, tensor in self._saved().items()}
        facts = {"progress": np.array([result.steps, seconds]), "losses": np.array(result.losses, np.float64)}
        return {**state, **facts, "rounding_steps": np.array(self.rounding_steps, np.float64)}

    def restore(self, arrays: Arrays) -> bool:
        """Continue from the state of an earlier training. False where it is not of this network."""
        state = {name.removeprefix("cuda/"): array for name, array in arrays.items() if name[:5] == "cuda/"}
        saved, count = self._saved(), sum(len(group.features) for group in self._network.grid_groups())
        is_fit = fits(state, {name: tensor.cpu().numpy() for name, tensor in saved.items()})
        if not is_fit or not {"progress", "losses", "rounding_steps"} <= set(arrays):
            return False
        rounding = arrays["rounding_steps"]
        if rounding.shape not in ((0,), (count,)) or not have_same_grids(state["grids"], self._grids):
            return False
        for name, tensor in saved.items():
            tensor.copy_(torch.from_numpy(state[name]))
        self.rounding_steps = rounding.tolist()
        self._pack()
        return True

    def _restored(self, checkpoint: TrainingCheckpoint | None) -> Training:
        """What was trained before, if anything."""
        arrays = checkpoint.load() if checkpoint else None
        if not arrays or not self.restore(arrays):
            return Training()
        steps, seconds = arrays["progress"].tolist()
        return Training(int(steps), seconds, arrays["losses"].tolist())

    def _follow_loss(self, step: int, progress: float, loss: float) -> None:
        if self.rounding_steps:
            count = sum(group.features.numel() for group in self._network.grid_groups())
            self._coding_weight.fill_(coding_scale(self._options, count) * loss)
        if self._options.schedule == "plateau":
            self._stop.add(step, loss)
            if not self._is_moving(step, progress):
                self._plateau.add(250, loss)

    def _is_moving(self, step: int, progress: float) -> bool:
        wants = self._options.density != "none" and self._adaptive > 0 and not self._stop.is_settled
        return wants and step > DENSITY_STARTS and progress < DENSITY_ENDS[self._options.schedule]

    def _set_rates(self, step: int, progress: float) -> None:
        if self._options.schedule == "cosine":
            self._rate.fill_(self._options.rate * 0.5 * (1 + math.cos(math.pi * progress)))
        else:
            self._rate.fill_(self._plateau.rate)
        self._transform_rate.fill_(transform_rate(self._options, progress))
        self._rounded_share.fill_(rounded_share(progress))
        if self._options.rounding and progress >= ROUNDING_STARTS and not self.rounding_steps:
            self._start_rounding()

    def _start_rounding(self) -> None:
        with torch.no_grad():
            self.store()
        ranks = rounding_ranks(self._network, self._samples, self._count)
        self._round_to(rounding_steps(self._network.grid_groups(), self._options.rounding), ranks)

    def _round_to(self, found: list[float], ranks: list[Tensor]) -> None:
        """found: the step of every grid, in the order of the network's. ranks: of the features of every grid group."""
        self.rounding_steps = found
        groups = self._network.grid_groups()
        firsts = np.cumsum([0, *(group.features.shape[0] for group in groups)])
        steps = [self.rounding_steps[firsts[group] + grid] for group, grid, _ in self._halves]
        self._rounding.copy_(torch.tensor(steps))
        self._load_ranks(ranks)

    def _graph(self, *, is_moving: bool) -> torch.cuda.CUDAGraph:
        if is_moving not in self._graphs:
            self._stream.synchronize()
            before = [tensor.clone() for tensor in self._state()]
            self._run(is_moving)  # Warms up libraries, which may not allocate while a graph is recorded.
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=self._stream):
                self._run(is_moving)
            for tensor, saved in zip(self._state(), before, strict=True):
                tensor.copy_(saved)
            self._pack()
            self._graphs[is_moving] = graph
        return self._graphs[is_moving]

    def _saved(self) -> dict[str, Tensor]:
        """What a training needs to continue."""
        names = ("nodes", "node_m", "node_v", "weights", "weight_m", "weight_v", "weight_halves", "step", "loss",
                 "sums", "grids", "transform_m", "transform_v", "transform_gradients")  # fmt: skip
        state = dict(zip(names, self._state(), strict=True))
        return {**state, "rounding": self._rounding, "coding_weight": self._coding_weight, "ranks": self._ranks}

    def _state(self) -> list[Tensor]:
        """What a step changes."""
        return [
            self._nodes,
            self._node_m,
            self._node_v,
            self._weights,
            self._weight_m,
            self._weight_v,
            self._weight_halves,
            self._step,
            self._loss,
            self._sums,
            self._grid_bytes,
            self._transform_m,
            self._transform_v,
            self._transform_gradients,
        ]

    def _run(self, is_moving: bool) -> None:
        """One step: gradients of features and activations, grids moved, weights and features updated."""
        scale = np.float32(GRADIENT_SCALE * self._count)
        self._compute_gradients(scale)
        if is_moving:
            self._move()
        self._update(np.float32(1 / scale))
        gradients = self._transform_gradients
        self._launch("advance", 1, 256, self._step, self._loss, self._sums, gradients, np.int32(gradients.numel()))

    def _move(self) -> None:
        """One step of the density loss for the transforms."""
        blocks, adaptive, count = -(-self._count // 256), np.int32(self._adaptive), np.int32(self._count)
        points = (self._step, *self._sizes())
        self._launch("density", blocks, 256, self._grid_bytes, adaptive, *points, self._rho, self._sums, count)
        self._launch("target_density", blocks, 256, self._rho, self._error, self._loss, self._target, self._sums, count)
        densities = (self._rho, self._target, self._sums, self._transform_gradients)
        is_printed = np.int32(self._options.density == "printed")
        by_grid = (16, self._adaptive)
        self._launch("density_gradient", by_grid, 256, self._grid_bytes, *points, *densities, count, is_printed)
        moments = (self._transform_m, self._transform_v, self._transform_gradients)
        rates = (self._transform_rate, self._step)
        self._launch("update_transforms", 1, 64, self._grid_bytes, *moments, *rates, adaptive)

    def _since(self, start: torch.cuda.Event) -> float:
        now = torch.cuda.Event(enable_timing=True)
        now.record(self._stream)
        now.synchronize()
        return start.elapsed_time(now) * 1e-3
