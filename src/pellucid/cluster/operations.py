"""What a chain is made of: operations on one block, as plain data.

Here: the types, and chains as JSON.
Not here: running them (worker.chain_runner), collecting them (blocks), carrying them (links).
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pellucid.box import Box, Shape
from pellucid.dataclass_json import from_json
from pellucid.errors import InvalidInput

NO_HALO: Shape = (0, 0, 0)
MAX_CHAIN_BYTES = 120 * 1024
KeepMode = Literal["cache", "persist"]


@dataclass(frozen=True)
class UploadBlock:
    """The array that comes along is the block. halo: room around it for voxels of its neighbours."""

    shape: Shape
    dtype: str
    halo: Shape = NO_HALO


@dataclass(frozen=True)
class UseBlock:
    """A block that is on a device; one of another Worker is pulled."""

    handle: str


@dataclass(frozen=True)
class ComputeBlock:
    """A computation on the block, by its name in compute.registry. arguments: JSON, as that computation expects it.

    inputs: further blocks. shape, dtype, halo: of the result; None and "" are those of the block. Without a result
    (is_value) only a JSON value comes back. label: what errors call it.
    """

    name: str
    arguments: str = "{}"
    inputs: tuple[str, ...] = ()
    shape: Shape | None = None
    dtype: str = ""
    halo: Shape = NO_HALO
    is_value: bool = False
    label: str = ""


@dataclass(frozen=True)
class BlockPart:
    """Voxels of a block: a box of its core, and where in another block they go: at is counted from the first voxel of
    its core, or, along axes that are in from_end, from behind the last."""

    source: str
    box: Box
    at: Shape
    from_end: tuple[bool, bool, bool] = (False, False, False)


@dataclass(frozen=True)
class FillBlock:
    """Copy parts of other blocks into the block and its halo. grows: the halo that there is room for afterwards."""

    parts: tuple[BlockPart, ...]
    grows: Shape = NO_HALO


@dataclass(frozen=True)
class KeepBlock:
    """Keep the block: cached blocks go when memory is short, the least recently used first; persistent ones stay.
    mode: None does not change how a block is kept; one that is not kept yet is cached."""

    mode: KeepMode | None = None


@dataclass(frozen=True)
class ReleaseBlock:
    """The block is no longer needed."""


@dataclass(frozen=True)
class DownloadBlock:
    """The block comes back as an array. has_halo: with the voxels around it."""

    has_halo: bool = False


Operation = UploadBlock | UseBlock | ComputeBlock | FillBlock | KeepBlock | ReleaseBlock | DownloadBlock
KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in Operation.__args__}


def pack_chain(operations: Sequence[Operation]) -> bytes:
    """A chain as JSON."""
    listed = [{"kind": type(one).__name__, "content": asdict(one)} for one in operations]
    packed = json.dumps(listed).encode()
    if len(packed) > MAX_CHAIN_BYTES:
        raise InvalidInput(
            f"A chain of operations has {len(packed):,} bytes; at most {MAX_CHAIN_BYTES:,} are allowed.",
            remedy="Use shorter source text, or fewer operations between two actions.",
        )
    return packed


def unpack_chain(packed: bytes) -> list[Operation]:
    """
    >>> unpack_chain(pack_chain([UseBlock("00"), KeepBlock("persist")]))
    [UseBlock(handle='00'), KeepBlock(mode='persist')]
    """
    try:
        listed = json.loads(packed)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            "A chain of operations is not JSON.", remedy="Use the same version of Pellucid on both sides."
        ) from error
    return [_operation(one) for one in listed] if isinstance(listed, list) else []


def _operation(listed: Any) -> Any:
    kind = KINDS.get(str(listed.get("kind"))) if isinstance(listed, dict) else None
    if kind is None:
        remedy = f"Use one of: {', '.join(KINDS)}."
        raise InvalidInput("A chain contains an unknown operation.", remedy=remedy)
    return from_json(kind, listed.get("content"), kind.__name__)
