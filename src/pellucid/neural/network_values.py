"""Values of neural fields from networks on a device, where that is faster than the definition.

Here: NetworkValues.
Not here: the definition, and how overlapping fields are blended (pellucid.formats.neural_field).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from pellucid.formats.neural_field.field import Floats
from pellucid.formats.neural_field.neural_volume import PlacedField, field_axes
from pellucid.formats.neural_field.spline import spline_on
from pellucid.neural.network import FieldNetwork

POINTS_AT_ONCE = 1 << 20


class NetworkValues:
    """Evaluates a field on a lattice of voxel positions; one network for every field."""

    def __init__(self, fields: Sequence[PlacedField], networks: Sequence[FieldNetwork], device: torch.device) -> None:
        self._device = device
        self._networks = {placed.box: network.to(device) for placed, network in zip(fields, networks, strict=True)}

    def __call__(self, placed: PlacedField, axes: list[Any]) -> Floats:
        network, (low, high) = self._networks[placed.box], placed.field.value_range
        local = [torch.from_numpy(axis).to(self._device) for axis in field_axes(placed, axes)]
        z, y, x = torch.meshgrid(*local, indexing="ij")
        points = torch.stack([x, y, z], dim=-1).reshape(-1, 3)
        with torch.no_grad():
            found = torch.cat([network(part) for part in points.split(POINTS_AT_ONCE)])
        values = np.asarray((found * (high - low) + low).reshape(z.shape).cpu().numpy(), np.float32)
        spline = placed.field.spline
        return values if spline is None else values + spline_on(spline, field_axes(placed, axes))
