"""How much light reaches a point through a volume that is one hardware texture, on CUDA alone.

Here: what light_rays finds, written for few registers, without bricks and edges.
Not here: what defines it (light_rays), who draws with it (composite_texture).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.fields.kernels.sampling import Grid
from pellucid.fields.textures.texture_kernels import raw_offset, raw_scale
from pellucid.rendering.kernels.light_rays import (
    BEFORE,
    DARK,
    FIRST,
    MIN_OPEN,
    OCCLUSION,
    SHADOW,
    SKY,
    STEPS,
    FoundLight,
    light_ray,
)
from pellucid.rendering.kernels.rays import FAR, LayerStruct, Ray

wp.set_module_options({"fast_math": True})


# In units of cells, where the texture's own coordinates are eight times as large. A row is a float between 2^23 and
# 2^24, whose last bits are the row's number; NaN is taken like the lowest value.
_ALONG = """
    const float ox = (ray.origin[0] + 0.5f) * 0.125f, oy = (ray.origin[1] + 0.5f) * 0.125f,
                oz = (ray.origin[2] + 0.5f) * 0.125f;
    const float sx = ray.speed[0] * 0.125f * step, sy = ray.speed[1] * 0.125f * step, sz = ray.speed[2] * 0.125f * step;
    const float lowest = 8388608.0f, highest = 8388607.0f + table.shape[0];
    const char* const rows = (const char*)(table.data) - 0x4B000000LL * 4;
    auto rest = [&](float t) -> float {
        const float read = tex3D<float>(texture, 8.0f * fmaf(sx, t, ox), 8.0f * fmaf(sy, t, oy),
                                        8.0f * fmaf(sz, t, oz));
        const float place = fminf(fmaxf(fmaf(read, to_row[0], to_row[1] + lowest), lowest), highest);
        return 1.0f - __ldg((const float*)(rows + __float_as_uint(place) * 4ULL));
    };
    float light = 1.0f;
    int k = ray.k_first;
    // Up to before a sample; four at a time, so that their ways through the texture unit overlap.
    auto go_on = [&](int end) {
        for (; k + 4 <= end && light > dark; k += 4) {
            const float n = k + begin, a = rest(n), b = rest(n + 1.0f), c = rest(n + 2.0f), d = rest(n + 3.0f);
            light *= (a * b) * (c * d);
        }
        for (; k < end && light > dark; ++k) light *= rest(k + begin);
    };
"""


@wp.func_native(
    f"""
#if defined(__CUDA_ARCH__)
{_ALONG}
    go_on(ray.k_last + 1);
    return light;
#else
    return 1.0f;
#endif
"""
)
def passes_near(
    ray: Ray,
    step: wp.float32,
    begin: wp.float32,
    dark: wp.float32,
    texture: wp.uint64,
    table: wp.array(dtype=wp.float32),
    to_row: wp.vec2,
) -> wp.float32:
    """What light_rays.passes gives, of a ray so short that it is not worth asking which cells are empty. begin: the
    first sample, in steps; to_row: from what the hardware reads to a row of the table, a factor and what to add."""
    return 1.0


@wp.func_native(
    f"""
#if defined(__CUDA_ARCH__)
{_ALONG}
"""
    + """
    const int nx = vacancy.shape[2], ny = vacancy.shape[1], nz = vacancy.shape[0];
    auto inverse = [](float speed) -> float { return fabsf(speed) > 1.0e-13f ? __fdividef(1.0f, speed) : 3.0e37f; };
    const float ix = inverse(sx), iy = inverse(sy), iz = inverse(sz);
    while (k <= ray.k_last && light > dark) {
        const float t = k + begin;
        const float cx = fmaf(sx, t, ox), cy = fmaf(sy, t, oy), cz = fmaf(sz, t, oz);
        const int i = min(max((int)cx, 0), nx - 1), j = min(max((int)cy, 0), ny - 1), l = min(max((int)cz, 0), nz - 1);
        const int empty = __ldg((const unsigned char*)vacancy.data + ((long long)l * ny + j) * nx + i);
        const int around = max(empty - 1, 0);
        const float bx = sx > 0.0f ? i + 1 + around : i - around, by = sy > 0.0f ? j + 1 + around : j - around;
        const float bz = sz > 0.0f ? l + 1 + around : l - around;
        const float tx = fabsf((bx - ox) * ix - t), ty = fabsf((by - oy) * iy - t), tz = fabsf((bz - oz) * iz - t);
        // A little short of the border, so that rounding never takes a sample of the next cell with it.
        const float border = fminf(fminf(fminf(tx, ty), tz), 1.0e9f) + t - begin - 1.0e-3f;
        const int end = min(max(k + 1, (int)ceilf(border)), ray.k_last + 1);
        if (empty > 0) { k = end; continue; }
        go_on(end);
    }
    return light;
#else
    return 1.0f;
#endif
"""
)
def passes_far(
    ray: Ray,
    step: wp.float32,
    begin: wp.float32,
    dark: wp.float32,
    texture: wp.uint64,
    vacancy: wp.array3d(dtype=wp.uint8),
    table: wp.array(dtype=wp.float32),
    to_row: wp.vec2,
) -> wp.float32:
    """The same of a longer one."""
    return 1.0


@wp.func
def passes_to_sky(layer: LayerStruct, here: Grid, start: wp.vec3, towards: wp.vec3, to_row: wp.vec2):
    """The part of the light from a direction that nothing near takes away."""
    rays = layer.light_rays
    ray = light_ray(layer, start, towards, rays.sky_step, (STEPS + 1.0) * rays.sky_step)
    return passes_near(ray, rays.sky_step, FIRST, DARK, here.voxels, rays.sky_table, to_row)


@wp.func
def find_light_in_texture(layer: LayerStruct, here: Grid, direction: wp.vec3, at: wp.vec3):
    """The light on a sample. direction: of the ray."""
    rays = layer.light_rays
    to_eye = -layer.to_voxel * direction * layer.voxel
    start = at + to_eye * BEFORE
    to_row = wp.vec2(raw_scale(here) * rays.scale, (raw_offset(here) - rays.low) * rays.scale)
    found = FoundLight(1.0, 1.0, 0.0)
    if layer.shading != OCCLUSION:
        ray = light_ray(layer, start, rays.towards, 1.0, FAR)
        found.shadow = passes_far(ray, 1.0, FIRST, DARK, here.voxels, rays.vacancy, rays.shadow_table, to_row)
    if layer.shading != SHADOW:
        open = wp.float32(1.0)
        total = wp.float32(0.0)
        count = rays.around.shape[0]
        for i in range(count + 1):
            towards = to_eye
            if i > 0:
                towards = rays.around[i - 1]
            passed = passes_to_sky(layer, here, start, towards, to_row)
            if i > 0:
                total += passed
            else:
                open = passed
        found.sky = wp.min(SKY * total / (wp.float32(count) * wp.max(open, MIN_OPEN)), 1.0)
    return found
