"""Users' shaders: compiled once for each text.

Here: GlPrograms; what every shader finds declared; errors at the user's own line.
Not here: drawing with them (drawing), what the uniforms mean for a camera (images.shader_images).
"""

import re
from collections import OrderedDict
from typing import TYPE_CHECKING

from pellucid.errors import InvalidInput
from pellucid.rendering.drawing.packing import NOTHING_THERE

if TYPE_CHECKING:
    from moderngl import Context, Program

MAX_PROGRAMS = 64
COMMON = """#version 330 core
uniform sampler3D block;
uniform vec3 block_shape, block_halo;
uniform float block_scale;
uniform vec2 image_size;
uniform mat4 voxel_to_clip;
uniform vec4 eye;
float voxel(vec3 at) {
    return block_scale * texture(block, (at + block_halo + 0.5) / (block_shape + 2.0 * block_halo)).r;
}
vec3 ray_through(vec3 at) { return normalize(at * eye.w - eye.xyz); }
vec3 entry(vec3 at, vec3 ray) {
    vec3 along = ray + vec3(equal(ray, vec3(0.0))) * 1e-6;
    vec3 back = max((at + 0.5) / along, (at - block_shape + 0.5) / along);
    float far = min(back.x, min(back.y, back.z));
    if (eye.w > 0.0) far = min(far, distance(at, eye.xyz));
    return at - far * ray;
}
"""
VERTEX = "in vec3 corner;\nout vec3 at;\n"
FRAGMENT = (
    "in vec3 at;\nlayout(location = 0) out vec4 color;\nlayout(location = 1) out float depth;\n#define main shade\n"
)
FRAGMENT_END = f"""
#undef main
void main() {{ color = vec4(0.0); depth = {NOTHING_THERE}; shade(); }}
"""
BOX = "void main() { at = corner * block_shape - 0.5; gl_Position = voxel_to_clip * vec4(at, 1.0); }\n"
"""The default vertex shader: the faces of the block."""
MESSAGE = re.compile(r"^(?:ERROR:\s*)?\d+[:(](\d+)[):]*(?:\(\d+\))?\s*:?\s*(?:error\s*\w*\s*:\s*)?(.*)$", re.MULTILINE)
STAGE = re.compile(r"^(vertex|fragment)_shader$", re.MULTILINE)


class GlPrograms:
    """By their text; errors too."""

    def __init__(self, context: "Context") -> None:
        self._context = context
        self._known: OrderedDict[tuple[str, str], Program | InvalidInput] = OrderedDict()

    def get(self, vertex: str, fragment: str) -> "Program":
        """InvalidInput names the line that does not compile."""
        key = vertex, fragment
        if key not in self._known:
            self._make_room()
            try:
                self._known[key] = self._compiled(vertex, fragment)
            except InvalidInput as error:
                self._known[key] = error
        self._known.move_to_end(key)
        found = self._known[key]
        if isinstance(found, InvalidInput):
            raise found
        return found

    def _make_room(self) -> None:
        while len(self._known) >= MAX_PROGRAMS:
            _, oldest = self._known.popitem(last=False)
            if not isinstance(oldest, InvalidInput):
                oldest.release()

    def _compiled(self, vertex: str, fragment: str) -> "Program":
        import moderngl

        before, shading = f"{COMMON}{VERTEX}#line 1\n", f"{COMMON}{FRAGMENT}#line 1\n{_plain(fragment)}{FRAGMENT_END}"
        try:
            return self._context.program(vertex_shader=before + _plain(vertex or BOX), fragment_shader=shading)
        except moderngl.Error as error:
            raise fault_of(str(error)) from error


def fault_of(messages: str) -> InvalidInput:
    """What a driver says of a shader, with the user's own line.

    >>> print(fault_of("GLSL Compiler failed\\n\\nfragment_shader\\n====\\n0:3(15): error: `x' undeclared\\n").what)
    Line 3 of the fragment shader: `x' undeclared.
    >>> print(fault_of("GLSL Compiler failed\\n\\nvertex_shader\\n====\\n0(2) : error C1503: no x\\n").what)
    Line 2 of the vertex shader: no x.
    """
    stage, found = STAGE.search(messages), MESSAGE.search(messages)
    if stage is None or found is None:
        text = " ".join(messages.split())[-500:]
        return InvalidInput(f"The shaders do not compile: {text}.", remedy="Correct them.")
    why = found[2].strip().rstrip(".")
    return InvalidInput(f"Line {found[1]} of the {stage[1]} shader: {why}.", remedy="Correct that line.")


def _plain(text: str) -> str:
    """Without a version of its own, with the same number of lines."""
    return re.sub(r"^\s*#\s*version\b.*$", "", text, count=1, flags=re.MULTILINE)
