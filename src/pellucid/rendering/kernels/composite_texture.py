"""One volume in a hardware texture, front to back, on CUDA alone.

Here: the kernels that draw it, unlit, lit by the gradient, and with light followed through it: as fast as a ray caster
written by hand for one texture.
Not here: volumes in plain memory, transfer functions of two axes, labels, surfaces that are seen through (composite);
light through a volume that is whole (textured.composite).

A ray goes on without asking as long as all cells ahead are visible (of a volume in bricks: to the border of the brick),
and fetches four samples before it looks at the first, so that their ways through the texture unit overlap. The pixels
of a block of threads are a tile, so that they read the same voxels.
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

from typing import Any

import warp as wp

from pellucid.fields.kernels.sampling import FieldStruct, Grid, locate
from pellucid.fields.sizes import BRICK, BRICK_SHIFT, CELL
from pellucid.fields.textures.texture_kernels import raw_offset, raw_scale, texture_at, texture_gradient
from pellucid.rendering.kernels.accumulation import OPAQUE, Accumulated, over_opaque, seen_before
from pellucid.rendering.kernels.light_rays import FoundLight, keep_light
from pellucid.rendering.kernels.rays import FAR, LayerStruct, Ray, ViewStruct, cell_of, first_beyond, make_ray, place
from pellucid.rendering.kernels.shading import GRADIENT, light_on, lit_along, needs_gradient, shaded_along

wp.set_module_options({"fast_math": True})

TILE = 8
"""Pixels along the edge of a tile."""

THREADS = wp.constant(TILE * TILE)
WITNESS = wp.constant(27)
"""The thread that records, for two by two tiles, which bricks of a whole volume are seen."""

SMALL_IMAGE = wp.constant(65536)
"""Pixels below which every thread records it."""

CELLS = wp.constant(BRICK // CELL)
WIDTH = wp.constant(float(BRICK))
FAINT = wp.constant(1.0 - float(OPAQUE))

State = wp.types.vector(length=5, dtype=wp.float32)
"""What a ray has gathered: red, green, blue, the part of the light behind that still comes through, and the depth."""


@wp.struct
class Run:
    """Samples from k to before end, along a way through a texture: origin + speed * distance in its coordinates.

    scale, offset: from what the hardware reads to a place among the rows of the table.
    """

    texture: wp.uint64
    origin: wp.vec3
    speed: wp.vec3
    scale: wp.float32
    offset: wp.float32
    jitter: wp.float32
    step: wp.float32
    k: wp.int32
    end: wp.int32


# A row is a float between 2^23 and 2^24, whose last bits are the row's number: no conversion is needed. NaN is drawn
# like the lowest value.
_ENTRY = """
    const float lowest = 8388608.0f, highest = 8388607.0f + table.shape[0];
    const char* rows = (const char*)(table.data) - 0x4B000000LL * 16;
    auto entry_of = [&](float read) -> float4 {
        const float place = fminf(fmaxf(fmaf(read, run.scale, run.offset + lowest), lowest), highest);
        return __ldg((const float4*)(rows + __float_as_uint(place) * 16ULL));
    };
    auto distance_of = [&](float k) -> float { return fmaf(k, run.step, run.jitter * run.step); };
"""


@wp.func_native(
    """
#if defined(__CUDA_ARCH__)
"""
    + _ENTRY
    + """
    float red = before[0], green = before[1], blue = before[2], light = before[3], depth = before[4];
    auto fetch = [&](float k) -> float4 {
        const float t = distance_of(k);
        return entry_of(tex3D<float>(run.texture, fmaf(run.speed[0], t, run.origin[0]),
                                     fmaf(run.speed[1], t, run.origin[1]), fmaf(run.speed[2], t, run.origin[2])));
    };
    auto add = [&](const float4& entry) {
        const float weight = light * entry.w;
        red = fmaf(entry.x, weight, red);
        green = fmaf(entry.y, weight, green);
        blue = fmaf(entry.z, weight, blue);
        light -= weight;
    };
    auto look_and_add = [&](const float4& entry, float k) {
        if (light <= faint) return;
        const bool was_near = light > 0.5f;
        add(entry);
        if (was_near && light <= 0.5f) depth = distance_of(k);
    };
    int k = run.k;
    for (; k + 4 <= run.end && light > faint; k += 4) {
        const float n = k;
        const float4 a = fetch(n), b = fetch(n + 1.0f), c = fetch(n + 2.0f), d = fetch(n + 3.0f);
        const float r = red, g = green, bl = blue, l = light;
        add(a); add(b); add(c); add(d);
        if (light <= faint || (l > 0.5f && light <= 0.5f)) {  // seldom: where exactly?
            red = r; green = g; blue = bl; light = l;
            look_and_add(a, n); look_and_add(b, n + 1.0f); look_and_add(c, n + 2.0f); look_and_add(d, n + 3.0f);
        }
    }
    for (; k < run.end && light > faint; ++k) look_and_add(fetch(k), k);
    wp::vec_t<5, wp::float32> after;
    after[0] = red; after[1] = green; after[2] = blue; after[3] = light; after[4] = depth;
    return after;
#else
    return before;
#endif
"""
)
def add_unlit(run: Run, before: State, table: wp.array(dtype=wp.vec4), faint: wp.float32) -> State:
    """What a ray has gathered after a run of samples."""
    return State()


@wp.func_native(
    f"""
#if defined(__CUDA_ARCH__)
{_ENTRY}
    const float4 entry = entry_of(read);
    return wp::vec4(entry.x, entry.y, entry.z, entry.w);
#else
    return wp::vec4();
#endif
"""
)
def entry_at(run: Run, read: wp.float32, table: wp.array(dtype=wp.vec4)) -> wp.vec4:
    """Colour and opacity for what the hardware read."""
    return wp.vec4()


@wp.func
def add_color(state: State, color: wp.vec3, opacity: wp.float32, distance: wp.float32):
    """What a ray has gathered after one more sample."""
    weight = state[3] * opacity
    if state[3] > 0.5 and state[3] - weight <= 0.5:
        state[4] = distance
    state[0] = state[0] + color[0] * weight
    state[1] = state[1] + color[1] * weight
    state[2] = state[2] + color[2] * weight
    state[3] = state[3] - weight
    return state


@wp.func
def over_scenery(state: State, scenery: wp.vec4):
    """What a ray has gathered, and behind it what was drawn before."""
    gathered = Accumulated()
    gathered.color = wp.vec3(state[0], state[1], state[2])
    gathered.opacity = 1.0 - state[3]
    return over_opaque(gathered, scenery)


@wp.func
def unlit_run(layer: LayerStruct, here: Grid, ray: Ray, run: Run, state: State, found: FoundLight):
    return add_unlit(run, state, layer.table, FAINT), found


@wp.func
def lit_run(layer: LayerStruct, here: Grid, ray: Ray, run: Run, state: State, found: FoundLight):
    """The same, each visible sample lit by its gradient."""
    k = run.k
    while k < run.end and state[3] > FAINT:
        distance = wp.float32(k) * run.step + run.jitter * run.step
        entry = entry_at(run, texture_at(run.texture, run.origin + run.speed * distance), layer.table)
        if entry[3] > 0.0:
            color = wp.vec3(entry[0], entry[1], entry[2])
            if layer.shading == GRADIENT:
                slope = texture_gradient(here, ray.origin + ray.speed * distance)
                color = lit_along(layer, slope, ray.direction, color, 1.0)
            state = add_color(state, color, entry[3], distance)
        k += 1
    return state, found


@wp.func
def lit_through_run(layer: LayerStruct, here: Grid, ray: Ray, run: Run, state: State, found: FoundLight):
    """The same, in the light that comes through the volume to each visible sample."""
    k = run.k
    while k < run.end and state[3] > FAINT:
        distance = wp.float32(k) * run.step + run.jitter * run.step
        entry = entry_at(run, texture_at(run.texture, run.origin + run.speed * distance), layer.table)
        if entry[3] > 0.0:
            at = ray.origin + ray.speed * distance
            found = light_on(found, layer, ray.direction, at, entry[3] * state[3])
            slope = wp.vec3()
            if needs_gradient(layer):
                slope = texture_gradient(here, at)
            base = wp.vec3(entry[0], entry[1], entry[2])
            state = add_color(state, shaded_along(layer, slope, ray.direction, base, found), entry[3], distance)
        k += 1
    return state, found


@wp.func
def leaves_brick(ray: Ray, at: wp.vec3, cell: wp.vec3i):
    """How far in world units from a point along the ray to the border of its brick."""
    distance = wp.float32(FAR)
    for axis in range(3):
        border = wp.float32(cell[axis] // CELLS) * WIDTH - 0.5
        if ray.speed[axis] > 1.0e-12:
            distance = wp.min(distance, (border + WIDTH - at[axis]) / ray.speed[axis])
        elif ray.speed[axis] < -1.0e-12:
            distance = wp.min(distance, (border - at[axis]) / ray.speed[axis])
    return distance


@wp.func
def brick_end(ray: Ray, step: wp.float32, k: wp.int32, cell: wp.vec3i):
    """The first sample after k that may lie in another brick."""
    distance = (wp.float32(k) + ray.jitter) * step
    border = distance + leaves_brick(ray, ray.origin + ray.speed * distance, cell)
    return wp.max(k + 1, wp.int32(wp.ceil(border / step - ray.jitter - 1.0e-3)))


@wp.func
def make_run(layer: LayerStruct, here: Grid, ray: Ray, step: wp.float32, k: wp.int32, end: wp.int32):
    run = Run()
    run.texture = here.voxels
    run.origin = wp.cw_mul(ray.origin, here.scale) + here.shift
    run.speed = wp.cw_mul(ray.speed, here.scale)
    run.scale = raw_scale(here) * layer.value_scale
    run.offset = (raw_offset(here) - layer.value_low) * layer.value_scale
    run.jitter = ray.jitter
    run.step = step
    run.k = k
    run.end = end
    return run


@wp.func
def share_of(thread: wp.int32, down: wp.int32, across: wp.int32, pixels: wp.int32):
    """For how many rays a thread records what it sees of a whole volume: mostly for none."""
    if pixels < SMALL_IMAGE:
        return wp.float32(1.0)
    if thread == WITNESS and down % 2 == 0 and across % 2 == 0:
        return wp.float32(4 * THREADS)
    return wp.float32(0.0)


@wp.func
def record_seen(field: FieldStruct, ray: Ray, step: wp.float32, k: wp.int32, end: wp.int32, light: wp.vec2):
    """Which bricks of a whole volume a run of samples saw; light: what came through before the run and after it."""
    across = (field.shape[0] + BRICK - 1) >> BRICK_SHIFT
    down = (field.shape[1] + BRICK - 1) >> BRICK_SHIFT
    n = wp.int32(k)
    while n < end:
        at = place(ray, step, n)
        cell = wp.vec3i()
        for axis in range(3):
            cell[axis] = wp.clamp(wp.int32(at[axis] + 0.5) // CELL, 0, (field.shape[axis] - 1) // CELL)
        stop = wp.min(brick_end(ray, step, n, cell), end)
        there = wp.lerp(light[0], light[1], wp.float32(n - k) / wp.float32(end - k))
        x = cell[0] // CELLS
        y = cell[1] // CELLS
        z = cell[2] // CELLS
        wp.atomic_add(field.wanted, (z * down + y) * across + x, wp.float32(stop - n) * there)
        n = stop


def composite_textured_with(add_run: Any, blocks: int, locate: Any = locate, **own: Any) -> Any:
    """The kernel with the function that adds a run of samples. blocks: on a multiprocessor, which bounds registers."""

    @wp.kernel(enable_backward=False, launch_bounds=(TILE * TILE, blocks), **own)
    def composite_textured(
        first: wp.int32,
        view: ViewStruct,
        layer: LayerStruct,
        solidity: wp.array3d(dtype=wp.uint8),
        rows: wp.vec2i,
        color: wp.array2d(dtype=wp.vec4),
        depth: wp.array2d(dtype=wp.float32),
    ):
        """solidity: from every visible cell, how many cells to the nearest in which nothing is visible; rows: of the
        image, from the first to before the second."""
        down, across, thread = wp.tid()
        row = rows[0] + (down + first) * TILE + thread // TILE
        column = across * TILE + thread % TILE
        if row >= rows[1] or column >= color.shape[1]:
            return
        ray = make_ray(view, layer, row, column)
        gathered = seen_before(view, row, column)
        state = State(gathered.color[0], gathered.color[1], gathered.color[2], 1.0 - gathered.opacity, gathered.depth)
        found = gathered.light
        is_whole = layer.field.levels.shape[0] == 0
        share = share_of(thread, down + first, across, color.shape[0] * color.shape[1])
        k = ray.k_first
        while k <= ray.k_last and state[3] > FAINT:
            cell = cell_of(place(ray, view.step, k), layer.vacancy)
            vacancy = wp.int32(layer.vacancy[cell[2], cell[1], cell[0]])
            if vacancy > 0:
                k = first_beyond(ray, view.step, k, cell, vacancy)
            else:
                end = first_beyond(ray, view.step, k, cell, wp.int32(solidity[cell[2], cell[1], cell[0]]))
                weight = wp.float32(0.0)
                if not is_whole:
                    end = wp.min(end, brick_end(ray, view.step, k, cell))
                    weight = state[3] * wp.float32(end - k)
                here = locate(layer.field, cell, weight)
                light = state[3]
                run = make_run(layer, here, ray, view.step, k, end)
                state, found = add_run(layer, here, ray, run, state, found)
                if is_whole and share > 0.0:
                    record_seen(layer.field, ray, view.step, k, end, wp.vec2(light, state[3]) * share)
                k = end
        keep_light(view, row, column, found)
        color[row, column] = over_scenery(state, view.scenery[row, column])
        depth[row, column] = wp.min(state[4], ray.end)

    return composite_textured


composite_unlit = composite_textured_with(unlit_run, 12)
composite_lit = composite_textured_with(lit_run, 12)
composite_lit_through = composite_textured_with(lit_through_run, 6)
