"""Images of blocks put together.

Here: composite, the computation "composite".
Not here: drawing blocks (drawing), their order (images.placement).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pellucid.cluster.compute.registry import BlockView, ComputeContext
from pellucid.dataclass_json import from_json
from pellucid.device import synchronize
from pellucid.errors import InvalidInput


@dataclass(frozen=True)
class CompositeRequest:
    """first_row: of the image, which the result begins with. rows: of the image, with which each input begins.
    is_by_depth: whether of every pixel the nearest is taken, in any order."""

    first_row: int
    rows: tuple[int, ...]
    is_by_depth: bool = False


def composite(
    context: ComputeContext, arguments: dict[str, Any], inputs: Sequence[BlockView], output: BlockView | None
) -> None:
    """inputs: images of blocks, in an order in which none hides one before it, or with depths that say so."""
    from pellucid.cluster.compute import image_kernels

    request: CompositeRequest = from_json(CompositeRequest, arguments, "composite")
    if output is None or len(request.rows) != len(inputs):
        raise InvalidInput("Every image needs the number of its first row.", remedy="Pass as many rows as images.")
    image_kernels.clear(output, context.device)
    put = image_kernels.put_nearest if request.is_by_depth else image_kernels.put_behind
    begin, end = request.first_row, request.first_row + output.shape[0]
    for image, first in zip(inputs, request.rows, strict=True):
        start, stop = max(begin, first), min(end, first + image.shape[0])
        if image.shape[1:] != output.shape[1:]:
            raise InvalidInput("The images differ in width.", remedy="Draw all blocks for the same image.")
        if stop > start:
            put(image, start - first, output, start - begin, stop - start, context.device)
    synchronize(context.device)
