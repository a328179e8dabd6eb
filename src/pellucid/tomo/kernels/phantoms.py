"""What rays lose in many ellipsoids, in a kernel.

Here: add_lengths.
Not here: the definition (phantoms.Ellipsoid).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp


@wp.kernel(enable_backward=False)
def add_lengths(
    first: wp.int32,
    parts: wp.array2d(dtype=wp.float64),
    turns: wp.array2d(dtype=wp.float64),
    z: wp.array(dtype=wp.float64),
    s: wp.array(dtype=wp.float64),
    total: wp.array3d(dtype=wp.float64),
):
    """One row of one view. parts: attenuation, centre, radii, cosine and sine of the turn. s: ascending."""
    view, row = wp.tid()
    view += first
    cosine = turns[view, 0]
    sine = turns[view, 1]
    one = wp.float64(1.0)
    for part in range(parts.shape[0]):
        height = (z[row] - parts[part, 3]) / parts[part, 6]
        inside = one - height * height
        if inside > wp.float64(0.0):
            a = parts[part, 4]
            b = parts[part, 5]
            along = a * (cosine * parts[part, 7] + sine * parts[part, 8])
            across = b * (sine * parts[part, 7] - cosine * parts[part, 8])
            width = along * along + across * across
            reach = wp.sqrt(inside * width)
            middle = parts[part, 1] * cosine + parts[part, 2] * sine
            factor = wp.float64(2.0) * a * b * parts[part, 0] / width
            low = wp.lower_bound(s, middle - reach)
            for column in range(low, s.shape[0]):
                away = s[column] - middle
                if away > reach:
                    break
                chord = wp.max(inside * width - away * away, wp.float64(0.0))
                total[view, row, column] = total[view, row, column] + factor * wp.sqrt(chord)
