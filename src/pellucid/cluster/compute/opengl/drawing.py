"""Images that users' shaders make of blocks.

Here: start_gl, check_gl and draw_gl, the computations of these names.
Not here: what programs call (cluster.shaders), the renderer's own images of blocks (compute.drawing).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.cluster.compute.opengl.context import GlReport, open_context
from pellucid.cluster.compute.opengl.programs import GlPrograms
from pellucid.cluster.compute.opengl.textures import BlockTextures, GlTransfer
from pellucid.cluster.compute.registry import BlockView, ComputeContext
from pellucid.dataclass_json import from_json
from pellucid.device import Device, synchronize
from pellucid.errors import InvalidInput
from pellucid.rendering.drawing.packing import NOTHING_THERE

if TYPE_CHECKING:
    from moderngl import Framebuffer, Program, Texture

CHANNELS = 5
"""Of an image: colour multiplied by opacity, opacity, and depth."""
FACES = ((0, 4, 6, 2), (1, 3, 7, 5), (0, 1, 5, 4), (2, 6, 7, 3), (0, 2, 3, 1), (4, 5, 7, 6))
"""Of a box, counter-clockwise from outside; bits of a corner's number are its x, y and z."""
Uniforms = dict[str, tuple[float, ...]]


@dataclass(frozen=True)
class GlUniform:
    """Numbers of a shader, by name; a matrix column by column."""

    name: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class GlRequest:
    """vertex: "" draws the faces of the block. size: (height, width) of the image, of which the output has some rows
    from first_row on. uniforms: numbers by name. key: names the voxels of the block; "" where no one knows them."""

    fragment: str
    vertex: str = ""
    size: tuple[int, int] = (512, 512)
    first_row: int = 0
    uniforms: tuple[GlUniform, ...] = ()
    key: str = ""

    @property
    def numbers(self) -> Uniforms:
        """By name."""
        return {one.name: one.values for one in self.uniforms}


class OpenGl:
    """What stays in a Worker's child from one image to the next."""

    def __init__(self, device: Device) -> None:
        self.context = open_context(device)
        self.transfer = GlTransfer(self.context, device)
        self.programs = GlPrograms(self.context)
        self.textures = BlockTextures(self.context, self.transfer)
        self._corners = self.context.buffer(_corners().tobytes())
        self.images: list[Texture] = []
        self._target: Framebuffer | None = None

    @classmethod
    def of(cls, context: ComputeContext) -> "OpenGl":
        if "opengl" not in context.state:
            context.state["opengl"] = cls(context.device)
        found: OpenGl = context.state["opengl"]
        return found

    @property
    def report(self) -> GlReport:
        facts = self.context.info
        return GlReport(facts["GL_RENDERER"], facts["GL_VERSION"], self.transfer.path)

    def target(self, rows: int, width: int) -> "Framebuffer":
        """A colour and a depth for every pixel of some rows."""
        if self._target is None or self._target.size != (width, rows):
            self._release_target()
            self.images = [self.context.texture((width, rows), parts, dtype="f4") for parts in (4, 1)]
            self._target = self.context.framebuffer(self.images)
        return self._target

    def draw(self, program: "Program") -> None:
        """The faces of a box."""
        if "corner" in program:
            array = self.context.vertex_array(program, [(self._corners, "3f4", "corner")])
        else:
            array = self.context.vertex_array(program, [])
        array.render(vertices=36)
        array.release()

    def _release_target(self) -> None:
        if self._target is not None:
            for image in self.images:
                image.release()
            self._target.release()


def start_gl(
    context: ComputeContext, arguments: dict[str, Any], inputs: Sequence[BlockView], output: BlockView | None
) -> dict[str, str]:
    """What OpenGL is here."""
    return OpenGl.of(context).report.facts


def check_gl(
    context: ComputeContext, arguments: dict[str, Any], inputs: Sequence[BlockView], output: BlockView | None
) -> None:
    """Compile shaders; InvalidInput names the line of an error."""
    request: GlRequest = from_json(GlRequest, arguments, "check_gl")
    OpenGl.of(context).programs.get(request.vertex, request.fragment)


def draw_gl(
    context: ComputeContext, arguments: dict[str, Any], inputs: Sequence[BlockView], output: BlockView | None
) -> None:
    """inputs: one block, with or without halo."""
    request: GlRequest = from_json(GlRequest, arguments, "draw_gl")
    if output is None or len(inputs) != 1 or output.shape[2] != CHANNELS:
        raise InvalidInput("Shaders need one block, and make one image.", remedy="Begin the chain with a block.")
    synchronize(context.device)
    gl, (rows, width, _) = OpenGl.of(context), output.shape
    program = gl.programs.get(request.vertex, request.fragment)
    texture, scale = gl.textures.get(request.key, inputs[0])
    target = gl.target(rows, width)
    target.use()
    gl.context.clear(0.0, 0.0, 0.0, 0.0)
    gl.images[1].write(np.full(rows * width, NOTHING_THERE, np.float32).data.cast("B"))
    height = request.size[0]
    target.viewport = (0, request.first_row + rows - height, width, height)
    texture.use(0)
    _set_uniforms(program, _facts(request, inputs[0], scale) | request.numbers)
    _cull(gl, request)
    gl.draw(program)
    gl.context.finish()
    gl.transfer.to_block([(target, 0, 4), (target, 1, 1)], output)


def _facts(request: GlRequest, view: BlockView, scale: float) -> Uniforms:
    """Uniforms that every shader has."""
    shape, halo = (tuple(map(float, edges[::-1])) for edges in (view.shape, view.halo))
    height, width = request.size
    return {
        "block": (0,), "block_shape": shape, "block_halo": halo, "block_scale": (scale,),
        "image_size": (float(width), float(height)),
    }  # fmt: skip


def _set_uniforms(program: "Program", uniforms: Uniforms) -> None:
    """Those that the shaders use; the others are for shaders that will take their place."""
    for name, values in uniforms.items():
        found: Any = program.get(name, None)
        if found is None:
            continue
        numbers = tuple(map(int, values)) if getattr(found, "fmt", "f")[-1:] in "iIu" else tuple(values)
        try:
            found.value = numbers if len(numbers) > 1 else numbers[0]
        except Exception as error:  # Of several classes, by what does not fit.
            what = f"The uniform {name!r} of the shaders does not take {len(values)} numbers: {error}."
            raise InvalidInput(what, remedy="Pass as many numbers as its type has.") from error


def _cull(gl: OpenGl, request: GlRequest) -> None:
    """Of the box, only faces at which rays leave it: each pixel is drawn once, also with the eye inside."""
    import moderngl

    matrix = np.array(request.numbers.get("voxel_to_clip", ()), float)
    if request.vertex or matrix.size != 16:
        gl.context.disable(moderngl.CULL_FACE)
        return
    columns = matrix.reshape(4, 4).T
    # Of a perspective, the last row has the depth; of parallel rays, the third.
    last = columns[3] if np.any(columns[3, :3]) else columns[2]
    is_mirrored = np.linalg.det(np.stack([columns[0], columns[1], last])[:, :3]) > 0
    gl.context.enable(moderngl.CULL_FACE)
    gl.context.cull_face = "back" if is_mirrored else "front"


def _corners() -> np.ndarray[Any, Any]:
    """Two triangles for every face of the unit box."""
    order = [face[i] for face in FACES for i in (0, 1, 2, 0, 2, 3)]
    return np.array([[(n >> axis) & 1 for axis in range(3)] for n in order], np.float32)
