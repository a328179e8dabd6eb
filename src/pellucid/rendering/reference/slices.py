"""The definition of slices, in plain NumPy.

Here: a volume's value where a plane cuts it, through the colours.
Not here: what lies before and behind (reference.surfaces), speed (kernels.slices).
"""

from collections.abc import Sequence

import numpy as np

from pellucid.box import Box
from pellucid.formats.protocol import Spacing, Voxels
from pellucid.rendering.reference.geometry import span_between
from pellucid.rendering.reference.labels import nearest
from pellucid.rendering.reference.surfaces import ReferenceImage
from pellucid.rendering.reference.volumes import Rays
from pellucid.rendering.scene import ClipPlane, SliceLayer
from pellucid.volume.interpolate import trilinear


def draw_slice(
    voxels: Voxels, spacing: Spacing, layer: SliceLayer, rays: Rays, planes: Sequence[ClipPlane] = ()
) -> ReferenceImage:
    """Unlit; clipped to the volume's outermost voxels' faces."""
    near, far = span_between(rays, planes)
    normal = np.asarray(layer.normal) / np.linalg.norm(layer.normal)
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = (np.asarray(layer.point) - rays.origins) @ normal / (rays.directions @ normal)
    to_voxel = np.linalg.inv(layer.transform.matrix() @ np.diag(spacing[::-1]))
    points = rays.origins + distance[:, None] * rays.directions - np.asarray(layer.transform.translation)
    places = points @ to_voxel.T
    z, y, x = voxels.shape
    box = layer.clip or Box.whole((z, y, x))
    low, high = np.array(box.start[::-1]) - 0.5, np.array(box.stop[::-1]) - 0.5
    hit = (distance >= near) & (distance <= far) & ((places >= low) & (places <= high)).all(axis=1)
    color = np.zeros((len(hit), 4))
    color[hit] = _colors(voxels, layer, places[hit][:, ::-1])
    return color, np.where(color[:, 3] > 0, distance, np.inf)


def _colors(voxels: Voxels, layer: SliceLayer, places: Voxels) -> Voxels:
    """(n, 4), multiplied by opacity, at places (z, y, x)."""
    if layer.labels is not None:
        entries = layer.labels.table(nearest(voxels, places), 1.0).astype(float)
        opacity = entries[:, 3] * layer.opacity
    else:
        rows = layer.transfer.index(trilinear(voxels, places))
        entries = layer.transfer.table(1.0)[rows].astype(float)
        opacity = np.where(layer.is_solid | (entries[:, 3] > 0), layer.opacity, 0.0)
    return np.concatenate([entries[:, :3] * opacity[:, None], opacity[:, None]], axis=1)
