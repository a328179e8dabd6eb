"""A label volume like a scan of grains or cells, made on the device.

Here: the kernel.
Not here: what is measured with it (label_cases).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp


@wp.kernel(enable_backward=False)
def jittered_cells(first: wp.int32, cells: wp.int32, labels: wp.array3d(dtype=wp.int32)):
    """Each voxel gets the number, from 1, of the nearest of cells³ seeds: one anywhere in each cube of a grid."""
    z, y, x = wp.tid()
    z += first
    size = float(labels.shape[2]) / float(cells)
    voxel = wp.vec3(float(x), float(y), float(z)) / size
    nearest = wp.int32(0)
    least = wp.float32(1.0e9)
    for k in range(27):
        i = int(voxel[0]) + k % 3 - 1
        j = int(voxel[1]) + k / 3 % 3 - 1
        n = int(voxel[2]) + k / 9 - 1
        if wp.min(i, wp.min(j, n)) >= 0 and wp.max(i, wp.max(j, n)) < cells:
            number = (n * cells + j) * cells + i
            state = wp.rand_init(17, number)
            seed = wp.vec3(float(i) + wp.randf(state), float(j) + wp.randf(state), float(n) + wp.randf(state))
            distance = wp.length_sq(seed - voxel)
            if distance < least:
                least = distance
                nearest = number + 1
    labels[z, y, x] = nearest
