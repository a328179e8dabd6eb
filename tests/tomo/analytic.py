"""Sinograms whose slices are known: discs and ellipses, projected exactly."""

import numpy as np

from pellucid.tomo.scan import Floats


def even_angles(views: int, turn_rad: float = np.pi) -> Floats:
    return np.arange(views) * turn_rad / views


def ellipse_sinogram(
    angles_rad: Floats,
    columns: int,
    axis: float,
    half_axes: tuple[float, float],
    middle: tuple[float, float] = (0.0, 0.0),
) -> Floats:
    """(view, column): the path length through an ellipse, averaged over the width of a column."""
    a, b = half_axes
    finer = 8
    offsets = (np.arange(finer) + 0.5) / finer - 0.5
    places = (np.arange(columns)[:, None] + offsets).ravel() - axis
    cosine, sine = np.cos(angles_rad)[:, None], np.sin(angles_rad)[:, None]
    reach = a**2 * cosine**2 + b**2 * sine**2
    offset = places - (middle[0] * cosine + middle[1] * sine)
    lengths = 2 * a * b * np.sqrt(np.maximum(reach - offset**2, 0)) / reach
    return np.asarray(lengths.reshape(len(angles_rad), columns, finer).mean(axis=2))
