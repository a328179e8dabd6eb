"""Surfaces of many labels at once, and label by label.

Here: the rows of large_surfaces for label volumes; the volume, and the extraction that is compared with.
Not here: surfaces of binary volumes (large_surfaces), the kernel that makes the labels (label_kernels).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.label_kernels import jittered_cells
from benchmarks.table import TARGET, Row, in_turn, seconds_of, shorter
from pellucid.box import Box, triple
from pellucid.device import Device, choose, launch, runtime, synchronize
from pellucid.formats.protocol import Voxels
from pellucid.rendering.geometry.label_surfaces import GroupedSurfaces, extract_label_surfaces, group_by_label
from pellucid.rendering.geometry.surface_extraction import SurfacePlace, extract_surface

TARGET_S = 2.0
"""For the large volume, on a GPU."""
REPEATS, REPEATS_SMALL = 3, 15


@dataclass(frozen=True)
class LabelCase:
    """edge: of the volume, with cells³ labels. chosen: how many get surfaces; compared: of these, how many are also
    extracted label by label."""

    edge: int
    cells: int
    chosen: int
    compared: int


LARGE = LabelCase(848, 46, 5000, 500)
SMALL = LabelCase(256, 14, 140, 140)
QUICK = LabelCase(128, 7, 17, 17)


def label_rows(case: LabelCase, device: Device) -> list[Row]:
    """Each time is until the surfaces are on the device, label after label."""
    labels = runtime.start().empty((case.edge,) * 3, dtype=runtime.start().int32, device=device.name)
    launch(jittered_cells, labels.shape, [case.cells], [labels], device)
    synchronize(device)
    chosen = (np.random.default_rng(1).permutation(case.cells**3)[: case.chosen] + 1).tolist()
    voxels = labels if device.is_cuda else labels.numpy()
    rows = [_of_all(case, voxels, chosen, device)] if case == LARGE else []
    some = chosen[: case.compared]
    host = labels.numpy()
    _one_by_one(host[:64, :64, :64], [int(host[32, 32, 32])])  # Compiles the kernels.
    peers: dict[str, Callable[[], float]] = {
        "ours": lambda: seconds_of(lambda: _at_once(voxels, some, device)),
        "peer": lambda: seconds_of(lambda: _one_by_one(host, some)),
    }
    found = {name: measure() for name, measure in peers.items()} if case == LARGE else in_turn(peers, REPEATS_SMALL)
    name = f"{len(some):,} of {case.cells**3:,} labels in {case.edge}³"
    return [*rows, shorter(name, "s", found["ours"], "label by label, on the CPU", found["peer"])]


def _of_all(case: LabelCase, voxels: Any, chosen: Sequence[int], device: Device) -> Row:
    triangles = len(_at_once(voxels, chosen, device).surface.triangles)
    seconds = min(seconds_of(lambda: _at_once(voxels, chosen, device)) for _ in range(REPEATS))
    name = f"{len(chosen):,} of {case.cells**3:,} labels in {case.edge}³, {triangles / 1e6:,.1f} million triangles"
    return shorter(name, "s", seconds, TARGET, TARGET_S)


def _at_once(voxels: Any, labels: Sequence[int], device: Device) -> GroupedSurfaces:
    return group_by_label(extract_label_surfaces(voxels, labels, device=device), device)


def _one_by_one(voxels: Voxels, labels: Sequence[int]) -> int:
    """The triangles of all labels, each extracted in the box around it, so that small objects cost what they are."""
    count, device = 0, choose("cpu")
    for label, box in _boxes(voxels, labels):
        mask = np.ascontiguousarray(voxels[box.slices] == label).view(np.uint8)
        count += len(extract_surface(mask, 0.5, SurfacePlace(box.start), device).triangles)
    return count


def _boxes(voxels: Voxels, labels: Sequence[int]) -> list[tuple[int, Box]]:
    """Around each label, with one more voxel on each side, as far as there is one."""
    flat = voxels.reshape(-1)
    places = np.flatnonzero(np.isin(flat, np.array(labels)))
    places = places[np.argsort(flat[places], kind="stable")]
    found, firsts = np.unique(flat[places], return_index=True)
    boxes = []
    for label, own in zip(found.tolist(), np.split(places, firsts[1:]), strict=True):
        at = np.stack(np.unravel_index(own, voxels.shape))
        box = Box(triple(at.min(1).tolist()), triple((at.max(1) + 1).tolist()))
        boxes.append((label, box.grow((1, 1, 1)).intersect(Box.whole(triple(voxels.shape)))))
    return boxes
