"""From the sums of paths to an image: their mean, without noise if that is wanted, as colours that are shown.

Here: the mean and its noise; a filter that keeps edges (à trous: ever wider steps), guided by what the paths met first
and by how uncertain their light is; from light to colours.
Not here: following paths (the package itself), when the filter runs (cinematic).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.rendering.kernels.rays import FAR

wp.set_module_options({"fast_math": True})


@wp.struct
class FilterOptions:
    """samples: paths of every pixel; pixel: world units from one to the next, where the camera looks. light, normal,
    color, depth: how different two pixels may be: in noise, in lengths of a normal, in albedo, in pixels of depth for
    each pixel between them."""

    samples: wp.float32
    pixel: wp.float32
    light: wp.float32
    normal: wp.float32
    color: wp.float32
    depth: wp.float32


COVERED = wp.constant(8.0)
"""How much more two pixels may differ in what they cover than chance makes them, in variances."""


@wp.func
def brightness(light: wp.vec4):
    return 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2]


@wp.kernel(enable_backward=False)
def begin_filter(
    first: wp.int32,
    lights: wp.array2d(dtype=wp.vec4),
    squares: wp.array2d(dtype=wp.float32),
    guide_sums: wp.array2d(dtype=wp.vec4),
    normal_sums: wp.array2d(dtype=wp.vec3),
    samples: wp.float32,
    light: wp.array2d(dtype=wp.vec4),
    noise: wp.array2d(dtype=wp.float32),
    guides: wp.array2d(dtype=wp.vec4),
    normals: wp.array2d(dtype=wp.vec3),
):
    """The means of every pixel, and the variance of its brightness; with few paths, that among the pixels around."""
    row, column = wp.tid()
    row += first
    light[row, column] = lights[row, column] / samples
    met = lights[row, column][3]
    guides[row, column] = guide_sums[row, column] / wp.max(met, 1.0)
    normals[row, column] = normal_sums[row, column] / wp.max(met, 1.0)
    total = wp.float32(0.0)
    square = wp.float32(0.0)
    count = wp.float32(0.0)
    for j in range(-2, 3):
        for i in range(-2, 3):
            y = wp.clamp(row + j, 0, lights.shape[0] - 1)
            x = wp.clamp(column + i, 0, lights.shape[1] - 1)
            weight = 1.0 / (1.0 + wp.float32(i * i + j * j))
            total += weight * brightness(lights[y, x]) / samples
            square += weight * squares[y, x] / samples
            count += weight
    mean = total / count
    noise[row, column] = wp.max(square / count - mean * mean, 0.0) / samples


@wp.func
def unlike_cover(here: wp.float32, there: wp.float32, samples: wp.float32):
    """How differently two pixels are covered, beside what chance makes of so many paths."""
    middle = wp.clamp(0.5 * (there + here), 0.0, 1.0)
    by_chance = (middle * (1.0 - middle) + 0.01) / samples
    return (there - here) * (there - here) / (COVERED * by_chance)


@wp.kernel(enable_backward=False)
def filter_once(
    first: wp.int32,
    step: wp.int32,
    options: FilterOptions,
    guides: wp.array2d(dtype=wp.vec4),
    normals: wp.array2d(dtype=wp.vec3),
    light: wp.array2d(dtype=wp.vec4),
    noise: wp.array2d(dtype=wp.float32),
    light_after: wp.array2d(dtype=wp.vec4),
    noise_after: wp.array2d(dtype=wp.float32),
):
    """The mean of pixels so many pixels apart, as far as they are like the one in their middle."""
    row, column = wp.tid()
    row += first
    here = light[row, column]
    guide = guides[row, column]
    normal = normals[row, column]
    bright = brightness(here)
    total = wp.vec4()
    spread = wp.float32(0.0)
    weights = wp.float32(0.0)
    for j in range(-2, 3):
        for i in range(-2, 3):
            y = row + j * step
            x = column + i * step
            if y >= 0 and y < light.shape[0] and x >= 0 and x < light.shape[1]:
                there = light[y, x]
                weight = kernel_weight(i) * kernel_weight(j)
                if here[3] <= 0.0 and there[3] <= 0.0:
                    total += there * weight
                    weights += weight
                    continue
                beside = guides[y, x]
                far = wp.float32(step) * wp.sqrt(wp.float32(i * i + j * j)) * options.pixel * options.depth
                turned = wp.length_sq(normals[y, x] - normal) / (options.normal * options.normal)
                tint = wp.vec3(beside[0] - guide[0], beside[1] - guide[1], beside[2] - guide[2])
                tinted = wp.length_sq(tint) / (options.color * options.color)
                behind = wp.abs(beside[3] - guide[3]) / wp.max(far, 1.0e-20)
                unsure = wp.sqrt(noise[row, column] + noise[y, x]) * options.light + 1.0e-6
                unlike = wp.abs(brightness(there) - bright) / unsure
                # Where no path met anything, there is nothing to go by.
                guided = wp.where(wp.min(there[3], here[3]) > 0.0, turned + tinted + behind, 0.0)
                if i != 0 or j != 0:
                    weight *= wp.exp(-guided - unlike * unlike - unlike_cover(here[3], there[3], options.samples))
                total += there * weight
                spread += noise[y, x] * weight * weight
                weights += weight
    light_after[row, column] = total / weights
    noise_after[row, column] = spread / (weights * weights)


@wp.func
def kernel_weight(i: wp.int32):
    """Of a cubic spline."""
    return wp.where(i == 0, 0.375, wp.where(i * i == 1, 0.25, 0.0625))


@wp.func
def light_shown_as(level: wp.float32, exposure: wp.float32):
    """The light that is shown as a level: what ``shown`` undoes, short of the brightest."""
    straight = wp.min(wp.pow(wp.max(level, 0.0), 2.2), 0.98)
    if straight > 0.6:
        straight = 0.6 - 0.4 * wp.log(1.0 - (straight - 0.6) / 0.4)
    return straight / wp.max(exposure, 1.0e-6)


@wp.func
def shown(light: wp.float32, exposure: wp.float32):
    """From light to what is shown: straight up to middle tones, then ever flatter, so that nothing is burnt out."""
    level = wp.max(light, 0.0) * exposure
    if level > 0.6:
        level = 0.6 + 0.4 * (1.0 - wp.exp(-(level - 0.6) / 0.4))
    return wp.pow(level, 1.0 / 2.2)


@wp.kernel(enable_backward=False)
def finish_filter(
    first: wp.int32,
    exposure: wp.float32,
    light: wp.array2d(dtype=wp.vec4),
    guides: wp.array2d(dtype=wp.vec4),
    color: wp.array2d(dtype=wp.vec4),
    depth: wp.array2d(dtype=wp.float32),
):
    """Colours, multiplied by how much of a pixel is covered, and its depth where that is half and more."""
    row, column = wp.tid()
    row += first
    mean = light[row, column]
    opacity = wp.clamp(mean[3], 0.0, 1.0)
    whole = 1.0 / wp.max(mean[3], 1.0e-6)
    red = shown(mean[0] * whole, exposure) * opacity
    green = shown(mean[1] * whole, exposure) * opacity
    blue = shown(mean[2] * whole, exposure) * opacity
    color[row, column] = wp.vec4(red, green, blue, opacity)
    depth[row, column] = wp.where(opacity >= 0.5, guides[row, column][3], FAR)
