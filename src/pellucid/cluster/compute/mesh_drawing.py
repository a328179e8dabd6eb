"""A surface drawn where it was extracted.

Here: draw_surface, the computation "draw_surface".
Not here: extracting surfaces (surface), images put together by their depths (compositing), the renderer (rendering).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.cluster.compute.registry import BlockView, ComputeContext
from pellucid.dataclass_json import from_json
from pellucid.device import LaunchRange
from pellucid.errors import InvalidInput
from pellucid.rendering.drawing.device_renderer import DeviceRenderer
from pellucid.rendering.drawing.draw_pass import DrawRegion
from pellucid.rendering.drawing.packing import SubpixelOffset
from pellucid.rendering.geometry.shapes import Mesh
from pellucid.rendering.scene import Scene

PLACEHOLDER = "memory:surface"
MAX_KNOWN = 64
"""Surfaces whose triangles stay sorted from one image to the next."""


@dataclass(frozen=True)
class DrawSurfaceRequest:
    """scene: as JSON, with one mesh, whose source stands for the surface. vertices, triangles: how many the block has.
    size: of the image; key: names the surface; across, down: as in SubpixelOffset."""

    scene: str
    vertices: int
    triangles: int
    size: tuple[int, int]
    key: str
    across: float = 0.0
    down: float = 0.0


def draw_surface(
    context: ComputeContext, arguments: dict[str, Any], inputs: Sequence[BlockView], output: BlockView | None
) -> None:
    """inputs: the words of a surface."""
    from pellucid.cluster.compute import image_kernels

    request: DrawSurfaceRequest = from_json(DrawSurfaceRequest, arguments, "draw_surface")
    if output is None:
        raise InvalidInput("An image needs a block to be in.", remedy="Pass a shape and a type.")
    known: dict[str, tuple[Mesh, DeviceRenderer]] = context.state.setdefault("surface_renderers", {})
    if request.key not in known:
        while len(known) >= MAX_KNOWN:
            known.pop(next(iter(known)))[1].close()
        known[request.key] = (_mesh(request, inputs[0]), DeviceRenderer(context.device))
    mesh, renderer = known[request.key]
    scene = Scene.from_json(request.scene.replace(PLACEHOLDER, mesh.name))
    renderer.load(scene)
    aim = SubpixelOffset(request.across, request.down)
    drawing = renderer.start_pass(scene, [], DrawRegion(request.size, aim))
    drawing.draw(LaunchRange(output.shape[:2]))
    image_kernels.pack_image(drawing, 0, output)


def _mesh(request: DrawSurfaceRequest, view: BlockView) -> Mesh:
    words = (view.outer if isinstance(view.outer, np.ndarray) else view.outer.numpy()).reshape(-1)
    cut, end = 3 * request.vertices, 3 * (request.vertices + request.triangles)
    if words.size < end:
        raise InvalidInput("The block does not contain this surface.", remedy="Pass the surface that was extracted.")
    # Copied: the block may go before the mesh does.
    return Mesh(words[:cut].view(np.float32).reshape(-1, 3).copy(), words[cut:end].reshape(-1, 3).copy())
