"""Light on a surface, as kernels see it.

Here: how bright a surface is that has a normal.
Not here: normals (of volumes: kernels; of spheres and meshes: surface_kernels).
"""

# mypy: ignore-errors
# What a kernel says is Warp's language, which a checker of Python's types cannot follow.

import warp as wp

from pellucid.rendering.rays import Light

wp.set_module_options({"fast_math": True})


@wp.func
def lit_surface(light: Light, normal: wp.vec3, direction: wp.vec3, base: wp.vec3):
    """Blinn-Phong, both sides alike. normal, direction (of the ray): unit length."""
    towards = light.towards
    if light.is_headlight != 0:
        towards = -direction
    half = wp.normalize(towards - direction)
    brightness = light.ambient + light.diffuse * wp.abs(wp.dot(normal, towards))
    shine = light.specular * wp.pow(wp.abs(wp.dot(normal, half)), light.shininess)
    return base * brightness + wp.vec3(shine, shine, shine)
