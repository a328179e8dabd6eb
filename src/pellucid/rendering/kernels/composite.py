"""One volume, front to back.

Here: the factory of the kernels that draw it, with the function that adds a sample compiled into the loop.
Not here: rays and cells (rays), what is gathered (gathering), reading voxels (fields.sampling), launches (renderer).
"""

# mypy: ignore-errors
# What a kernel says is Warp's language, which a checker of Python's types cannot follow.

from typing import Any

import warp as wp

from pellucid.fields.sampling import Grid, gradient_in, locate, value_in
from pellucid.rendering.kernels.gathering import (
    OPAQUE,
    Gathered,
    add_sample,
    classified,
    gather,
    over_scenery,
    seen_before,
)
from pellucid.rendering.kernels.rays import Layer, View, cell_of, first_beyond, make_ray, place


def composite_with(add: Any) -> Any:
    """The kernel that draws one volume, with the function that adds a sample compiled into its inner loop."""

    @wp.kernel(enable_backward=False, module="unique", module_options={"fast_math": True})
    def composite(
        first: wp.int32,
        view: View,
        layer: Layer,
        color: wp.array2d(dtype=wp.vec4),
        depth: wp.array2d(dtype=wp.float32),
    ):
        """Front to back; cells in which nothing is visible are skipped."""
        row, column = wp.tid()
        row += first
        ray = make_ray(view, layer, row, column)
        gathered = seen_before(view, row, column)
        k = ray.k_first
        while k <= ray.k_last and gathered.opacity < OPAQUE:
            cell = cell_of(place(ray, view.step, k), layer.vacancy)
            vacancy = wp.int32(layer.vacancy[cell[2], cell[1], cell[0]])
            k_next = first_beyond(ray, view.step, k, cell, vacancy)
            if vacancy > 0:
                k = k_next
                continue
            here = locate(layer.field, cell, wp.float32(k_next - k) * (1.0 - gathered.opacity))
            while k < k_next and gathered.opacity < OPAQUE:
                distance = (wp.float32(k) + ray.jitter) * view.step
                gathered = add(gathered, layer, here, ray.direction, place(ray, view.step, k), distance)
                k += 1
        color[row, column] = over_scenery(gathered, view.scenery[row, column])
        depth[row, column] = wp.min(gathered.depth, ray.end)

    return composite


def composite_shaded_by(shade: Any) -> Any:
    """The same with a user's shading: shade(value, color, gradient, position, view, light, parameters) -> colour."""

    @wp.func
    def add(gathered: Gathered, layer: Layer, here: Grid, direction: wp.vec3, at: wp.vec3, distance: wp.float32):
        value = value_in(here, at)
        entry = classified(layer, value)
        if entry[3] <= 0.0:
            return gathered
        slope = wp.transpose(layer.to_voxel) * gradient_in(here, at)
        if not wp.isfinite(slope):  # Beside voxels that are NaN or infinite.
            slope = wp.vec3()
        towards = wp.where(layer.light.is_headlight != 0, -direction, layer.light.towards)
        base = wp.vec3(entry[0], entry[1], entry[2])
        color = shade(value, base, slope, at, -direction, towards, layer.parameters)
        return gather(gathered, color, entry[3], distance)

    return composite_with(add)


composite = composite_with(add_sample)
