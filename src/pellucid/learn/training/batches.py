"""Batches of samples, prepared by threads before they are needed.

Here: Batches.
Not here: samples (objective), what is done with batches (loop).
"""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch

from pellucid.learn.training.objective import Batch, SampleSource
from pellucid.learn.training.options import LearningOptions
from pellucid.learn.training.replicas import Replicas

AHEAD = 2
"""Batches that are prepared before they are needed, beside one in every thread."""


@dataclass(frozen=True)
class Batches:
    """Which samples each step has. A replica takes every count-th sample of a batch."""

    samples: SampleSource
    options: LearningOptions
    replicas: Replicas
    is_pinned: bool = False

    def make(self, step: int) -> Batch:
        """The samples of a step, one array for each of a sample's arrays."""
        first = step * self.options.batch
        numbers = range(first + self.replicas.rank, first + self.options.batch, self.replicas.count)
        drawn = [self.samples.draw(number, np.random.default_rng((self.options.seed, number))) for number in numbers]
        return tuple(self._stacked(arrays) for arrays in zip(*drawn, strict=True))

    def _stacked(self, arrays: tuple[np.ndarray, ...]) -> torch.Tensor:
        like = torch.from_numpy(np.empty(0, arrays[0].dtype))
        made = torch.empty((len(arrays), *arrays[0].shape), dtype=like.dtype, pin_memory=self.is_pinned)
        np.stack(arrays, out=made.numpy())
        return made

    @contextmanager
    def from_step(self, first: int, loaders: int) -> Iterator[Iterator[Batch]]:
        """Batches of all steps from one on, in order."""
        pool = ThreadPoolExecutor(loaders, "batches")
        try:
            yield self._prepared(pool, first, AHEAD + loaders)
        finally:
            pool.shutdown(cancel_futures=True)

    def _prepared(self, pool: ThreadPoolExecutor, first: int, ahead: int) -> Iterator[Batch]:
        waiting: deque[Future[Batch]] = deque()
        following = first
        for _ in range(first, self.options.steps):
            while len(waiting) < ahead and following < self.options.steps:
                waiting.append(pool.submit(self.make, following))
                following += 1
            yield waiting.popleft().result()
