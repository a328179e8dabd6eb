"""Users' shaders on blocks: what map functions call.

Here: init_gl, exec_gl.
Not here: shaders in the camera of a scene (images.shader_images), OpenGL itself (compute.opengl).

A fragment shader is GLSL text with a function ``main``. It is called for every pixel in which the block is, and finds
these names:

    at              where the ray of the pixel leaves the block, in voxels (x, y, z); voxel 0 has its centre at 0
    voxel(at)       the value there, interpolated; it may read into the halo
    ray_through(at) the direction of that ray; entry(at, ray): where it enters the block
    block_shape, block_halo, image_size, eye, voxel_to_clip, and the uniforms that the call passes
    color, depth    what it writes: colour multiplied by opacity, with opacity; and a distance from the eye

A vertex shader writes ``at`` and ``gl_Position``; ``corner`` are 36 corners, from 0 to 1, of the triangles of a box.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from pellucid.cluster.blocks import DeviceBlock
from pellucid.cluster.compute.opengl.drawing import CHANNELS, GlRequest, GlUniform
from pellucid.cluster.operations import ComputeBlock
from pellucid.errors import InvalidInput

LABEL = "the shaders"
MAX_EDGE = 16384


def init_gl(block: DeviceBlock) -> DeviceBlock:
    """Start OpenGL on the Worker of a block, so that the first image does not have to wait for it. The result is the
    same block; its value says what was found: renderer, version, and transfer ("shared" or "copied")."""
    return block.then(ComputeBlock("start_gl", is_value=True, label="OpenGL"))


def exec_gl(
    block: DeviceBlock | None = None,
    *,
    fragment: str,
    vertex: str = "",
    size: tuple[int, int] = (512, 512),
    uniforms: Mapping[str, float | Sequence[float]] | None = None,
) -> Any:
    """Run shaders on a block, and return an image of it as a block of (height, width, 5): colour multiplied by opacity,
    opacity and depth. Without a block, returns a function of one.

    vertex: by default, the faces of the block at voxel_to_clip, which is a uniform then. size: (height, width).
    uniforms: numbers by name; a matrix column by column.
    """
    given = uniforms_of(uniforms or {})
    height, width = size
    if not (0 < height <= MAX_EDGE and 0 < width <= MAX_EDGE):
        raise InvalidInput(f"Invalid size of an image: {size}.", remedy=f"Use 1 to {MAX_EDGE}.")
    request = GlRequest(fragment, vertex, (height, width), 0, given)
    run = partial(run_shaders, request=request, rows=height)
    return run if block is None else run(block)


def run_shaders(block: DeviceBlock, request: GlRequest, rows: int) -> DeviceBlock:
    """The image that a request describes, as a block that is not drawn yet."""
    shape = (rows, request.size[1], CHANNELS)
    key = block.known_handle
    arguments = asdict(request) | {"key": "" if key is None else str(key)}
    return block.then(ComputeBlock("draw_gl", json.dumps(arguments), (), shape, "<f4", label=LABEL))


def uniforms_of(numbers: Mapping[str, float | Sequence[float]]) -> tuple[GlUniform, ...]:
    """As a request has them."""
    return tuple(GlUniform(name, _numbers(name, value)) for name, value in numbers.items())


def _numbers(name: str, value: float | Sequence[float]) -> tuple[float, ...]:
    try:
        return tuple(map(float, value)) if isinstance(value, Sequence) else (float(value),)
    except (TypeError, ValueError) as error:
        what = f"The uniform {name!r} is not a number or a sequence of numbers."
        raise InvalidInput(what, remedy="Pass numbers.") from error
