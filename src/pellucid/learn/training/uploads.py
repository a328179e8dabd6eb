"""Batches on their way to a GPU while it computes.

Here: uploaded.
Not here: making batches (batches), steps (loop).
"""

from collections import deque
from collections.abc import Iterator

import torch

from pellucid.learn.training.objective import Batch

MAX_PENDING = 2
"""Steps that may be waiting on the GPU: each holds a batch in its memory."""


def uploaded(batches: Iterator[Batch], device: str) -> Iterator[Batch]:
    """The batches on the device. On CUDA, a batch is copied in a stream of its own while earlier steps compute."""
    if not device.startswith("cuda"):
        for batch in batches:
            yield tuple(one.to(device) for one in batch)
        return
    copying, computing = torch.cuda.Stream(device), torch.cuda.current_stream(device)
    pending: deque[torch.cuda.Event] = deque()
    for batch in batches:
        with torch.cuda.stream(copying):
            copied = tuple(one.to(device, non_blocking=True) for one in batch)
        computing.wait_stream(copying)
        for one in copied:
            one.record_stream(computing)
        yield copied
        pending.append(computing.record_event())
        if len(pending) >= MAX_PENDING:
            pending.popleft().synchronize()
