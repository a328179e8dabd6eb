"""Gridding: from sinograms to slices through their spectra, with much less work than direct back projection.

Here: reconstruct_by_gridding.
Not here: the definition (reference.projection.fourier_sum), how it is done (gridding_cpu, gridding_cuda), the window
(gridding_window), direct back projection, which keeps to linear interpolation.

The spectrum of a view is a line through the spectrum of the slice. All lines are spread over a grid, half as fine again
as the image, with a window (the exponential of a half circle) whose fading is divided out of the image afterwards.
Linear interpolation's smoothing is part of the filter, so that noise and sharpness are those of direct back projection.
Two slices go together as the real and the imaginary parts of one. Cost: N² log N for N views of N columns.
"""

from pellucid.device import Array, Device, choose
from pellucid.tomo.methods import gridding_cpu, gridding_cuda
from pellucid.tomo.methods.direct import ParallelGeometry
from pellucid.tomo.methods.filters import border_fits, border_flags, padded_length
from pellucid.tomo.methods.gridding_window import grid_size


def reconstruct_by_gridding(
    sinograms: Array, geometry: ParallelGeometry, name: str, *, padding: str = "auto", device: Device | None = None
) -> Array:
    """Slices (slice, row, column) from unfiltered sinograms (slice, view, column) of a device; ``name``: the filter."""
    device = device or choose()
    geometry.check(sinograms.shape)
    columns = sinograms.shape[2]
    edges, length = border_flags(sinograms, padding, device), padded_length(columns, padding)
    borders = border_fits(sinograms, edges, device, geometry.axes)
    if device.is_cuda:
        filtering = gridding_cuda.Filtering(name, edges, borders, length)
        return gridding_cuda.make_slices(sinograms, geometry, filtering, grid_size(columns), device)
    return gridding_cpu.make_slices(sinograms, geometry, name, (edges, borders), (length, grid_size(columns)))
