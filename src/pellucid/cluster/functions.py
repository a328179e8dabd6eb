"""What map functions call: operations on blocks of a device, which run when their result is needed.

Here: send_gpu, read_gpu, recv_gpu, exec_gpu, exec_gpu_seq, cache_gpu, persist_gpu, unpersist_gpu.
Not here: halos (halos), what a block is (blocks).

"gpu" in a name is the device of the Worker, which may be a CPU. Without a block, exec_gpu and exec_gpu_seq return a
function of one block, to be passed to map():

    blocks.mapValues(send_gpu).mapValues(exec_gpu(source=SOURCE, function="smooth")).mapValues(recv_gpu)
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pellucid.box import Box, Shape
from pellucid.cluster.blocks import DeviceBlock
from pellucid.cluster.halos import as_triple
from pellucid.cluster.handles import WorkerId
from pellucid.cluster.kernel_source import KernelSource
from pellucid.cluster.operations import NO_HALO, ComputeBlock, DownloadBlock, KeepBlock
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.volume.volume import open_volume


@dataclass(frozen=True)
class ExecOptions:
    """parameters: numbers that are passed to the function. shape, dtype: of the result, if not those of the block.
    halo: voxels around the result, along (z, y, x)."""

    parameters: tuple[float, ...] = ()
    shape: Shape | None = None
    dtype: str = ""
    halo: Shape = NO_HALO


def send_gpu(voxels: Voxels, halo: int | Shape = 0) -> DeviceBlock:
    """Make a block on the device of this node from an array with one to three axes. halo: voxels around it."""
    return DeviceBlock.of(voxels, as_triple(halo))


def read_gpu(source: str, box: Box | None = None, halo: int | Shape = 0) -> DeviceBlock:
    """Make a block that the Worker reads from a file, with its halo. box: the part to read; by default the whole
    volume."""
    with open_volume(source) as volume:
        return read_block(str(volume.location.absolute), box or volume.box, volume.dtype, as_triple(halo))


def read_block(
    source: str, box: Box, dtype: "np.dtype[Any]", halo: Shape, worker: WorkerId | None = None
) -> DeviceBlock:
    """The same if the voxel type is known. worker: the one that reads it; by default that of this node."""
    arguments = json.dumps({"source": source, "start": box.start})
    return DeviceBlock.made(ComputeBlock("read", arguments, (), box.shape, dtype.str, halo, label="the reader"), worker)


def recv_gpu(block: DeviceBlock) -> Voxels:
    """Return the voxels of a block, without its halo, as an array in this process."""
    voxels = block.result(DownloadBlock()).voxels
    if voxels is None:
        raise InvalidInput("The Worker sent no voxels.", remedy="Use the same version of Pellucid on both sides.")
    return voxels


def cache_gpu(block: DeviceBlock) -> DeviceBlock:
    """Keep the block on its device until memory is short."""
    return block.then(KeepBlock("cache"))


def persist_gpu(block: DeviceBlock) -> DeviceBlock:
    """Keep the block until unpersist_gpu, or until its Worker ends."""
    return block.then(KeepBlock("persist"))


def unpersist_gpu(block: DeviceBlock) -> None:
    """Release the memory of a block."""
    block.release()


def exec_gpu(
    block: DeviceBlock | None = None,
    *,
    source: str = "",
    function: str | Callable[..., Any],
    parameters: Sequence[float] = (),
    **options: Any,
) -> Any:
    """Run a function for every voxel of a block, and return a block of the results. options: shape, dtype, halo.

    source: C++/CUDA text that defines the function, or Python text in Warp's language. function: its name, or such a
    Python function itself. kernel_source describes the arguments of the function.
    """
    kernel = KernelSource.of(source, function)
    how = ExecOptions(tuple(map(float, parameters)), **options)
    run = partial(_exec, kernel=kernel, how=how)
    return run if block is None else run(block)


def exec_gpu_seq(
    blocks: Sequence[DeviceBlock] | None = None,
    *,
    source: str = "",
    function: str | Callable[..., Any],
    parameters: Sequence[float] = (),
    **options: Any,
) -> Any:
    """Run a function on several blocks of one shape and type, such as the values of a key. The function receives all
    of them; the result is one block, on the device of the first."""
    kernel = KernelSource.of(source, function)
    how = ExecOptions(tuple(map(float, parameters)), **options)
    run = partial(_exec_seq, kernel=kernel, how=how)
    return run if blocks is None else run(blocks)


def _exec(block: DeviceBlock, kernel: KernelSource, how: ExecOptions) -> DeviceBlock:
    return block.then(_compute(kernel, how, (), is_sequence=False))


def _exec_seq(blocks: Sequence[DeviceBlock], kernel: KernelSource, how: ExecOptions) -> DeviceBlock:
    blocks = list(blocks)
    if not blocks:
        raise InvalidInput("The sequence of blocks is empty.", remedy="Pass at least one block.")
    others = tuple(str(block.handle) for block in blocks[1:])
    return blocks[0].then(_compute(kernel, how, others, is_sequence=True), blocks[1:])


def _compute(kernel: KernelSource, how: ExecOptions, others: tuple[str, ...], *, is_sequence: bool) -> ComputeBlock:
    arguments = {
        "source": kernel.source,
        "function": kernel.function,
        "parameters": how.parameters,
        "is_sequence": is_sequence,
    }
    label = f"the function {kernel.function!r}"
    return ComputeBlock("kernel", json.dumps(arguments), others, how.shape, how.dtype, how.halo, label=label)
