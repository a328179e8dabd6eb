"""Previews of a reconstruction.

Here: PreviewRenderer: the scan that is open, and grey images of it.
Not here: slices (tomo.pipeline.preview), the window of the page (instance).
"""

import threading
from contextlib import closing
from typing import Any

import numpy as np

from pellucid.device import Device, choose
from pellucid.formats.deadline import within_limit
from pellucid.formats.protocol import Voxels
from pellucid.tomo.correction.preparation import Preparation
from pellucid.tomo.pipeline.preview import SlicePreview
from pellucid.tomo.scan import Scan
from pellucid.tomo.scan_files.assembly import ScanOptions
from pellucid.tomo.scan_files.registry import open_scan
from pellucid.tomo.scan_files.scan_facts import ScanFacts
from pellucid.volume.slice_sheet import grey_levels
from pellucid.workers.protocol.replies import AxisFound, PreviewMade, ScanDescribed
from pellucid.workers.protocol.requests import DescribeScan, FindAxis, MakePreview

OUTLIERS_PERCENT = 0.3
"""Of the values, at both ends, that may look the same."""


MAX_CODE = 65535


class PreviewRenderer:
    """For one thread: that of the trials."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._open: tuple[str, ScanOptions, SlicePreview] | None = None

    def describe(self, request: DescribeScan) -> ScanDescribed:
        return ScanDescribed(request.request, ScanFacts.of(self._preview(request.source, request.options).scan))

    def image(self, request: MakePreview, cancel: threading.Event) -> tuple[PreviewMade, Voxels]:
        """(height, width) uint8, or uint16 of a deep image, and what it shows."""
        preview, facts = self._preview(request.source, request.options), dict[str, Any]()
        match request.subject:
            case "projection":
                values = preview.projection(request.index)
            case "sinogram":
                values = preview.sinogram(request.index, request.recipe, cancel.is_set)
            case "slice":
                rough = request.is_rough
                values = preview.slice(request.index, request.recipe, is_rough=rough, is_cancelled=cancel.is_set)
                facts = _facts(preview, request)
        low, high = request.window or window(values)
        shown = shrunk(values, request.edge)
        if request.is_deep:
            facts["code_low"], facts["code_high"] = float(shown.min()), float(max(shown.max(), shown.min() + 1e-6))
            pixels = _codes(shown, facts["code_low"], facts["code_high"])
        else:
            pixels = grey_levels(shown, low, high)
        return PreviewMade(request.request, pixels.shape[1], pixels.shape[0], low, high, **facts), pixels

    def _preview(self, source: str, options: ScanOptions) -> SlicePreview:
        """Of one scan at a time: raw rows are large."""
        if self._open is None or self._open[:2] != (source, options):
            self.close()
            self._open = (source, options, SlicePreview(_opened(source, options), self._device))
        return self._open[2]

    def close(self) -> None:
        if self._open is not None:
            self._open[2].close()
            self._open = None


def find_axis(request: FindAxis) -> AxisFound:
    """Opens the scan for itself: trials go on meanwhile."""
    with closing(SlicePreview(_opened(request.source, request.options), choose("cpu"))) as preview:
        return AxisFound(request.request, *preview.axis(request.recipe))


def _opened(source: str, options: ScanOptions) -> Scan:
    return within_limit(source, lambda: open_scan(source, options))


def _facts(preview: SlicePreview, request: MakePreview) -> dict[str, Any]:
    """What can be said of a slice."""
    recipe, thin = request.recipe, preview.reduction(request.recipe, is_rough=request.is_rough)
    phase = Preparation(binning=recipe.binning, phase=recipe.phase).fitted_phase
    center, slope = preview.axis(recipe)
    return {
        "unit": "1/cm" if preview.scan.pixel_size_um else "1/pixel",
        "center": center,
        "slope": slope,
        "radius_px": phase and phase.radius_px,
        "edge": preview.edge(recipe),
        "voxels": thin.columns,
        "views": thin.views,
        "iterations": thin.iterations,
    }


def window(values: Voxels) -> tuple[float, float]:
    """The values between which an image is grey; what lies outside the circle of a slice has no say.

    >>> window(np.array([[0.0, 1.0], [2.0, 0.0]]))
    (1.003, 1.997)
    """
    seen = values[values != 0]
    if not seen.size:
        return 0.0, 1.0
    low, high = np.percentile(seen, (OUTLIERS_PERCENT, 100 - OUTLIERS_PERCENT))
    return round(float(low), 9), round(float(max(high, low + 1e-6)), 9)


def _codes(values: Voxels, low: float, high: float) -> Voxels:
    """uint16 from 0 at low to 65535 at high.

    >>> _codes(np.array([-1.0, 0.0, 1.0]), -1.0, 1.0).tolist()
    [0, 32768, 65535]
    """
    scaled = (values.astype(np.float64) - low) * (MAX_CODE / ((high - low) or 1.0))
    return np.asarray((scaled + 0.5).astype("<u2"))


def shrunk(values: Voxels, edge: int) -> Voxels:
    """Means of squares, so that neither side is longer; a remainder at the ends is left out."""
    factors = [-(-length // edge) for length in values.shape]
    height, width = (length // factor for length, factor in zip(values.shape, factors, strict=True))
    kept = values[: height * factors[0], : width * factors[1]]
    return np.asarray(kept.reshape(height, factors[0], width, factors[1]).mean(axis=(1, 3)))
