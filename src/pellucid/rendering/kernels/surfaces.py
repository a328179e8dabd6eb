"""Translucent surfaces, sorted by depth: before, between and behind the samples of a volume.

Here: the list of the nearest ones in every pixel; meeting them along a ray; the image where there is no volume.
Not here: who draws into the list (slices, meshes).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.rendering.kernels.accumulation import OPAQUE, Accumulated, accumulate, empty, over_opaque
from pellucid.rendering.kernels.rays import FAR, ViewStruct

wp.set_module_options({"fast_math": True})

NEVER = wp.constant(3.3e38)


@wp.func
def add_surface(
    view: ViewStruct, row: wp.int32, column: wp.int32, distance: wp.float32, color: wp.vec3, opacity: wp.float32
):
    """Into the scenery if it is opaque, else into the list, nearest first; of equally near ones the later is before."""
    if opacity >= OPAQUE:
        view.scenery[row, column] = wp.vec4(color[0], color[1], color[2], 1.0)
        view.scenery_depth[row, column] = distance
        return
    i = view.surface_depths.shape[2] - 1
    if opacity <= 0.0 or distance > view.surface_depths[row, column, i]:
        return
    while i > 0 and view.surface_depths[row, column, wp.max(i - 1, 0)] >= distance:
        view.surface_depths[row, column, i] = view.surface_depths[row, column, i - 1]
        view.surface_colors[row, column, i] = view.surface_colors[row, column, i - 1]
        i -= 1
    view.surface_depths[row, column, i] = distance
    view.surface_colors[row, column, i] = wp.vec4(color[0], color[1], color[2], opacity)


@wp.func
def next_surface(view: ViewStruct, row: wp.int32, column: wp.int32, passed: wp.int32):
    """How far the surface after those that were passed is; opaque scenery ends them all."""
    distance = wp.float32(NEVER)
    if passed < view.surface_depths.shape[2]:  # By itself: Warp evaluates both sides of "and".
        found = view.surface_depths[row, column, passed]
        if found < FAR and found <= view.scenery_depth[row, column]:
            distance = found
    return distance


@wp.func
def meet_surface(gathered: Accumulated, view: ViewStruct, row: wp.int32, column: wp.int32, which: wp.int32):
    color = view.surface_colors[row, column, which]
    base = wp.vec3(color[0], color[1], color[2])
    return accumulate(gathered, base, color[3], view.surface_depths[row, column, which])


@wp.func
def meet_surfaces(
    gathered: Accumulated, view: ViewStruct, row: wp.int32, column: wp.int32, passed: wp.int32, far: wp.float32
):
    """All surfaces after those that were passed, up to a distance."""
    while next_surface(view, row, column, passed) <= far:
        gathered = meet_surface(gathered, view, row, column, passed)
        passed += 1
    return gathered, passed


@wp.kernel(enable_backward=False)
def draw_surfaces(
    first: wp.int32, view: ViewStruct, color: wp.array2d(dtype=wp.vec4), depth: wp.array2d(dtype=wp.float32)
):
    """Surfaces over the scenery, where there is no volume."""
    row, column = wp.tid()
    row += first
    gathered, _passed = meet_surfaces(empty(), view, row, column, 0, view.scenery_depth[row, column])
    color[row, column] = over_opaque(gathered, view.scenery[row, column])
    depth[row, column] = wp.min(gathered.depth, view.scenery_depth[row, column])
