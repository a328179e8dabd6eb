"""The labels of a layer as a list: names, counts, and volumes in physical units.

Here: LabelRow, LabelList, label_list, to_csv.
Not here: counting (volume.label_statistics), colours (labels).
"""

import csv
import io
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.box import Shape, triple
from pellucid.formats.protocol import Spacing
from pellucid.rendering.camera import Vector
from pellucid.rendering.csv_cells import plain_cell
from pellucid.rendering.labels import Labels
from pellucid.rendering.scene import VolumeLayer
from pellucid.volume.label_statistics import LabelTable

CSV_COLUMNS = (
    "label", "name", "voxels", "volume", "unit", "center_x", "center_y", "center_z",
    "z_start", "y_start", "x_start", "z_stop", "y_stop", "x_stop",
)  # fmt: skip


@dataclass(frozen=True)
class LabelRow:
    """One label. voxels: how many have it. volume: in cubic world units. center: of its voxels, in the world. start,
    stop: the smallest box of voxels that holds it, (z, y, x)."""

    label: int
    name: str
    voxels: int
    volume: float
    center: Vector
    start: Shape
    stop: Shape


@dataclass(frozen=True)
class LabelList:
    """GET /api/labels?layer=: every label of a layer, in ascending order, label 0 left out. unit: of lengths."""

    layer: int
    unit: str
    rows: tuple[LabelRow, ...]


def label_list(number: int, layer: VolumeLayer, table: LabelTable, spacing: Spacing, unit: str) -> LabelList:
    """A table in world units, with the names of the scene."""
    to_world = layer.transform.matrix() @ np.diag(spacing[::-1])
    centers = table.center[:, ::-1] @ to_world.T + np.asarray(layer.transform.translation)
    volumes = table.voxels * abs(float(np.linalg.det(to_world)))
    names = {one.label: one.name for one in (layer.labels or Labels()).colors}
    columns: tuple[Any, ...] = (table.labels, table.voxels, volumes, centers, table.start, table.stop)
    rows = (
        LabelRow(label, names.get(label, ""), voxels, volume, _vector(center), triple(start), triple(stop))
        for label, voxels, volume, center, start, stop in zip(*(one.tolist() for one in columns), strict=True)
    )
    return LabelList(number, unit, tuple(rows))


def to_csv(labels: LabelList) -> str:
    """With a line of column names; lengths are in the unit of the volume, and volumes in its cube."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(CSV_COLUMNS)
    unit = plain_cell(f"{labels.unit}^3") if labels.unit else ""
    for row in labels.rows:
        place = (*row.center, *row.start, *row.stop)
        writer.writerow([row.label, plain_cell(row.name), row.voxels, row.volume, unit, *place])
    return text.getvalue()


def _vector(numbers: list[float]) -> Vector:
    x, y, z = numbers
    return (x, y, z)
