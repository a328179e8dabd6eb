"""What kernels read beyond the border of an image or a sinogram.

Here: indices that are mirrored at the border.
Not here: rows that are extended before they are filtered (filtering).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp


@wp.func
def mirrored(index: wp.int32, length: wp.int32):
    """An index beyond the border, mirrored with the border repeated."""
    period = 2 * length
    inside = ((index % period) + period) % period
    if inside >= length:
        inside = period - 1 - inside
    return inside
