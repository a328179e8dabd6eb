"""A kernel that reads a field at given points, as pictures do."""

# mypy: ignore-errors

import warp as wp

from pellucid.fields.kernels.sampling import FieldStruct, cell_at, exactly, gradient_in, locate, value_in


@wp.kernel(enable_backward=False)
def read_points(
    first: wp.int32,
    field: FieldStruct,
    points: wp.array(dtype=wp.vec3),
    is_exact: wp.int32,
    values: wp.array(dtype=wp.float32),
    gradients: wp.array(dtype=wp.vec3),
):
    i = wp.tid() + first
    here = locate(field, cell_at(field, points[i]), 0.0)
    if is_exact != 0:
        here = exactly(here)
    values[i] = value_in(here, points[i])
    gradients[i] = gradient_in(here, points[i])
