"""What denoising did: numbers, a loss curve, a slice before and after.

Here: DenoiseReport, BeforeAfter, write_report.
Not here: drawing (report.figure), the measures (quality).
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.box import Box, Shape, triple
from pellucid.errors import InvalidInput
from pellucid.formats.local_files import written_whole
from pellucid.formats.location import Location
from pellucid.formats.protocol import Voxels
from pellucid.learn.denoise.slice_sets import SetVolume
from pellucid.learn.quality.regions import AIR, MATERIAL, choose_regions, parse_region
from pellucid.learn.quality.shell_correlation import ShellCorrelation
from pellucid.learn.quality.stored_values import values_of
from pellucid.learn.report.figure import Figure, Line
from pellucid.learn.report.png import contrast
from pellucid.learn.training.curve import LearningCurve
from pellucid.volume.volume import Volume, open_volume

MAX_SLICES, MAX_EDGE = 32, 512
"""Of the part that is measured, in the middle of the volume."""


@dataclass(frozen=True)
class DenoiseReport:
    """snr: (mean of material - mean of air) / standard deviation of air, before and after, in these regions.
    correlation: Fourier shell correlation of a set that the network did not see with the slices before and after it;
    None where there are no sets. curve: of the training; None with a trained network. stages: what was done, and the
    seconds of each."""

    source: str
    output: str
    network: str
    options: dict[str, Any]
    value_range: tuple[float, float] | None
    regions: dict[str, str]
    snr_before: float
    snr_after: float
    correlation_before: ShellCorrelation | None = None
    correlation_after: ShellCorrelation | None = None
    curve: LearningCurve | None = None
    stages: dict[str, float] | None = None
    runtime: str = ""

    @property
    def sentences(self) -> list[str]:
        ratio = self.snr_after / self.snr_before if self.snr_before else float("nan")
        boxes = ", ".join(f"{name} {box}" for name, box in self.regions.items())
        lines = [
            f"Signal to noise {self.snr_before:.3g} before, {self.snr_after:.3g} after: {ratio:.2f} times ({boxes})."
        ]
        if self.correlation_before and self.correlation_after:
            before, after = self.correlation_before, self.correlation_after
            lines.append(
                f"Fourier shell correlation with views that the network did not see: mean {before.mean:.3f} before, "
                f"{after.mean:.3f} after; above 1/7 up to {before.cutoff:.3f} and {after.cutoff:.3f} cycles per voxel."
            )
        if self.curve and self.curve.validations:
            last = self.curve.validations[-1]
            lines.append(f"Error on held-out slices: {last['error_before']:.4g} before, {last['error']:.4g} after.")
        return lines


@dataclass(frozen=True)
class BeforeAfter:
    """Slices before and after, in the same values. value_range: what the ends of the output's type mean; None for
    values as they are."""

    noisy: Volume
    first: Shape
    clean: Volume
    value_range: tuple[float, float] | None

    def read_before(self, box: Box) -> Voxels:
        return self.noisy.read(box.shift(self.first)).astype(np.float32)

    def read_after(self, box: Box) -> Voxels:
        return values_of(self.clean.read(box), self.value_range)

    @property
    def middle(self) -> Box:
        edges = triple(map(min, zip(self.clean.shape, (MAX_SLICES, MAX_EDGE, MAX_EDGE), strict=True)))
        start = triple((n - e) // 2 for n, e in zip(self.clean.shape, edges, strict=True))
        return Box(start, triple(a + e for a, e in zip(start, edges, strict=True)))

    def regions(self, named: tuple[str, ...]) -> dict[str, Box]:
        """The user's; or two in the middle of the volume."""
        if named:
            chosen = {one.name: one.box for one in (parse_region(text, self.clean.shape) for text in named)}
            check_names(chosen)
            return chosen
        return {one.name: one.box.shift(self.middle.start) for one in choose_regions(self.read_after(self.middle))}


@contextmanager
def before_after(
    noisy: SetVolume, clean: Path | Location, value_range: tuple[float, float] | None
) -> Iterator[BeforeAfter]:
    with open_volume(noisy.location) as before, open_volume(clean) as after:
        yield BeforeAfter(before, noisy.box.start, after, value_range)


def check_names(regions: dict[str, Box]) -> None:
    if not {MATERIAL, AIR} <= regions.keys():
        raise InvalidInput(f"The regions are {', '.join(regions)}.", remedy=f"Name one {MATERIAL!r} and one {AIR!r}.")


def write_report(report: DenoiseReport, compared: BeforeAfter, path: Path, image: Path) -> None:
    """The numbers as JSON; a slice before and after, and the curves, as PNG."""
    with written_whole(path) as file:
        facts = {**asdict(report), "sentences": report.sentences}
        file.write((json.dumps(facts, indent=1, default=str) + "\n").encode())
    middle = compared.middle
    z = middle.shape[0] // 2
    slab = Box((middle.start[0] + z, *middle.start[1:]), (middle.start[0] + z + 1, *middle.stop[1:]))
    before, after = compared.read_before(slab)[0], compared.read_after(slab)[0]
    figure = Figure([("before", before), ("after", after)], contrast(after))
    if report.curve and report.curve.validations:
        points = report.curve.validations
        steps = [point["step"] for point in points]
        losses = Line("training", [one["step"] for one in report.curve.losses], [*_losses(report.curve)])
        held_out = Line("held out", steps, [one["error"] for one in points])
        figure.plots.append(("Mean squared error", "step", [losses, held_out]))
    if report.correlation_before and report.correlation_after:
        pairs = (("before", report.correlation_before), ("after", report.correlation_after))
        lines = [Line(name, one.frequencies, one.values) for name, one in pairs]
        figure.plots.append(("Fourier shell correlation", "cycles per voxel", lines))
    figure.write(image)


def _losses(curve: LearningCurve) -> Iterator[float]:
    for point in curve.losses:
        yield next(value for name, value in point.items() if name != "step")
