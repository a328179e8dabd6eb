"""Zingers: pixels that a stray photon made too bright, in one view only.

Here: remove_zingers() on sinograms.
Not here: columns that are wrong in every view (rings), what it means (reference.steps).

Looked for in a sinogram and not in a projection: a zinger lasts one view, and slices stay independent of one another.
"""

import numpy as np

from pellucid.device import Array, Device, launch, primitives
from pellucid.errors import InvalidInput


def remove_zingers(
    sinograms: Array, threshold: float = 0.2, size: int = 3, device: Device | None = None
) -> tuple[Array, int]:
    """Sinograms (slice, view, column) of attenuation without zingers, and how many there were.

    threshold: by how much the attenuation is below the median of size by size pixels (views and columns) around it.
    """
    from pellucid.tomo.kernels import phase as kernels

    if size < 3 or size % 2 == 0 or threshold <= 0:
        raise InvalidInput(
            f"Invalid zinger filter: size {size}, threshold {threshold}.",
            remedy="Use an odd size of at least 3 and a threshold above 0, such as 0.2.",
        )
    room, (slices, views, columns) = primitives(device), sinograms.shape
    cleaned, counts = room.empty(sinograms.shape, np.float32), room.zeros((slices, views), np.int32)
    inputs = [size // 2, threshold, sinograms]
    outputs = [cleaned, counts]
    launch(kernels.remove_zingers, (views, slices, columns), inputs=inputs, outputs=outputs, device=device)
    return cleaned, int(room.to_host(counts).sum())
