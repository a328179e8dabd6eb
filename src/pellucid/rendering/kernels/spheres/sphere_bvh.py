"""The nearest sphere along a ray, found in a tree of boxes, near boxes first.

Here: the walk through the tree, as a native function for kernels.
Not here: making the tree (spheres), the image (spheres).

Warp's own query (bvh_query_ray) visits boxes in the order of the tree: seen from one side, spheres in front come first
and hide the rest; seen from the other, everything is visited (a million spheres on two cores: 0.3 s and 8.9 s). This
one reads the same nodes and always takes the nearer child first. It relies on Warp's layout of a node: two corners,
children or the range of items in ``i``, and whether it is a leaf in ``b``.
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.rendering.kernels.rays import ViewStruct, through_planes

wp.set_module_options({"fast_math": True})


@wp.struct
class PixelRay:
    """A pixel's ray in the world, unit length, and the part of it that is drawn."""

    eye: wp.vec3
    direction: wp.vec3
    near: wp.float32
    far: wp.float32


@wp.func
def pixel_ray(view: ViewStruct, row: wp.int32, column: wp.int32):
    """The ray of a pixel, up to what is drawn there already."""
    look = PixelRay()
    through = view.corner + view.across * wp.float32(column) + view.down * wp.float32(row)
    look.eye = view.eye
    look.direction = view.forward
    if view.is_perspective != 0:
        look.direction = wp.normalize(through)
    else:
        look.eye = through
    span = through_planes(view.planes, look.eye, look.direction, wp.vec2(0.0, view.scenery_depth[row, column]))
    look.near = span[0]
    look.far = span[1]
    return look


@wp.func
def sphere_distance(look: PixelRay, sphere: wp.vec4):
    """Where a ray that is known to meet a sphere enters it or, from within it, leaves it.

    The ray may just touch it: rounding, which differs from place to place, must not make a miss of that.
    """
    to_centre = wp.vec3(sphere[0], sphere[1], sphere[2]) - look.eye
    along = wp.dot(to_centre, look.direction)
    aside = to_centre - look.direction * along
    half = wp.sqrt(wp.max(sphere[3] * sphere[3] - wp.dot(aside, aside), 0.0))
    return wp.where(along - half >= look.near, along - half, along + half)


@wp.func_native(
    """
    const wp::BVH bvh = wp::bvh_get(tree);
    float inverse[3];
    for (int axis = 0; axis < 3; ++axis) {
        const float along = look.direction[axis];
        inverse[axis] = 1.0f / (wp::abs(along) > 1.0e-12f ? along : 1.0e-12f);
    }
    auto meets = [&](const wp::vec4& sphere) -> float {  // the distance of a sphere's near or, from within, far side
        const wp::vec3 to_centre = wp::vec3(sphere[0], sphere[1], sphere[2]) - look.eye;
        const float along = wp::dot(to_centre, look.direction);
        const wp::vec3 aside = to_centre - look.direction * along;
        const float inside = sphere[3] * sphere[3] - wp::dot(aside, aside);
        if (inside < 0.0f) return 3.0e38f;
        const float half = wp::sqrt(inside);
        if (along - half >= look.near) return along - half;
        return along + half >= look.near ? along + half : 3.0e38f;
    };
    auto enters = [&](int node) -> float {  // the distance at which the ray enters a node's box
        const auto low = wp::bvh_load_node(bvh.node_lowers, node), high = wp::bvh_load_node(bvh.node_uppers, node);
        const float ax = (low.x - look.eye[0]) * inverse[0], bx = (high.x - look.eye[0]) * inverse[0];
        const float ay = (low.y - look.eye[1]) * inverse[1], by = (high.y - look.eye[1]) * inverse[1];
        const float az = (low.z - look.eye[2]) * inverse[2], bz = (high.z - look.eye[2]) * inverse[2];
        const float in = wp::max(wp::max(wp::min(ax, bx), wp::min(ay, by)), wp::max(wp::min(az, bz), look.near));
        const float out = wp::min(wp::min(wp::max(ax, bx), wp::max(ay, by)), wp::max(az, bz));
        return in <= out ? in : 3.0e38f;
    };
    constexpr int most = 64;  // twice the depth that Warp's own queries allow
    int nodes[most];
    float distances[most];
    int count = 0, found = -1;
    float nearest = look.far;
    auto push = [&](int node, float distance) {
        if (distance < nearest && count < most) { nodes[count] = node; distances[count++] = distance; }
    };
    push(*bvh.root, enters(*bvh.root));
    while (count > 0) {
        if (distances[--count] >= nearest) continue;
        const auto low = wp::bvh_load_node(bvh.node_lowers, nodes[count]);
        const auto high = wp::bvh_load_node(bvh.node_uppers, nodes[count]);
        if (!low.b) {
            const float left = enters(low.i), right = enters(high.i);
            push(left > right ? low.i : high.i, left > right ? left : right);
            push(left > right ? high.i : low.i, left > right ? right : left);
            continue;
        }
        for (int at = low.i; at < (int)(high.i); ++at) {
            const int candidate = bvh.primitive_indices[at];
            const float distance = meets(spheres.data[candidate]);
            if (distance < nearest) { nearest = distance; found = candidate; }
        }
    }
    return found;
"""
)
def nearest_sphere(tree: wp.uint64, look: PixelRay, spheres: wp.array(dtype=wp.vec4)) -> wp.int32:
    """The index of the nearest sphere (x, y, z, radius) along a ray; -1 where there is none."""
    return 0
