"""What happens to light where it collides: where it goes on, and how much of a lamp's light comes back to the eye.

Here: phase function, surfaces (diffuse under a glossy coat), directions by chance, the environment.
Not here: where light collides (media), the whole path (the package itself).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

wp.set_module_options({"fast_math": True})

PI = wp.constant(3.14159265358979)
REFLECTED = wp.constant(0.04)
"""Of light that falls straight on the coat of a surface."""


@wp.struct
class Scattering:
    """Where light goes on, and what is left of it. random: the state of chance."""

    direction: wp.vec3
    weight: wp.vec3
    random: wp.uint32


@wp.struct
class SurfaceStruct:
    """roughness: of the coat; coat: how much of it there is, from 0 to 1."""

    roughness: wp.float32
    coat: wp.float32


@wp.func
def beside(axis: wp.vec3):
    """A unit vector across another."""
    other = wp.vec3(1.0, 0.0, 0.0)
    if wp.abs(axis[0]) > 0.7:
        other = wp.vec3(0.0, 1.0, 0.0)
    return wp.normalize(wp.cross(axis, other))


@wp.func
def around(axis: wp.vec3, cosine: wp.float32, turn: wp.float32):
    """The unit vector at an angle to an axis, and at a share of a turn around it."""
    aside = beside(axis)
    up = wp.cross(axis, aside)
    sine = wp.sqrt(wp.max(1.0 - cosine * cosine, 0.0))
    angle = 2.0 * PI * turn
    return axis * cosine + (aside * wp.cos(angle) + up * wp.sin(angle)) * sine


@wp.func
def phase(anisotropy: wp.float32, cosine: wp.float32):
    """Henyey and Greenstein's: of light that goes on at an angle to its way, per steradian."""
    square = anisotropy * anisotropy
    base = wp.max(1.0 + square - 2.0 * anisotropy * cosine, 1.0e-6)
    return (1.0 - square) / (4.0 * PI * base * wp.sqrt(base))


@wp.func
def phase_cosine(anisotropy: wp.float32, share: wp.float32):
    """The cosine of the angle that has a share of the phase function below it."""
    cosine = 1.0 - 2.0 * share
    if wp.abs(anisotropy) > 1.0e-3:
        square = anisotropy * anisotropy
        part = (1.0 - square) / (1.0 + anisotropy - 2.0 * anisotropy * share)
        cosine = (1.0 + square - part * part) / (2.0 * anisotropy)
    return wp.clamp(cosine, -1.0, 1.0)


@wp.func
def mirrored_share(coat: wp.float32, cosine: wp.float32):
    """Of light that leaves at an angle, the share that the coat mirrored: Schlick's approximation."""
    rest = 1.0 - wp.clamp(cosine, 0.0, 1.0)
    square = rest * rest
    return coat * (REFLECTED + (1.0 - REFLECTED) * square * square * rest)


@wp.func
def shadowed_share(alpha: wp.float32, cosine: wp.float32):
    """Smith's: the share of the coat's facets that is seen from an angle."""
    square = cosine * cosine
    tangent = wp.max(1.0 - square, 0.0) / wp.max(square, 1.0e-6)
    return 2.0 / (1.0 + wp.sqrt(1.0 + alpha * alpha * tangent))


@wp.func
def surface_share(surface: SurfaceStruct, normal: wp.vec3, to_eye: wp.vec3, to_light: wp.vec3, color: wp.vec3):
    """Of the light from a direction, what a surface sends to the eye, per steradian, with the cosine in it."""
    lit = wp.dot(normal, to_light)
    seen = wp.dot(normal, to_eye)
    if lit <= 0.0 or seen <= 0.0:
        return wp.vec3()
    mirrored = mirrored_share(surface.coat, seen)
    share = color * ((1.0 - mirrored) * lit / PI)
    if mirrored > 0.0:
        alpha = surface.roughness * surface.roughness
        half = wp.normalize(to_eye + to_light)
        cosine = wp.dot(normal, half)
        base = cosine * cosine * (alpha * alpha - 1.0) + 1.0
        facets = alpha * alpha / (PI * base * base)
        glint = facets * shadowed_share(alpha, lit) * shadowed_share(alpha, seen) / (4.0 * seen)
        share = share + wp.vec3(1.0, 1.0, 1.0) * (mirrored * glint)
    return share


@wp.func
def leave_surface(surface: SurfaceStruct, normal: wp.vec3, to_eye: wp.vec3, color: wp.vec3, random: wp.uint32):
    """Where a path goes on from a surface, backwards from the eye."""
    going = Scattering()
    seen = wp.dot(normal, to_eye)
    if wp.randf(random) < mirrored_share(surface.coat, seen):
        alpha = surface.roughness * surface.roughness
        share = wp.randf(random)
        cosine = wp.sqrt((1.0 - share) / (1.0 + (alpha * alpha - 1.0) * share))
        half = around(normal, cosine, wp.randf(random))
        facing = wp.dot(half, to_eye)
        going.direction = half * (2.0 * facing) - to_eye
        lit = wp.dot(normal, going.direction)
        if lit > 0.0 and facing > 0.0:
            shadowed = shadowed_share(alpha, lit) * shadowed_share(alpha, seen)
            weight = shadowed * facing / wp.max(seen * cosine, 1.0e-6)
            going.weight = wp.vec3(weight, weight, weight)
    else:
        share = wp.randf(random)
        going.direction = around(normal, wp.sqrt(1.0 - share), wp.randf(random))
        going.weight = color
    going.random = random
    return going


@wp.func
def environment_light(sky: wp.array2d(dtype=wp.vec3), frame: wp.mat33, direction: wp.vec3):
    """The light that comes from a direction: between the nearest four pixels of a map of all directions."""
    turned = frame * direction
    rows = sky.shape[0]
    columns = sky.shape[1]
    down = wp.acos(wp.clamp(turned[1], -1.0, 1.0)) / PI * wp.float32(rows) - 0.5
    across = (0.5 + wp.atan2(turned[0], -turned[2]) / (2.0 * PI)) * wp.float32(columns) - 0.5
    row = wp.clamp(wp.int32(wp.floor(down)), 0, rows - 1)
    below = wp.min(row + 1, rows - 1)
    v = wp.clamp(down - wp.float32(row), 0.0, 1.0)
    column = wp.int32(wp.floor(across))
    u = across - wp.float32(column)
    left = (column + columns) % columns
    right = (column + 1 + columns) % columns
    upper = sky[row, left] * (1.0 - u) + sky[row, right] * u
    lower = sky[below, left] * (1.0 - u) + sky[below, right] * u
    return upper * (1.0 - v) + lower * v
