"""Images of blocks by users' shaders, seen by the camera of a scene.

Here: draw_block_gl, which compose_frame puts together; camera_uniforms.
Not here: shaders without a camera (cluster.shaders), images by the renderer (frames).
"""

from collections.abc import Mapping, Sequence

import numpy as np

from pellucid.box import Box, Shape
from pellucid.cluster.blocks import DeviceBlock
from pellucid.cluster.compute.opengl.drawing import GlRequest, Uniforms
from pellucid.cluster.images.frames import BlockImage, ImagePlan
from pellucid.cluster.images.placement import BlockPlace
from pellucid.cluster.shaders import run_shaders, uniforms_of
from pellucid.rendering.camera import Camera

FAR = 1e6
"""How many times the distance of the target parallel rays are seen."""


def draw_block_gl(
    block: DeviceBlock,
    start: Shape,
    plan: ImagePlan,
    *,
    fragment: str,
    vertex: str = "",
    uniforms: Mapping[str, float | Sequence[float]] | None = None,
) -> BlockImage:
    """Render a block where it is, with shaders. start: its first voxel (z, y, x) in the volume. Of the plan, the camera
    and the place of its first volume count. uniforms: further ones, by name."""
    handle = block.handle
    box = Box.whole(block.shape).shift(start)
    place = plan.place(box)
    begin, end = place.rows(plan.scene.camera, plan.height)
    rows, begin = max(1, end - begin), min(begin, plan.height - 1)
    size = (plan.height, plan.width)
    given = {**camera_uniforms(place, plan.scene.camera, size), **(uniforms or {})}
    request = GlRequest(fragment, vertex, size, begin, uniforms_of(given), str(handle))
    return BlockImage(run_shaders(block, request, rows), box, begin)


def camera_uniforms(place: BlockPlace, camera: Camera, size: tuple[int, int]) -> Uniforms:
    """voxel_to_clip, column by column, and eye: in voxels of the block, or, for parallel rays, the direction to it."""
    right, up, forward = camera.axes()
    half_height = camera.visible_height / 2
    half_width = half_height * size[1] / size[0]
    is_perspective = camera.field_of_view_deg is not None
    near = camera.distance if is_perspective else 1.0
    rows = np.zeros((4, 4))
    rows[0, :3], rows[1, :3] = right * near / half_width, up * near / half_height
    rows[3 if is_perspective else 2, :3] = forward if is_perspective else forward / (FAR * camera.distance)
    rows[:, 3] = -rows[:, :3] @ np.asarray(camera.position)
    rows[3, 3] += 0 if is_perspective else 1
    matrix, shift = place.to_voxel
    to_world = np.eye(4)
    to_world[:3, :3] = np.linalg.inv(matrix)
    to_world[:3, 3] = to_world[:3, :3] @ (np.asarray(place.box.start[::-1], float) - shift)
    to_block = np.linalg.inv(to_world)
    eye = np.append(camera.position, 1.0) if is_perspective else np.append(-forward, 0.0)
    return {
        "voxel_to_clip": tuple(map(float, (rows @ to_world).T.reshape(-1))),
        "eye": tuple(map(float, to_block @ eye)),
    }
