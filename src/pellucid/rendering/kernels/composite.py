"""One volume, front to back.

Here: the factory of the kernels that draw it, with the function that adds a sample compiled into the loop.
Not here: rays and cells (rays), what is gathered (accumulation), reading voxels (fields.kernels.sampling), launches
(renderer).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

from typing import Any

import warp as wp

from pellucid.fields.kernels.sampling import locate
from pellucid.rendering.kernels.accumulation import OPAQUE, add_sample, over_opaque, seen_before
from pellucid.rendering.kernels.light_rays import keep_light
from pellucid.rendering.kernels.rays import LayerStruct, ViewStruct, cell_of, first_beyond, make_ray, place


def composite_with(add: Any) -> Any:
    """The kernel that draws one volume, with the function that adds a sample compiled into its inner loop."""

    @wp.kernel(enable_backward=False, module="unique", module_options={"fast_math": True})
    def composite(
        first: wp.int32,
        view: ViewStruct,
        layer: LayerStruct,
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
        keep_light(view, row, column, gathered.light)
        color[row, column] = over_opaque(gathered, view.scenery[row, column])
        depth[row, column] = wp.min(gathered.depth, ray.end)

    return composite


composite = composite_with(add_sample)
