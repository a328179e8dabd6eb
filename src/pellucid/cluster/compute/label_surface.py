"""The surfaces of many labels in one array.

Here: extract_labels, one surface of all; LabelSurface.
Not here: extracting one surface (rendering.geometry), blocks (surface).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pellucid.box import Box, triple
from pellucid.device import Device
from pellucid.formats.protocol import Voxels
from pellucid.rendering.geometry.surface_extraction import Surface, SurfacePlace, extract_surface

INSIDE = 0.5


@dataclass(frozen=True)
class LabelSurface:
    """parts: of each label that is there, its number, and how many vertices and triangles it has in the surface, one
    label after the other. Triangles refer to the vertices of their own label, from 0."""

    surface: Surface
    parts: tuple[tuple[int, int, int], ...]


def extract_labels(voxels: Voxels, labels: Sequence[int], place: SurfacePlace, device: Device) -> LabelSurface:
    """Each label is extracted in the box around it, so that small objects cost what they are."""
    vertices, triangles, parts = [], [], []
    for label, box in boxes_of(voxels, labels).items():
        mask = np.ascontiguousarray(voxels[box.slices] == label).view(np.uint8)
        start = triple(a + b for a, b in zip(place.start, box.start, strict=True))
        found = extract_surface(mask, INSIDE, SurfacePlace(start, place.spacing), device)
        own = [
            np.asarray(one if isinstance(one, np.ndarray) else one.numpy()) for one in (found.vertices, found.triangles)
        ]
        if len(own[1]):
            vertices.append(own[0].reshape(-1, 3))
            triangles.append(own[1].reshape(-1, 3))
            parts.append((label, len(vertices[-1]), len(triangles[-1])))
    every = np.concatenate([np.empty((0, 3), np.float32), *vertices]).astype(np.float32)
    return LabelSurface(Surface(every, np.concatenate([np.empty((0, 3), np.int32), *triangles])), tuple(parts))


def boxes_of(voxels: Voxels, labels: Sequence[int]) -> dict[int, Box]:
    """Around each label that is there, with one more voxel on each side, as far as there is one.

    >>> boxes_of(np.array([[[0, 0, 7, 0, 0]]]), [7, 8])
    {7: Box(start=(0, 0, 1), stop=(1, 1, 4))}
    """
    flat = voxels.reshape(-1)
    places = np.flatnonzero(np.isin(flat, np.array(labels)))
    order = np.argsort(flat[places], kind="stable")
    places = places[order]
    found, firsts = np.unique(flat[places], return_index=True)
    boxes = {}
    for label, one in zip(found.tolist(), np.split(places, firsts[1:]), strict=True) if len(found) else ():
        at = np.stack(np.unravel_index(one, voxels.shape))
        box = Box(triple(at.min(1).tolist()), triple((at.max(1) + 1).tolist()))
        boxes[int(label)] = box.grow((1, 1, 1)).intersect(Box.whole(triple(voxels.shape)))
    return boxes
