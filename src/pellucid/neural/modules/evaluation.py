"""Values of a user's module at the voxels of a volume, batch by batch.

Here: ModuleValues: boxes at full resolution, and a rough draft of the whole; a batch that memory does not suffice for
is halved.
Not here: loading the module (loading), the order of boxes and what shows them (workers.user_code).
"""

import os
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from pellucid.box import Box, Shape, triple
from pellucid.engines.stopping import raise_if_stopped
from pellucid.errors import InvalidInput, PellucidError
from pellucid.formats.neural_field.field import Floats
from pellucid.formats.protocol import Voxels
from pellucid.neural.modules.loading import LoadedModule, user_error

MIN_BATCH, MAX_BATCH = 1 << 8, 1 << 24
DRAFT_EDGE = 32
_MEMORY_WORDS = ("out of memory", "not enough memory", "can't allocate memory", "cannot allocate memory")

OnHalved = Callable[[int], None]
OnBatch = Callable[[], None]


class ModuleValues:
    """A module over a volume of a shape. batch: points of one call, which may be changed from another thread.

    on_halved: is given the batch that is left when memory did not suffice. on_batch: called after every call.
    """

    def __init__(
        self,
        module: LoadedModule,
        shape: Shape,
        device: torch.device,
        batch: int,
        *,
        on_halved: OnHalved = lambda _: None,
        on_batch: OnBatch = lambda: None,
    ) -> None:
        self._module, self._shape, self._device = module, shape, device
        self._on_halved, self._on_batch = on_halved, on_batch
        self.batch = batch

    def read(self, box: Box) -> Floats:
        """The values of all voxels of a box."""
        return self._on_lattice([_positions(*ends) for ends in zip(box.start, box.stop, self._shape, strict=True)])

    def draft(self, out: Voxels) -> None:
        """Fill an array of the volume's shape with values between those of a coarse lattice."""
        edges = triple(min(n, DRAFT_EDGE) for n in self._shape)
        coarse = torch.from_numpy(self._on_lattice([_positions(0, n, n) for n in edges]))
        planes = torch.nn.functional.interpolate(
            coarse[None], out.shape[1:], mode="bilinear", align_corners=True
        )[0].numpy()  # fmt: skip
        for z in range(len(out)):
            place = z * (edges[0] - 1) / max(len(out) - 1, 1)
            low = min(int(place), edges[0] - 1)
            high, part = min(low + 1, edges[0] - 1), np.float32(place - low)
            out[z] = planes[low] * (1 - part) + planes[high] * part

    def _on_lattice(self, axes: list[Floats]) -> Floats:
        z, y, x = torch.meshgrid(*(torch.from_numpy(axis).to(self._device) for axis in axes), indexing="ij")
        points = torch.stack([x, y, z], dim=-1).reshape(-1, 3)
        values = np.empty(len(points), np.float32)
        first = 0
        while first < len(points):
            raise_if_stopped()
            part = points[first : first + self.batch]
            found = self._call(part)
            if found is not None:
                values[first : first + len(part)] = found
                first += len(part)
            self._on_batch()
        return values.reshape(z.shape)

    def _call(self, points: Tensor) -> Floats | None:
        """The values at some points; None where memory did not suffice, and the batch is half as large now."""
        try:
            with torch.inference_mode():
                found = self._module.evaluate(points)
                return self._checked(found, len(points))
        except PellucidError:
            raise
        except Exception as error:  # A user's code may raise anything.
            if not _is_about_memory(error):
                raise user_error(error, None, f"{self._module.name} failed at {len(points):,} points") from error
            too_small = len(points) // 2 < MIN_BATCH
        if self._device.type == "cuda":
            torch.cuda.empty_cache()
        if too_small:
            what = f"{self._module.name} needs more memory than there is, even for {len(points):,} points at once."
            raise InvalidInput(what, remedy="Free memory, or use a smaller model.")
        self.batch = min(self.batch, len(points)) // 2
        self._on_halved(self.batch)
        return None

    def _checked(self, found: object, count: int) -> Floats:
        if not isinstance(found, Tensor) or found.numel() != count:
            shown = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
            raise InvalidInput(
                f"{self._module.name} returned {shown} for {count:,} points.",
                remedy="Return a tensor with one value for every row of the points, (n,) or (n, 1).",
            )
        return np.asarray(found.reshape(-1).float().cpu().numpy(), np.float32)


def choose_device(name: str | None) -> torch.device:
    """A device for a module: that of a Worker, where PyTorch has it, else a GPU, else the CPU."""
    if name is not None and (name == "cpu" or torch.cuda.is_available()):
        return torch.device(name)
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def leave_threads() -> None:
    """The renderer works beside this process: what is there is drawn while the rest arrives."""
    torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // 2))


def blocks_of(shape: Shape, device: torch.device) -> Iterator[Box]:
    """The boxes that are evaluated one after the other: larger ones where that takes no time."""
    edge = 128 if device.type == "cuda" else 32
    yield from Box.whole(shape).tiles((edge, edge, edge))


def default_batch(device: torch.device) -> int:
    return 1 << 19 if device.type == "cuda" else 1 << 15


def _is_about_memory(error: Exception) -> bool:
    text = str(error).lower()
    return isinstance(error, MemoryError | torch.OutOfMemoryError) or any(words in text for words in _MEMORY_WORDS)


def _positions(start: int, stop: int, count: int) -> Floats:
    """Of voxels along an axis: the first one is at -1 and the last at 1; a single one is at 0."""
    index = np.arange(start, stop)
    return np.asarray(index * (2 / (count - 1)) - 1 if count > 1 else index * 0.0, np.float32)
