"""Settings of a reconstruction, tried by somebody who looks.

Here: Trials: the scan that is open, and grey pictures of it.
Not here: slices (tomo.trial), the window of the page (instance).
"""

import threading
from contextlib import closing
from dataclasses import fields
from typing import Any

import numpy as np

from pellucid.device import Device, choose
from pellucid.formats.deadline import within_limit
from pellucid.formats.protocol import Voxels
from pellucid.tomo.preparation import Preparation
from pellucid.tomo.reading.assembly import ScanOptions
from pellucid.tomo.reading.opening import open_scan, scan_facts
from pellucid.tomo.scan import Scan
from pellucid.tomo.trial import Trial
from pellucid.workers.trial_commands import AxisFound, DescribeScan, FindAxis, ScanDescribed, Tried, TryScan

OUTLIERS_PERCENT = 0.3
"""Of the values, at both ends, that need not be told apart."""


class Trials:
    """For one thread: that of the trials."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._open: tuple[str, ScanOptions, Trial] | None = None

    def describe(self, asked: DescribeScan) -> ScanDescribed:
        facts = scan_facts(self._trial(asked.source, asked.options).scan)
        known = {field.name: facts[field.name] for field in fields(ScanDescribed) if field.name in facts}
        known["assumptions"] = tuple(known["assumptions"])
        return ScanDescribed(request=asked.request, kind=facts["scan"], **known)

    def picture(self, asked: TryScan, cancel: threading.Event) -> tuple[Tried, Voxels]:
        """(height, width) uint8, and what it shows."""
        trial, facts = self._trial(asked.source, asked.options), dict[str, Any]()
        match asked.subject:
            case "projection":
                values = trial.projection(asked.index)
            case "sinogram":
                values = trial.sinogram(asked.index, asked.recipe, cancel.is_set)
            case "slice":
                rough = asked.is_rough
                values = trial.slice(asked.index, asked.recipe, is_rough=rough, is_cancelled=cancel.is_set)
                facts = _facts(trial, asked)
        low, high = asked.window or window(values)
        pixels = grey(shrunk(values, asked.edge), low, high)
        return Tried(asked.request, pixels.shape[1], pixels.shape[0], low, high, **facts), pixels

    def _trial(self, source: str, options: ScanOptions) -> Trial:
        """Of one scan at a time: raw rows are large."""
        if self._open is None or self._open[:2] != (source, options):
            self.close()
            self._open = (source, options, Trial(_opened(source, options), self._device))
        return self._open[2]

    def close(self) -> None:
        if self._open is not None:
            self._open[2].close()
            self._open = None


def find_axis(asked: FindAxis) -> AxisFound:
    """Opens the scan for itself: trials go on meanwhile."""
    with closing(Trial(_opened(asked.source, asked.options), choose("cpu"))) as trial:
        return AxisFound(asked.request, *trial.axis(asked.recipe))


def _opened(source: str, options: ScanOptions) -> Scan:
    return within_limit(source, lambda: open_scan(source, options))


def _facts(trial: Trial, asked: TryScan) -> dict[str, Any]:
    """What can be said of a slice."""
    recipe, thin = asked.recipe, trial.thinning(asked.recipe, is_rough=asked.is_rough)
    phase = Preparation(binning=recipe.binning, phase=recipe.phase).fitted_phase
    center, slope = trial.axis(recipe)
    return {
        "unit": "1/cm" if trial.scan.pixel_size_um else "1/pixel",
        "center": center,
        "slope": slope,
        "radius_px": phase and phase.radius_px,
        "voxels": thin.columns,
        "views": thin.views,
        "iterations": thin.iterations,
    }


def window(values: Voxels) -> tuple[float, float]:
    """The values between which a picture is grey; what lies outside the circle of a slice has no say.

    >>> window(np.array([[0.0, 1.0], [2.0, 0.0]]))
    (1.003, 1.997)
    """
    seen = values[values != 0]
    if not seen.size:
        return 0.0, 1.0
    low, high = np.percentile(seen, (OUTLIERS_PERCENT, 100 - OUTLIERS_PERCENT))
    return round(float(low), 9), round(float(max(high, low + 1e-6)), 9)


def shrunk(values: Voxels, edge: int) -> Voxels:
    """Means of squares, so that neither side is longer; a remainder at the ends is left out."""
    factors = [-(-length // edge) for length in values.shape]
    height, width = (length // factor for length, factor in zip(values.shape, factors, strict=True))
    kept = values[: height * factors[0], : width * factors[1]]
    return np.asarray(kept.reshape(height, factors[0], width, factors[1]).mean(axis=(1, 3)))


def grey(values: Voxels, low: float, high: float) -> Voxels:
    """uint8, black at low and below."""
    shares = np.clip((values - low) / (high - low), 0, 1)
    return np.asarray(shares * 255 + 0.5).astype(np.uint8)
