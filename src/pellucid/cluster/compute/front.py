"""Arrival times of a front in one block.

Here: advance_front, the computation "front": the times of a block, as early as those around it allow.
Not here: the scheme (front_kernels), its tiles (front_tiles), halos and which block is next (cluster.solvers).

Tiles in which something may change are active (the fast iterative method). A tile of a CPU is swept in all directions
until nothing changes; one of a GPU a few times, and then the next tiles are chosen.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.box import Shape
from pellucid.cluster.compute.front_tiles import CudaTiles, HostTiles, tiles_of
from pellucid.cluster.compute.registry import BlockView, ComputeContext
from pellucid.dataclass_json import from_json
from pellucid.device import Device, runtime
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Spacing

TOLERANCE = 1e-5
"""Of the time in which the front passes a voxel."""


@dataclass(frozen=True)
class FrontRequest:
    """speed: of the front, where there is no block of speeds. neighbours: whether there is one at each face, in the
    order of z, y, x, each before and behind; elsewhere nothing comes in. max_rounds: of active tiles; 0: until nothing
    changes. is_start: whether times inside of the block are new, and not only those around it."""

    speed: float
    spacing: Spacing
    neighbours: tuple[bool, bool, bool, bool, bool, bool]
    max_rounds: int = 0
    is_start: bool = True


def advance_front(
    context: ComputeContext, arguments: dict[str, Any], inputs: Sequence[BlockView], output: BlockView | None
) -> dict[str, Any]:
    """inputs: times with a halo of 1, and speeds if they differ. Returns which faces got earlier times; whether it is
    done; how many voxels were updated, over all rounds."""
    request: FrontRequest = from_json(FrontRequest, arguments, "front")
    times = inputs[0]
    if output is None or (output.shape, output.halo) != (times.shape, times.halo) or min(times.halo) < 1:
        raise InvalidInput("A front needs blocks with a halo of 1.", remedy="Pass halo=1.")
    if times.dtype != np.float32 or any(one.dtype != np.float32 or one.shape != times.shape for one in inputs):
        raise InvalidInput("Times and speeds have different shapes or are not float32.", remedy="Use float32 for both.")
    _start(times, output, request)
    tiles = front_tiles(context.device, output, inputs[1] if len(inputs) > 1 else None, request)
    updated = tiles.run(request.max_rounds, context.touch)
    return {"faces": _changed_faces(times, output), "is_done": tiles.is_done, "updated": updated}


def front_tiles(
    device: Device, times: BlockView, speeds: BlockView | None, request: FrontRequest
) -> HostTiles | CudaTiles:
    """The tiles of a block, those active in which something may change."""
    tiles = tiles_of(device, _grid(times, speeds, request), times.shape)
    faces = [_face_tiles(face) for face, is_there in enumerate(request.neighbours) if is_there]
    tiles.activate([()] if request.is_start else faces)
    return tiles


def _face_tiles(face: int) -> tuple[slice, ...]:
    axis, is_behind = divmod(face, 2)
    return (*(axis * [slice(None)]), slice(-1, None) if is_behind else slice(1))


def _grid(times: BlockView, speeds: BlockView | None, request: FrontRequest) -> Any:
    from pellucid.cluster.compute import front_kernels

    warp = runtime.start()
    grid = front_kernels.FrontGrid()
    grid.times = _address(times)
    grid.plane, grid.row = (stride // 4 for stride in times.outer.strides[:2])
    if speeds is not None:
        grid.speeds = _address(speeds)
        grid.speed_plane, grid.speed_row = (stride // 4 for stride in speeds.outer.strides[:2])
    grid.shape = warp.vec3i(*times.shape)
    grid.weights = warp.vec3(*(1 / step**2 for step in request.spacing))
    grid.speed = request.speed
    grid.tolerance = TOLERANCE * min(request.spacing) / request.speed
    return grid


def _address(view: BlockView) -> int:
    core = view.core
    return int(core.ctypes.data if isinstance(core, np.ndarray) else core.ptr)


def _start(times: BlockView, output: BlockView, request: FrontRequest) -> None:
    """The times as they are, and nothing that comes in where there is no neighbour."""
    on_host = isinstance(output.outer, np.ndarray)
    if on_host:
        np.copyto(output.outer, times.outer)
    else:
        runtime.start().copy(output.outer, times.outer)
    for face, is_there in enumerate(request.neighbours):
        if not is_there:
            plane = output.outer[_face(output.halo, output.shape, face, outside=True)]
            if on_host:
                plane[...] = np.inf
            else:
                plane.fill_(np.inf)


def _changed_faces(times: BlockView, output: BlockView) -> list[bool]:
    found = []
    for face in range(6):
        where = _face(output.halo, output.shape, face, outside=False)
        before, after = (view.outer[where] for view in (times, output))
        if not isinstance(after, np.ndarray):
            before, after = before.numpy(), after.numpy()
        found.append(bool((before != after).any()))
    return found


def _face(halo: Shape, shape: Shape, face: int, *, outside: bool) -> tuple[slice, ...]:
    """A plane of the array with its halo: the outermost of the core, or the one around it."""
    axis, is_behind = divmod(face, 2)
    at = halo[axis] + (shape[axis] - 1 + outside if is_behind else -int(outside))
    slices = [slice(h, h + n) for h, n in zip(halo, shape, strict=True)]
    slices[axis] = slice(at, at + 1)
    return tuple(slices)
