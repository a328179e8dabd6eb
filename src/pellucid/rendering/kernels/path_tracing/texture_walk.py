"""A volume in one hardware texture as a medium, on CUDA alone: the walks of media, written for few registers.

Here: the struct of such a medium; delta and ratio tracking through its cells, and the gradient.
Not here: what defines them, for media of all kinds (media), from the eye to the lamp (the package itself).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.fields.textures.texture_kernels import raw_offset, raw_scale, texture_gradient
from pellucid.rendering.kernels.path_tracing.media import (
    FAINT,
    SURVIVES,
    Collision,
    MediumStruct,
    Passage,
    PathRay,
    ray_inside,
)
from pellucid.rendering.kernels.rays import Ray

wp.set_module_options({"fast_math": True})


@wp.struct
class TexturedMedium:
    """A medium and its cells. cells: the largest extinction of each; where nothing is visible, minus how many cells it
    is to the nearest in which something is."""

    medium: MediumStruct
    cells: wp.array3d(dtype=wp.float32)


Met = wp.types.vector(length=5, dtype=wp.uint32)
"""As bits: the distance, FAR where nothing is met; albedo; the state of chance."""
Left = wp.types.vector(length=2, dtype=wp.uint32)


# The walk is in units of cells, where the texture's own coordinates are eight times as large. A row is a float between
# 2^23 and 2^24, whose last bits are the row's number; NaN is drawn like the lowest value.
_WALK = """
    const unsigned long long texture = here.medium.field.whole.voxels;
    const int nx = here.cells.shape[2], ny = here.cells.shape[1], nz = here.cells.shape[0];
    const float ox = (ray.origin[0] + 0.5f) * 0.125f, oy = (ray.origin[1] + 0.5f) * 0.125f,
                oz = (ray.origin[2] + 0.5f) * 0.125f;
    const float sx = ray.speed[0] * 0.125f, sy = ray.speed[1] * 0.125f, sz = ray.speed[2] * 0.125f;
    auto inverse = [](float speed) -> float { return fabsf(speed) > 1.0e-13f ? __fdividef(1.0f, speed) : 3.0e37f; };
    const float ix = inverse(sx), iy = inverse(sy), iz = inverse(sz);
    const float far = ray.far, aside = fmaxf(1.0e-3f * here.medium.voxel, far * 1.2e-7f);
    const float lowest = 8388608.0f, highest = 8388607.0f + here.medium.table.shape[0];
    const char* const rows = (const char*)(here.medium.table.data) - 0x4B000000LL * 16;
    auto drawn_depth = [&]() -> float { return -__logf(1.0f - wp::randf(random)); };
    auto entry_of = [&](float read) -> float4 {
        const float place = fminf(fmaxf(fmaf(read, to_row[0], to_row[1] + lowest), lowest), highest);
        return __ldg((const float4*)(rows + __float_as_uint(place) * 16ULL));
    };
    float t = ray.near, depth = drawn_depth(), majorant, leave;
    // Whether the path is in a cell where it may collide; else it has gone on beyond it.
    auto enter = [&]() -> bool {
        const float cx = fmaf(sx, t, ox), cy = fmaf(sy, t, oy), cz = fmaf(sz, t, oz);
        const int i = min(max((int)cx, 0), nx - 1), j = min(max((int)cy, 0), ny - 1), k = min(max((int)cz, 0), nz - 1);
        majorant = __ldg((const float*)here.cells.data + ((long long)k * ny + j) * nx + i);
        const float around = fmaxf(-majorant - 1.0f, 0.0f);
        const float bx = sx > 0.0f ? i + 1 + around : i - around, by = sy > 0.0f ? j + 1 + around : j - around;
        const float bz = sz > 0.0f ? k + 1 + around : k - around;
        const float tx = fabsf((bx - ox) * ix - t), ty = fabsf((by - oy) * iy - t), tz = fabsf((bz - oz) * iz - t);
        const float border = fminf(fminf(tx, ty), tz);
        leave = fminf(t + border + aside, far);
        if (majorant > 0.0f && depth < majorant * (leave - t)) return true;
        if (majorant > 0.0f) depth -= majorant * (leave - t);
        t = fmaxf(leave, t + aside);
        return false;
    };
    auto read_here = [&]() -> float {
        return tex3D<float>(texture, 8.0f * fmaf(sx, t, ox), 8.0f * fmaf(sy, t, oy), 8.0f * fmaf(sz, t, oz));
    };
    // Whether the cell holds another place to look at; else the path has gone on beyond it.
    auto goes_on = [&]() -> bool {
        if (depth < majorant * (leave - t)) return true;
        depth -= majorant * (leave - t);
        t = fmaxf(leave, t + aside);
        return false;
    };
"""


@wp.func_native(
    f"""
    wp::vec_t<5, wp::uint32> found;
#if defined(__CUDA_ARCH__)
{_WALK}
    found[0] = __float_as_uint(3.0e38f);
    while (t < far) {{
        if (!enter()) continue;
        do {{
            t += fmaxf(__fdividef(depth, majorant), t * 1.2e-7f);
            depth = drawn_depth();
            const float read = read_here();
            const float4 entry = entry_of(read);
            if (wp::randf(random) * majorant < entry.w) {{
                found[0] = __float_as_uint(t);
                found[1] = __float_as_uint(entry.x);
                found[2] = __float_as_uint(entry.y);
                found[3] = __float_as_uint(entry.z);
                t = far;
                break;
            }}
        }} while (goes_on());
    }}
    found[4] = random;
#endif
    return found;
"""
)
def walk_to_collision(here: TexturedMedium, ray: Ray, to_row: wp.vec2, random: wp.uint32) -> Met:
    """What media.collide finds. to_row: from what the hardware reads to a row of the table, a factor and what to
    add."""
    return Met()


@wp.func_native(
    f"""
#if defined(__CUDA_ARCH__)
{_WALK}
    float light = 1.0f;
    while (t < far && light > 0.0f) {{
        if (!enter()) continue;
        do {{
            t += fmaxf(__fdividef(depth, majorant), t * 1.2e-7f);
            depth = drawn_depth();
            light *= fmaxf(1.0f - __fdividef(entry_of(read_here()).w, majorant), 0.0f);
            if (light < faint) light = wp::randf(random) < survives ? light / survives : 0.0f;
        }} while (light > 0.0f && goes_on());
    }}
    wp::vec_t<2, wp::uint32> left;
    left[0] = __float_as_uint(light);
    left[1] = random;
    return left;
#else
    return wp::vec_t<2, wp::uint32>();
#endif
"""
)
def walk_through(
    here: TexturedMedium, ray: Ray, to_row: wp.vec2, random: wp.uint32, faint: wp.float32, survives: wp.float32
) -> Left:
    """What media.passes gives: the light, as bits, and the state of chance."""
    return Left()


@wp.func
def rows_of(here: TexturedMedium):
    medium = here.medium
    grid = medium.field.whole
    return wp.vec2(raw_scale(grid) * medium.value_scale, (raw_offset(grid) - medium.value_low) * medium.value_scale)


@wp.func
def collide_textured(here: TexturedMedium, path: PathRay, far: wp.float32, random: wp.uint32):
    """What media.collide gives."""
    ray = ray_inside(here.medium, path, far)
    met = walk_to_collision(here, ray, rows_of(here), random)
    found = Collision()
    found.distance = wp.cast(met[0], wp.float32)
    found.medium = wp.where(found.distance < far, 0, -1)
    found.at = ray.origin + ray.speed * found.distance
    found.color = wp.vec3(wp.cast(met[1], wp.float32), wp.cast(met[2], wp.float32), wp.cast(met[3], wp.float32))
    found.random = met[4]
    return found


@wp.func
def passes_textured(here: TexturedMedium, path: PathRay, random: wp.uint32):
    """What media.passes gives."""
    left = walk_through(here, ray_inside(here.medium, path, path.far), rows_of(here), random, FAINT, SURVIVES)
    return Passage(wp.cast(left[0], wp.float32), left[1])


@wp.func
def slope_textured(here: TexturedMedium, at: wp.vec3):
    """The gradient, per world unit."""
    return wp.transpose(here.medium.to_voxel) * texture_gradient(here.medium.field.whole, at)
