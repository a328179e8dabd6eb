"""A small training: a network of two layers learns a fixed function, from samples that follow from their number."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn

from pellucid.formats.protocol import Voxels
from pellucid.learn.training.objective import Batch, Parts, Sample
from pellucid.learn.training.options import LearningOptions

OPTIONS = LearningOptions(steps=30, batch=4, epoch_steps=10, warmup=3, rate=0.01)


@dataclass(frozen=True)
class Waves:
    """Samples: points, and the sine of their sum."""

    def draw(self, number: int, random: np.random.Generator) -> Sample:
        points = random.random((2, 4, 4), np.float32)
        return points, np.sin(3 * points.sum(axis=0, keepdims=True))


class SmallObjective:
    """die_at: the process is killed in this step. diverge_at: the loss is infinite from there on."""

    def __init__(self, die_at: int = -1, diverge_at: int = -1) -> None:
        self.parts: dict[str, nn.Module] = {
            "network": nn.Sequential(nn.Conv2d(2, 8, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 1, 1))
        }
        self.samples = Waves()
        self.seen: list[float] = []
        self._die_at, self._diverge_at = die_at, diverge_at

    def losses(self, batch: Batch) -> Iterator[tuple[str, Tensor]]:
        if len(self.seen) == self._die_at:
            os.kill(os.getpid(), signal.SIGKILL)
        points, truth = batch
        loss = nn.functional.mse_loss(self.parts["network"](points), truth)
        self.seen.append(float(loss.detach()))
        yield "network", loss * (float("inf") if len(self.seen) > self._diverge_at >= 0 else 1.0)

    def validate(self, parts: Parts) -> dict[str, float]:
        points, truth = Waves().draw(0, np.random.default_rng(1))
        import torch

        found = parts["network"](torch.from_numpy(points[None]))
        return {"error": float(nn.functional.mse_loss(found, torch.from_numpy(truth[None])))}

    def preview(self, parts: Parts) -> dict[str, Voxels]:
        return {"after": np.zeros((2, 3), np.uint8)}

    def export(self, parts: Parts, folder: Path) -> None:
        arrays: dict[str, Any] = {name: value.numpy() for name, value in parts["network"].state_dict().items()}
        np.savez(folder / "weights.npz", **arrays)


@dataclass(frozen=True)
class SmallJob:
    options: LearningOptions = OPTIONS
    die_at: int = -1
    inputs: tuple[str, ...] = ()

    @contextmanager
    def open(self, device: str) -> Iterator[SmallObjective]:
        yield SmallObjective(self.die_at)
