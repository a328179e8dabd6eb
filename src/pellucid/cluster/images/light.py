"""Shadows that blocks throw on each other.

Here: draw_blocks, all blocks of an image, with the light that others leave for each.
Not here: following light (compute.light), single blocks (frames).

Every block says what it leaves of the light on each line to it, all at the same time; for a block, the lines of those
nearer to the light are multiplied. So it costs what an image from the light would, and nothing waits for its turn.
"""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace

import numpy as np

from pellucid.box import Box, Shape
from pellucid.cluster.blocks import DeviceBlock, release_known
from pellucid.cluster.compute.light import MultiplyRequest
from pellucid.cluster.images.frames import MAX_THREADS, BlockImage, BlockLight, ImagePlan, draw_block, draw_request
from pellucid.cluster.images.placement import BlockPlace, front_to_back
from pellucid.cluster.operations import ComputeBlock, KeepBlock
from pellucid.rendering.camera import Camera
from pellucid.rendering.drawing.light_parts import LightPart, light_part, light_shift
from pellucid.rendering.drawing.light_rays import towards_light

Blocks = DeviceBlock | Sequence[DeviceBlock]


def draw_blocks(blocks: Sequence[tuple[Blocks, Shape]], plan: ImagePlan) -> list[BlockImage]:
    """Render all blocks of a volume, as draw_block does, for compose_frame. blocks: each with its first voxel (z, y, x)
    in the volume. Where the shading has shadows, the blocks exchange light first."""
    placed = [_PlacedBlock.of(one, start, plan) for one, start in blocks]
    if not plan.shadowed:
        return [draw_block(one.blocks, one.start, plan) for one in placed]
    parts = _parts(placed, plan)
    order = front_to_back([one.place for one in placed], _from_light(placed[0].place, plan))
    with ThreadPoolExecutor(min(MAX_THREADS, max(1, len(placed)))) as pool:
        found = [_lights(number, placed, parts, order, plan, pool) for number in plan.shadowed]
    lights = [BlockLight(part, tuple(maps)) for part, *maps in zip(parts, *found, strict=True)]
    return [draw_block(one.blocks, one.start, plan, light) for one, light in zip(placed, lights, strict=True)]


@dataclass(frozen=True)
class _PlacedBlock:
    """blocks: one for each volume."""

    blocks: tuple[DeviceBlock, ...]
    start: Shape
    place: BlockPlace

    @classmethod
    def of(cls, blocks: Blocks, start: Shape, plan: ImagePlan) -> "_PlacedBlock":
        several = (blocks,) if isinstance(blocks, DeviceBlock) else tuple(blocks)
        return cls(several, start, plan.place(Box.whole(several[0].shape).shift(start)))


def _parts(placed: Sequence[_PlacedBlock], plan: ImagePlan) -> list[LightPart]:
    matrix, shift = placed[0].place.to_voxel
    center = np.linalg.solve(matrix, (np.array(plan.shape[::-1], float) - 1) / 2 - shift)
    scene = plan.scene
    towards = towards_light(scene.light, scene.camera, matrix)
    by = light_shift(scene.light, scene.camera, matrix, center)
    return [light_part(one.place.box, plan.shape, towards, by) for one in placed]


def _from_light(place: BlockPlace, plan: ImagePlan) -> Camera:
    """What lies nearer to the light lies nearer to this camera."""
    towards = plan.scene.light.towards(plan.scene.camera)
    x, y, z = towards.tolist()
    return Camera((x, y, z), (0.0, 0.0, 0.0), field_of_view_deg=None)


def _lights(
    number: int,
    placed: Sequence[_PlacedBlock],
    parts: Sequence[LightPart],
    order: Sequence[int],
    plan: ImagePlan,
    pool: ThreadPoolExecutor,
) -> list[DeviceBlock]:
    """For every block, what the others leave of the light in a volume of the scene."""
    nearer = {
        at: [one for one in order[:rank] if parts[one].lines.overlaps(parts[at].lines)] for rank, at in enumerate(order)
    }
    needed = sorted({one for some in nearer.values() for one in some})
    followed = {one: _followed(placed[one], number, parts[one], plan) for one in needed}
    found = list[DeviceBlock]()
    try:
        list(pool.map(lambda block: block.handle, followed.values()))  # All at the same time.
        for at in range(len(placed)):
            found.append(_product(placed[at], parts[at], [(parts[one], followed[one]) for one in nearer[at]]))
        list(pool.map(lambda block: block.handle, found))
    except BaseException:
        release_known(found)
        raise
    finally:
        release_known(followed.values())
    return found


def _followed(placed: _PlacedBlock, number: int, part: LightPart, plan: ImagePlan) -> DeviceBlock:
    """What a block leaves of the light on each line. Persistent, so that it stays until the image is there."""
    block, scene = placed.blocks[number], plan.scene
    alone = replace(plan, scene=replace(scene, volumes=(scene.volumes[number],)))
    request = replace(draw_request([block], placed.start, alone), part=part)
    operation = ComputeBlock("light", json.dumps(asdict(request)), (), (1, *part.lines.shape), "<f4", label="the light")
    return block.then(operation).then(KeepBlock("persist"))


def _product(placed: _PlacedBlock, part: LightPart, nearer: Sequence[tuple[LightPart, DeviceBlock]]) -> DeviceBlock:
    """What all blocks nearer to the light leave of it, on the Worker of a block."""
    request = MultiplyRequest(part.lines, tuple(one.lines for one, _ in nearer))
    inputs = tuple(str(block.handle) for _, block in nearer)
    operation = ComputeBlock(
        "multiply_light", json.dumps(asdict(request)), inputs, (1, *part.lines.shape), "<f4", label="the light"
    )
    return DeviceBlock.made(operation, placed.blocks[0].handle.worker).then(KeepBlock("persist"))
