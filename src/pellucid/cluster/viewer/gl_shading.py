"""Custom shadings of the page that are OpenGL shaders.

Here: is_glsl; gl_fragment, the shader with its declared parameters; gl_uniforms; shading_error.
Not here: shadings in C++ and Python (rendering.user_shading), running shaders (compute.opengl).

A shading is a shader if it defines ``void main()``. Its parameters are declared as in other shadings, after ``//@``,
and are uniforms; ``value_range`` is the range of the transfer function.
"""

import re

from pellucid.cluster.compute.opengl.drawing import Uniforms
from pellucid.errors import InvalidInput, ShadingInvalid
from pellucid.rendering.scene import VolumeLayer
from pellucid.rendering.user_shading import CORRECT, UserShading

MAIN = re.compile(r"^\s*void\s+main\s*\(", re.MULTILINE)
FAULT = re.compile(r"Line (\d+) of the fragment shader: (.*)\.$", re.DOTALL)


def is_glsl(source: str) -> bool:
    return MAIN.search(source) is not None


def gl_fragment(shading: UserShading) -> str:
    """With the same numbers of lines."""
    declared = "".join(f"uniform {one.kind} {one.name}; " for one in shading.parameters)
    return f"uniform vec2 value_range; {declared}{shading.source}"


def gl_uniforms(shading: UserShading, layer: VolumeLayer) -> Uniforms:
    values = shading.values(dict(layer.parameters))
    chosen: Uniforms = {one.name: (value,) for one, value in zip(shading.parameters, values, strict=True)}
    low, high = layer.transfer.value_range
    return chosen | {"value_range": (float(low), float(high))}


def shading_error(error: InvalidInput) -> ShadingInvalid:
    """The error of a shader as one of a shading, for the editor to mark its line."""
    found = FAULT.search(error.what)
    if found is None:
        return ShadingInvalid(0, error.what.rstrip("."), remedy=CORRECT)
    return ShadingInvalid(int(found[1]), found[2], remedy=CORRECT)
