"""A block drawn where it is.

Here: draw_block, the computation "draw": what the rays of an image gather in a block; BlockDrawer and DrawnBlocks,
which light uses too.
Not here: the renderer (rendering), images put together (compositing), which block is where (images.placement), light
that goes from block to block (light).
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
from pellucid.rendering.drawing.layer_cache import PackedLayerCache
from pellucid.rendering.drawing.light_parts import LightPart, PartLight, light_halo
from pellucid.rendering.drawing.light_rays import towards_light
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
    text of users' shadings that the scene names. part: where light comes through other blocks, the part of this one;
    shadowed: the numbers of the volumes for which it does."""

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
    part: LightPart | None = None
    shadowed: tuple[int, ...] = ()

    def box(self, view: BlockView) -> Box:
        """Where the block is in the volume."""
        return Box.whole(view.shape).shift(self.start)

    def outer_start(self, view: BlockView) -> Shape:
        return triple(a - h for a, h in zip(self.start, view.halo, strict=True))


@dataclass
class BlockDrawer:
    """What stays from one image to the next. fields: by key, those used last at the end. lights: layers, as light needs
    them."""

    renderer: DeviceRenderer
    fields: "OrderedDict[str, DeviceField]" = field(default_factory=OrderedDict)
    lights: PackedLayerCache = field(default_factory=PackedLayerCache)

    @classmethod
    def of(cls, context: ComputeContext) -> "BlockDrawer":
        """That of this process."""
        if "drawer" not in context.state:
            context.state["drawer"] = cls(DeviceRenderer(context.device))
        drawer: BlockDrawer = context.state["drawer"]
        return drawer

    def get(self, key: str, view: BlockView, inside: Box, request: DrawRequest) -> DeviceField:
        """inside: what of the array with its halo is in the volume."""
        found = self.fields.pop(key, None)
        if found is None:
            voxels = _outer(view)[inside.slices]
            found = DenseField(Volume.from_array(voxels, request.spacing), self.renderer.device)
            found.whole_shape = request.shape
            self.renderer.add_field(key, found)
        self.fields[key] = found
        return found

    def make_room(self, kept: int) -> None:
        while len(self.fields) > max(kept, MAX_FIELDS):
            self.renderer.forget(self.fields.popitem(last=False)[0])


@dataclass(frozen=True)
class DrawnBlocks:
    """The blocks of a request as volumes of a scene. starts: of their arrays in the volume."""

    scene: Scene
    fields: list[DeviceField]
    starts: list[Shape]

    @classmethod
    def of(cls, request: DrawRequest, inputs: Sequence[BlockView], drawer: BlockDrawer) -> "DrawnBlocks":
        scene = Scene.from_json(request.scene)
        if not len(inputs) == len(scene.volumes) == len(request.keys):
            raise InvalidInput("A scene needs one block for each of its volumes.", remedy="Pass as many blocks.")
        fields, layers, starts = [], [], []
        for layer, view, key in zip(scene.volumes, inputs, request.keys, strict=True):
            _check_halo(layer, view, request)
            outer = within(request.box(view), view.halo, request.shape)
            fields.append(drawer.get(key, view, outer.relative_to(request.outer_start(view)), request))
            layers.append(_placed(layer, request, outer, key))
            starts.append(outer.start)
        return cls(replace(scene, volumes=tuple(layers)), fields, starts)

    def light(self, request: DrawRequest, number: int, beyond: Any = None) -> PartLight | None:
        """The light of a volume that has shadows. beyond: what other blocks leave of it."""
        if request.part is None:
            return None
        layer, field = self.scene.volumes[number], self.fields[number]
        to_voxel = layer.transform.world_to_voxel(field.spacing)[0]
        towards = towards_light(self.scene.light, self.scene.camera, to_voxel)
        return PartLight(*request.part.seen_from(self.starts[number], towards), beyond)


def draw_block(
    context: ComputeContext, arguments: dict[str, Any], inputs: Sequence[BlockView], output: BlockView | None
) -> None:
    """inputs: a block of each volume of the scene, then for each that is shadowed what other blocks leave of its
    light."""
    from pellucid.cluster.compute.kernels import as_warp

    request: DrawRequest = from_json(DrawRequest, arguments, "draw")
    if output is None:
        raise InvalidInput("Drawing needs an image to draw into.", remedy="Pass a shape and a type.")
    drawer = BlockDrawer.of(context)
    for text in request.shadings:
        drawer.renderer.add_shading(text)  # Compiled once.
    count = len(request.keys)
    blocks = DrawnBlocks.of(request, inputs[:count], drawer)
    maps = dict(zip(request.shadowed, inputs[count:], strict=True))
    lights = [
        blocks.light(request, number, as_warp(maps[number].outer, context.device.name)[0]) if number in maps else None
        for number in range(count)
    ]
    whole = Scene.from_json(request.scene).volumes[0].transform
    part = BlockPlace(request.box(inputs[0]), request.shape, request.spacing, whole).part
    aim = SubpixelOffset(request.across, request.down, request.jitter)
    canvas = DrawRegion(request.size, aim, part, lights=tuple(lights) if maps else ())
    _draw(drawer.renderer, blocks, canvas, output, request.first_row)
    drawer.make_room(count)


def _check_halo(layer: VolumeLayer, view: BlockView, request: DrawRequest) -> None:
    needs = light_halo(layer.shading, request.shape)
    # Of what is beyond the border of the volume, nothing is needed.
    outer = within(request.box(view), view.halo, request.shape)
    if not outer.contains(within(request.box(view), (needs, needs, needs), request.shape)):
        what = f"Blocks with a halo of {view.halo} (z, y, x) are too narrow for the shading {layer.shading!r}."
        raise InvalidInput(what, remedy=f"Use a halo of {needs}.")


def _placed(layer: VolumeLayer, request: DrawRequest, outer: Box, key: str) -> VolumeLayer:
    """The layer for an array of which the first voxel is at outer.start in the volume."""
    clip = None if layer.clip is None else layer.clip.intersect(outer).relative_to(outer.start)
    whole = BlockPlace(outer, request.shape, request.spacing, layer.transform)
    return replace(layer, source=key, transform=whole.moved(outer.start), clip=clip)


def _draw(renderer: DeviceRenderer, blocks: DrawnBlocks, canvas: DrawRegion, output: BlockView, first: int) -> None:
    from pellucid.cluster.compute import image_kernels

    for one in blocks.fields:
        one.prepare_frame()
    drawing = renderer.start_pass(blocks.scene, blocks.fields, canvas)
    rows, width, _ = output.shape
    drawing.draw(LaunchRange((rows, width), first))
    image_kernels.pack_image(drawing, first, output)


def _outer(view: BlockView) -> Voxels:
    outer: Voxels = view.outer if isinstance(view.outer, np.ndarray) else view.outer.numpy()
    return outer
