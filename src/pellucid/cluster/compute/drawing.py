"""A block drawn where it is.

Here: draw_block, the computation "draw": what the rays of an image gather in a block.
Not here: the renderer (rendering), images put together (compositing), which block is where (images.placement).
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pellucid.box import Box, Shape, triple
from pellucid.cluster.compute.registry import BlockView, ComputeContext
from pellucid.cluster.images.placement import BlockPlace, within
from pellucid.dataclass_json import from_json
from pellucid.device import LaunchRange
from pellucid.errors import InvalidInput
from pellucid.fields.dense import DenseField
from pellucid.fields.device_field import DeviceField
from pellucid.formats.protocol import Spacing, Voxels
from pellucid.rendering.drawing.device_renderer import DeviceRenderer
from pellucid.rendering.drawing.draw_pass import DrawRegion
from pellucid.rendering.drawing.packing import SubpixelOffset
from pellucid.rendering.scene import Scene, VolumeLayer
from pellucid.volume.volume import Volume

CHANNELS = 5
"""Of an image of a block: colour multiplied by opacity, opacity, and depth."""
MAX_FIELDS = 256


@dataclass(frozen=True)
class DrawRequest:
    """scene: as JSON; its volumes are those of the blocks, in this order. size: of the image; first_row: of the image,
    which the result begins with. start: the first voxel of the blocks in their volumes. keys: name the
    voxels of the blocks; the same key means the same voxels. across, down, jitter: as in SubpixelOffset. shadings: the
    text of users' shadings that the scene names."""

    scene: str
    size: tuple[int, int]
    first_row: int
    start: Shape
    shape: Shape
    spacing: Spacing
    keys: tuple[str, ...]
    across: float = 0.0
    down: float = 0.0
    jitter: float = 0.0
    shadings: tuple[str, ...] = ()

    def box(self, view: BlockView) -> Box:
        """Where the block is in the volume."""
        return Box.whole(view.shape).shift(self.start)

    def outer_start(self, view: BlockView) -> Shape:
        return triple(a - h for a, h in zip(self.start, view.halo, strict=True))


@dataclass
class _Drawer:
    """What stays from one image to the next. fields: by key, those used last at the end."""

    renderer: DeviceRenderer
    fields: "OrderedDict[str, DeviceField]" = field(default_factory=OrderedDict)

    def get(self, key: str, view: BlockView, inside: Box, spacing: Spacing) -> DeviceField:
        """inside: what of the array with its halo is in the volume."""
        found = self.fields.pop(key, None)
        if found is None:
            voxels = _outer(view)[inside.slices]
            found = DenseField(Volume.from_array(voxels, spacing), self.renderer.device)
            self.renderer.add_field(key, found)
        self.fields[key] = found
        return found

    def make_room(self, kept: int) -> None:
        while len(self.fields) > max(kept, MAX_FIELDS):
            self.renderer.forget(self.fields.popitem(last=False)[0])


def draw_block(
    context: ComputeContext, arguments: dict[str, Any], inputs: Sequence[BlockView], output: BlockView | None
) -> None:
    """inputs: a block of each volume of the scene."""
    request: DrawRequest = from_json(DrawRequest, arguments, "draw")
    scene = Scene.from_json(request.scene)
    if output is None or not len(inputs) == len(scene.volumes) == len(request.keys):
        raise InvalidInput("A scene needs one block for each of its volumes.", remedy="Pass as many blocks.")
    if "drawer" not in context.state:
        context.state["drawer"] = _Drawer(DeviceRenderer(context.device))
    drawer: _Drawer = context.state["drawer"]
    for text in request.shadings:
        drawer.renderer.add_shading(text)  # Compiled once.
    fields, layers = [], []
    for layer, view, key in zip(scene.volumes, inputs, request.keys, strict=True):
        outer = within(request.box(view), view.halo, request.shape)
        fields.append(drawer.get(key, view, outer.relative_to(request.outer_start(view)), request.spacing))
        layers.append(_placed(layer, request, outer, key))
    part = BlockPlace(request.box(inputs[0]), request.shape, request.spacing, scene.volumes[0].transform).part
    aim = SubpixelOffset(request.across, request.down, request.jitter)
    canvas = DrawRegion(request.size, aim, part)
    _draw(drawer.renderer, replace(scene, volumes=tuple(layers)), fields, canvas, output, request.first_row)
    drawer.make_room(len(fields))


def _placed(layer: VolumeLayer, request: DrawRequest, outer: Box, key: str) -> VolumeLayer:
    """The layer for an array of which the first voxel is at outer.start in the volume."""
    clip = None if layer.clip is None else layer.clip.intersect(outer).relative_to(outer.start)
    whole = BlockPlace(outer, request.shape, request.spacing, layer.transform)
    return replace(layer, source=key, transform=whole.moved(outer.start), clip=clip)


def _draw(
    renderer: DeviceRenderer, scene: Scene, fields: list[DeviceField], canvas: DrawRegion, output: BlockView, first: int
) -> None:
    from pellucid.cluster.compute import image_kernels

    for one in fields:
        one.prepare_frame()
    drawing = renderer.start_pass(scene, fields, canvas)
    rows, width, _ = output.shape
    drawing.draw(LaunchRange((rows, width), first))
    image_kernels.pack_image(drawing, first, output)


def _outer(view: BlockView) -> Voxels:
    outer: Voxels = view.outer if isinstance(view.outer, np.ndarray) else view.outer.numpy()
    return outer
