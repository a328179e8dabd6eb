"""The report of a reconstruction: every parameter, versions, warnings and times.

Here: ReconstructionReport, AngleReport; writing them as JSON, and reading the warnings back.
Not here: making it (pipeline).
"""

import json
import platform
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.formats.local_files import write_whole
from pellucid.formats.location import Location
from pellucid.tomo.geometry.tilt import Tilt
from pellucid.tomo.geometry.view_weights import Coverage
from pellucid.tomo.methods.direct import ParallelGeometry

FORMAT = 1
WEIGHTS_TOLERANCE = 0.005
"""Of the angle covered: what the sum of the weights may differ by, and with it all attenuations."""
MIN_ANGLES = 8
"""Different angles that a slice can be made of; with fewer, it consists of streaks."""
PACKAGES = ("pellucid", "numpy", "scipy", "warp-lang", "cupy-cuda13x")


def versions() -> dict[str, str]:
    """Of Python and of the packages that take part, where they are installed."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


@dataclass(frozen=True)
class AngleReport:
    """What the views cover, modulo a half turn, and what they were weighted with: attenuations are right where the sum
    of the weights is the angle covered. distinct_count: of different angles."""

    covered_deg: float
    sum_of_weights_deg: float
    missing_wedges_deg: tuple[float, ...] = ()
    distinct_count: int = MIN_ANGLES

    @classmethod
    def of(cls, geometry: ParallelGeometry) -> "AngleReport":
        """Of the views as they are reconstructed: those of an offset scan after joining."""
        coverage = Coverage.of(geometry.angles_rad)
        missing = tuple(np.degrees(coverage.missing_rad).tolist())
        covered, weighted = np.degrees(coverage.covered_rad), np.degrees(geometry.weights.sum())
        return cls(float(covered), float(weighted), missing, coverage.distinct_count)

    @property
    def warnings(self) -> list[str]:
        sentences = []
        if abs(self.sum_of_weights_deg - self.covered_deg) > WEIGHTS_TOLERANCE * self.covered_deg:
            sentences.append(
                f"The views cover {self.covered_deg:.2f} degrees but have weights of {self.sum_of_weights_deg:.2f} "
                "degrees: attenuations are wrong by that ratio. Check the angles of the scan."
            )
        if self.distinct_count < MIN_ANGLES:
            sentences.append(
                f"The views are at only {self.distinct_count} different angles, too few for a slice. "
                "Check the angles of the scan."
            )
        if self.missing_wedges_deg:
            sizes = ", ".join(f"{size:.1f}" for size in self.missing_wedges_deg)
            sentences.append(
                f"Views are missing over {sizes} degrees: edges in these directions are blurred, and attenuations are "
                "too low. Scan at least 180 degrees, and 360 with --offset."
            )
        return sentences


@dataclass(frozen=True)
class ReconstructionReport:
    """One run. seconds: of every step, added up over all workers; wall_s: from the first block to the last.

    scan: the facts of the scan. recipe: every choice that was made. axis: its column in the first and the last row.
    tilt: of the axis, where it was measured. angles: what the views cover, and the sum of their weights.
    output: where, which rows of the scan, shape, type, spacing, and the unit of the values. versions: of what took
    part.
    """

    scan: dict[str, Any]
    recipe: dict[str, Any]
    axis: tuple[float, float]
    tilt: Tilt | None
    angles: AngleReport
    output: dict[str, Any]
    device: str
    seconds: dict[str, float]
    wall_s: float
    warnings: tuple[str, ...] = ()
    versions: dict[str, str] = field(default_factory=versions)
    format: int = FORMAT

    def write(self, path: Path) -> None:
        write_whole(path, json.dumps(asdict(self), indent=2, default=str) + "\n")


def report_path(target: Location) -> Path | None:
    """Beside the output: ``sample.zarr`` has ``sample.zarr.report.json``; None where that is no place for files."""
    return None if target.is_remote or target.is_memory else target.local.with_name(f"{target.local.name}.report.json")


def is_report(path: Path) -> bool:
    """Whether a file is the report of a reconstruction."""
    try:
        read = json.loads(path.read_text())
    except (ValueError, RecursionError):
        return False
    return isinstance(read, dict) and {"scan", "recipe", "axis", "output", "versions"} <= read.keys()


def read_warnings(target: Location) -> list[str]:
    """Those in the report beside an output; none where it has no report."""
    path = report_path(target)
    if path is None or not path.is_file():
        return []
    return [str(sentence) for sentence in json.loads(path.read_text())["warnings"]]
