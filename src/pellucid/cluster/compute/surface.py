"""The isosurface in a block, as vertices and triangles on its device.

Here: count_surface and write_surface, the computations "count_surface" and "write_surface".
Not here: extracting it (rendering.geometry), surfaces of several blocks (images.surfaces).

How large a surface is shows only when it is there: counting keeps it, and writing takes it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pellucid.box import Shape
from pellucid.cluster.compute.registry import BlockView, ComputeContext
from pellucid.dataclass_json import from_json
from pellucid.device import runtime
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Spacing
from pellucid.rendering.geometry.label_surfaces import extract_label_surfaces, group_by_label
from pellucid.rendering.geometry.surface_extraction import Surface, SurfacePlace, extract_surface

MAX_KEPT = 64


@dataclass(frozen=True)
class SurfaceRequest:
    """value: of the surface; labels: of a block of labels, those whose surfaces are extracted instead. start: the first
    voxel of the block in the volume; shape, spacing: of the volume. key: the same for the same surface."""

    value: float
    start: Shape
    shape: Shape
    spacing: Spacing
    key: str
    labels: tuple[int, ...] = ()


def count_surface(
    context: ComputeContext, arguments: dict[str, Any], inputs: Sequence[BlockView], output: BlockView | None
) -> dict[str, Any]:
    """How many vertices and triangles there are; parts: those of each label."""
    request: SurfaceRequest = from_json(SurfaceRequest, arguments, "surface")
    surface, parts = _extracted(context, request, inputs[0])
    kept: dict[str, Surface] = context.state.setdefault("surfaces", {})
    while len(kept) >= MAX_KEPT:
        del kept[next(iter(kept))]
    kept[request.key] = surface
    return {"vertices": len(surface.vertices), "triangles": len(surface.triangles), "parts": parts}


def write_surface(
    context: ComputeContext, arguments: dict[str, Any], inputs: Sequence[BlockView], output: BlockView | None
) -> None:
    """Into one row of 32-bit words: the vertices, then the triangles."""
    request: SurfaceRequest = from_json(SurfaceRequest, arguments, "surface")
    kept: dict[str, Surface] = context.state.get("surfaces", {})
    surface = kept.pop(request.key, None) or _extracted(context, request, inputs[0])[0]
    words = 3 * (len(surface.vertices) + len(surface.triangles))
    if output is None or output.shape != (1, 1, max(1, words)):
        raise InvalidInput("The block for a surface has another size.", remedy="Count the surface first.")
    warp, device = runtime.start(), context.device.name
    begin = 0
    for part, kind in ((surface.vertices, warp.float32), (surface.triangles, warp.int32)):
        count = 3 * len(part)
        if count:
            source = warp.array(part.reshape(-1), dtype=kind, device=device, copy=False)
            warp.copy(warp.array(ptr=_address(output) + 4 * begin, dtype=kind, shape=(count,), device=device), source)
        begin += count
    warp.synchronize_device(device)


def _extracted(
    context: ComputeContext, request: SurfaceRequest, block: BlockView
) -> tuple[Surface, tuple[tuple[int, int, int], ...]]:
    """The cubes whose first corner is in the block: with one more voxel, where the volume goes on behind it."""
    slices = []
    for axis in range(3):
        begin, stop = block.halo[axis], block.halo[axis] + block.shape[axis]
        goes_on = request.start[axis] + block.shape[axis] < request.shape[axis]
        if goes_on and not block.halo[axis]:
            raise InvalidInput("A surface needs blocks with a halo of 1.", remedy="Fill the halo first.")
        slices.append(slice(begin, stop + goes_on))
    voxels = block.outer[tuple(slices)]
    place = SurfacePlace(request.start, request.spacing)
    if request.labels:
        found = extract_label_surfaces(voxels, request.labels, place, context.device)
        grouped = group_by_label(found, context.device)
        return grouped.surface, grouped.parts
    return extract_surface(voxels, request.value, place, context.device), ()


def _address(view: BlockView) -> int:
    return int(getattr(view.outer, "ptr", 0) or view.outer.ctypes.data)
