"""Frames of a volume whose blocks are on Device Workers.

Here: ImagePlan; draw_block, what a block contributes to an image; compose_frame, the image of all.
Not here: what a Worker does for it (compute), order and rows (placement), light from block to block (light).
"""

import json
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace

import numpy as np

from pellucid.box import Box, Shape
from pellucid.cluster.blocks import DeviceBlock, release_known
from pellucid.cluster.compute.compositing import CompositeRequest
from pellucid.cluster.compute.drawing import CHANNELS, DrawRequest
from pellucid.cluster.context import current_context
from pellucid.cluster.handles import WorkerId
from pellucid.cluster.images.placement import BlockPlace, front_to_back
from pellucid.cluster.operations import ComputeBlock, DownloadBlock, KeepBlock
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Spacing, Voxels
from pellucid.rendering.drawing.light_parts import LightPart, light_halo
from pellucid.rendering.drawing.light_rays import SHADOWED, THROUGH
from pellucid.rendering.drawing.multi_device import check_multi_device
from pellucid.rendering.drawing.packing import CENTRED, NOTHING_THERE, SubpixelOffset
from pellucid.rendering.frame import Frame, FrameStatistics, to_rgba8
from pellucid.rendering.scene import Scene

MAX_THREADS = 32
GRADIENT_HALO = 2
MODES = ("composite", "isosurface")
SHADINGS = ("none", "gradient", "user", *THROUGH)


@dataclass(frozen=True)
class ImagePlan:
    """An image of a volume of which no one has all blocks. shape, spacing: of the volume, (z, y, x). aim: where in
    their pixels the rays pass. shadings: the text of users' shadings that the scene names by their hashes."""

    scene: Scene
    width: int
    height: int
    shape: Shape
    spacing: Spacing = (1.0, 1.0, 1.0)
    aim: SubpixelOffset = CENTRED
    shadings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_multi_device(self.scene)
        if len({layer.transform for layer in self.scene.volumes}) != 1:
            raise InvalidInput("The volumes have different transforms.", remedy="Use one transform for all of them.")
        if any(layer.mode not in MODES for layer in self.scene.volumes):
            raise InvalidInput("Projections do not support blocks.", remedy=f"Use one of: {', '.join(MODES)}.")
        if any(layer.shading not in SHADINGS for layer in self.scene.volumes):
            what = "Cinematic shading does not support blocks."
            raise InvalidInput(what, remedy=f"Use one of these shadings: {', '.join(SHADINGS)}.")
        if self.scene.points or self.scene.meshes or self.scene.slices:
            raise InvalidInput("Images of blocks show volumes only.", remedy="Remove points, meshes and slices.")

    @property
    def shadowed(self) -> tuple[int, ...]:
        """The numbers of the volumes through which light goes from block to block."""
        return tuple(number for number, layer in enumerate(self.scene.volumes) if layer.shading in SHADOWED)

    @property
    def halo(self) -> int:
        """Voxels around each block that the image needs."""
        return max(GRADIENT_HALO, *(light_halo(layer.shading, self.shape) for layer in self.scene.volumes))

    def place(self, box: Box) -> BlockPlace:
        return BlockPlace(box, self.shape, self.spacing, self.scene.volumes[0].transform)


@dataclass(frozen=True)
class BlockImage:
    """What the rays of an image gather in one block. first_row: of the image, which it begins with. is_surface: whether
    it is opaque, so that its depths say what is in front. lights: blocks that are not needed after it."""

    block: DeviceBlock
    box: Box
    first_row: int
    is_surface: bool = False
    lights: tuple[DeviceBlock, ...] = ()

    def release(self) -> None:
        release_known((self.block, *self.lights))


@dataclass(frozen=True)
class BlockLight:
    """What other blocks leave of the light for a block. part: of the block; maps: for each shadowed volume."""

    part: LightPart
    maps: tuple[DeviceBlock, ...]


def draw_block(
    blocks: DeviceBlock | Sequence[DeviceBlock], start: Shape, plan: ImagePlan, light: BlockLight | None = None
) -> BlockImage:
    """Render a block where it is. blocks: one, or one for each volume of the scene, with a halo of 1 or more (that of
    the plan for shading). start: its first voxel (z, y, x) in the volume. light: as draw_blocks finds it; shadows need
    it. It runs when the image is needed."""
    if plan.shadowed and light is None:
        raise InvalidInput("Shadows need all blocks of the volume.", remedy="Use draw_blocks.")
    first, *others = [blocks] if isinstance(blocks, DeviceBlock) else list(blocks)
    lights = () if light is None else light.maps
    box = Box.whole(first.shape).shift(start)
    begin, end = plan.place(box).rows(plan.scene.camera, plan.height)
    rows = max(1, end - begin)
    begin = min(begin, plan.height - 1)
    request = replace(
        draw_request([first, *others], start, plan), first_row=begin,
        part=None if light is None else light.part, shadowed=plan.shadowed,
    )  # fmt: skip
    inputs = tuple(str(one.handle) for one in (*others, *lights))
    drawn = ComputeBlock(
        "draw", json.dumps(asdict(request)), inputs, (rows, plan.width, CHANNELS), "<f4", label="the renderer"
    )
    # The image stays until all are composited, however short memory is.
    return BlockImage(first.then(drawn, [*others, *lights]).then(KeepBlock("persist")), box, begin, lights=lights)


def draw_request(blocks: Sequence[DeviceBlock], start: Shape, plan: ImagePlan) -> DrawRequest:
    """Of the whole image, in these blocks."""
    return DrawRequest(
        plan.scene.to_json(), (plan.height, plan.width), 0, start, plan.shape, plan.spacing,
        tuple(str(one.handle) for one in blocks), plan.aim.across, plan.aim.down, plan.aim.jitter, plan.shadings,
    )  # fmt: skip


def compose_frame(images: Iterable[BlockImage], plan: ImagePlan) -> Frame:
    """Return the image of all blocks. Every Worker that rendered some composites some rows of all; then the images of
    blocks are released."""
    pixels, workers = gather(images, plan)
    depth = np.where(pixels[..., 4] < NOTHING_THERE, pixels[..., 4], np.inf).astype(np.float32)
    names = ", ".join(map(str, workers))
    return Frame(to_rgba8(pixels[..., :4], plan.scene.background), depth, FrameStatistics(names), plan.scene.sources)


def gather(images: Iterable[BlockImage], plan: ImagePlan) -> tuple[Voxels, list[WorkerId]]:
    """(height, width, 5): colour multiplied by opacity, opacity and depth; and the Workers that drew."""
    drawn = list(images)
    with ThreadPoolExecutor(min(MAX_THREADS, max(1, len(drawn)))) as pool:
        try:
            workers = sorted(set(pool.map(lambda image: image.block.handle.worker, drawn)))
            ordered = _ordered(drawn, plan)
            cuts = [plan.height * number // len(workers) for number in range(len(workers) + 1)]
            bands = pool.map(lambda n: _band(ordered, plan, workers[n], cuts[n], cuts[n + 1]), range(len(workers)))
            return np.concatenate(list(bands)), workers
        finally:
            list(pool.map(BlockImage.release, drawn))


def _ordered(images: list[BlockImage], plan: ImagePlan) -> list[BlockImage]:
    """From front to back; surfaces in any order."""
    surfaces = sum(image.is_surface for image in images)
    if surfaces == len(images):
        return images
    if surfaces:
        raise InvalidInput("Surfaces and volumes are not composited together.", remedy="Compose two images.")
    order = front_to_back([plan.place(image.box) for image in images], plan.scene.camera)
    return [images[number] for number in order]


def _band(images: Sequence[BlockImage], plan: ImagePlan, worker: WorkerId, start: int, stop: int) -> Voxels:
    """Rows of the image, put together on a Worker."""
    seen = [image for image in images if image.first_row < stop]
    request = CompositeRequest(start, tuple(image.first_row for image in seen), all(one.is_surface for one in seen))
    inputs = tuple(str(image.block.handle) for image in seen)
    shape = (stop - start, plan.width, CHANNELS)
    composite = ComputeBlock("composite", json.dumps(asdict(request)), inputs, shape, "<f4", label="compositing")
    found = current_context().links.run(worker, (composite, DownloadBlock())).voxels
    if found is None:
        raise InvalidInput("The Worker sent no image.", remedy="Use the same version of Pellucid on both sides.")
    return found
