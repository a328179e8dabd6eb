"""Estimates of the GPUs and the memory that a volume needs.

Here: estimate, from shape and type; spread, over several nodes; the refusal of what no node has.
Not here: what the site's nodes have (jobs.site), enforcing it (instance).
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pellucid.device.hardware import count_gpus
from pellucid.errors import InvalidInput, NotEnoughMemory
from pellucid.jobs.resources import Resources
from pellucid.jobs.site import Site

DEVICE_RESERVE_BYTES = 2 * 2**30
"""Of each GPU: context, compiled code, images and what they are made from."""
HOST_RESERVE_BYTES = 4 * 2**30
OVERHEAD = 1.1
"""Beside the voxels there are value ranges of bricks, and halos where several GPUs share a volume."""


def volume_bytes(shape: Sequence[int], dtype: str) -> int:
    try:
        itemsize = np.dtype(dtype).itemsize
    except TypeError as error:
        raise InvalidInput(
            f"Unknown voxel type {dtype!r}.", remedy="Use a type such as uint8, uint16 or float32."
        ) from error
    if len(shape) != 3 or min(shape) < 1:
        raise InvalidInput(f"Invalid volume shape {tuple(shape)}.", remedy="Use three positive numbers: z, y, x.")
    return math.prod(shape) * itemsize


def gpus_per_node(site: Site) -> int | None:
    """What one node has; None where the site does not state it. This machine is measured, whatever the site states."""
    return count_gpus() if site.scheduler == "local" else site.node.gpus or None


def estimate(nbytes: int, site: Site) -> Resources:
    """What a viewer of so many bytes is asked for; without a description of the nodes, one GPU.

    >>> from pellucid.jobs.site import NodeSpec
    >>> eighty = NodeSpec(gpus=4, gpu_memory_bytes=80 * 2**30, memory_bytes=512 * 2**30)
    >>> estimate(3072**3 * 4, Site("slurm", node=eighty)).gpus
    2
    """
    node = site.node
    needs = math.ceil(nbytes * OVERHEAD)
    each = node.gpu_memory_bytes - DEVICE_RESERVE_BYTES
    gpus = math.ceil(needs / each) if node.gpu_memory_bytes and each > 0 else 1
    return Resources(nbytes + HOST_RESERVE_BYTES, gpus=0 if gpus_per_node(site) == 0 else max(1, gpus))


def spread(wanted: Resources, site: Site) -> Resources:
    """The same on as many nodes as its GPUs take, where a viewer may have several; on each of them as many GPUs.

    >>> from pellucid.jobs.site import NodeSpec
    >>> spread(Resources(gpus=5), Site("slurm", max_nodes=8, node=NodeSpec(gpus=4)))
    Resources(memory_bytes=0, cores=0, gpus=6, minutes=0, nodes=2)
    """
    has = gpus_per_node(site)
    if site.scheduler != "slurm" or not has or wanted.gpus <= has:
        return wanted
    nodes = math.ceil(wanted.gpus / has)
    if nodes > site.max_nodes:
        return wanted
    return replace(wanted, gpus=nodes * math.ceil(wanted.gpus / nodes), nodes=nodes)


def refuse_impossible(wanted: Resources, site: Site) -> None:
    """Before anything is queued: what one node does not have, waiting will not bring."""
    has = gpus_per_node(site)
    if has is not None and wanted.gpus > has * wanted.nodes:
        node = "this machine" if site.scheduler == "local" else "a node"
        more = f", and a viewer may have {site.max_nodes} nodes" if site.max_nodes > 1 else ""
        what = f"{wanted.gpus} GPUs were requested, but {node} has {has}{more}."
        raise InvalidInput(what, remedy="Request fewer with gpus=, or show a coarser level or a smaller region.")
    if site.node.memory_bytes and wanted.memory_bytes > site.node.memory_bytes * wanted.nodes:
        remedy = "Request less memory, or show a coarser level or a smaller region."
        raise NotEnoughMemory(wanted.memory_bytes, site.node.memory_bytes, remedy=remedy)
