"""Light that goes from block to block.

Here: follow_light, the computation "light": what a block leaves of the light on each line to it; multiply_light, what
several blocks leave together.
Not here: which blocks are nearer to the light (images.light), the lines (rendering.drawing.light_parts).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pellucid.cluster.compute.drawing import BlockDrawer, DrawnBlocks, DrawRequest
from pellucid.cluster.compute.registry import BlockView, ComputeContext
from pellucid.dataclass_json import from_json
from pellucid.device import LaunchRange, launch, synchronize
from pellucid.errors import InvalidInput
from pellucid.rendering.drawing.light_parts import LightLines
from pellucid.rendering.drawing.packing import world_step


@dataclass(frozen=True)
class MultiplyRequest:
    """lines: those of the result; inputs: those of each input."""

    lines: LightLines
    inputs: tuple[LightLines, ...]


def follow_light(
    context: ComputeContext, arguments: dict[str, Any], inputs: Sequence[BlockView], output: BlockView | None
) -> None:
    """inputs: a block of the only volume of the scene."""
    from pellucid.cluster.compute.kernels import as_warp
    from pellucid.cluster.compute.light_kernels import light_through_part

    request: DrawRequest = from_json(DrawRequest, arguments, "light")
    drawer = BlockDrawer.of(context)
    blocks = DrawnBlocks.of(request, inputs, drawer)
    light = blocks.light(request, 0)
    if output is None or light is None:
        raise InvalidInput("Following light needs a part and a result.", remedy="Use draw_blocks.")
    (layer,), (field,) = blocks.scene.volumes, blocks.fields
    field.prepare_frame()
    packed = drawer.lights.layer(blocks.scene, layer, field, world_step(blocks.scene, blocks.fields))
    light.pack(packed)
    target = as_warp(output.outer, context.device.name)
    launch(light_through_part, LaunchRange(output.shape[1:]), [packed], [target], context.device)
    synchronize(context.device)
    drawer.make_room(1)


def multiply_light(
    context: ComputeContext, arguments: dict[str, Any], inputs: Sequence[BlockView], output: BlockView | None
) -> None:
    """inputs: what single blocks leave of the light."""
    from pellucid.cluster.compute.kernels import as_warp
    from pellucid.cluster.compute.light_kernels import multiplied

    request: MultiplyRequest = from_json(MultiplyRequest, arguments, "multiply_light")
    if output is None or len(request.inputs) != len(inputs):
        raise InvalidInput("Every input needs its lines.", remedy="Pass as many lines as inputs.")
    name = context.device.name
    target = as_warp(output.outer, name)
    target.fill_(1.0)
    for view, lines in zip(inputs, request.inputs, strict=True):
        column, row = (a - b for a, b in zip(request.lines.first, lines.first, strict=True))
        given = [as_warp(view.outer, name), row, column]
        launch(multiplied, LaunchRange(output.shape[1:]), given, [target], context.device)
    synchronize(context.device)
