"""What a reconstruction did, for people and for programs: every parameter, versions, warnings and times.

Here: Report, and writing it as JSON.
Not here: making it (pipeline).
"""

import json
import platform
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pellucid.formats.location import Location

FORMAT = 1
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
class Report:
    """One run. seconds: of every step, added up over all workers; wall_s: from the first block to the last.

    scan: the facts of the scan. recipe: every choice that was made. axis: its column in the first and the last row.
    output: where, which rows of the scan, shape, type, spacing, and the unit of the values. versions: of what took
    part.
    """

    scan: dict[str, Any]
    recipe: dict[str, Any]
    axis: tuple[float, float]
    output: dict[str, Any]
    device: str
    seconds: dict[str, float]
    wall_s: float
    warnings: tuple[str, ...] = ()
    versions: dict[str, str] = field(default_factory=versions)
    format: int = FORMAT

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=2, default=str) + "\n")


def report_path(target: Location) -> Path | None:
    """Beside the output: ``sample.zarr`` has ``sample.zarr.report.json``; None where that is no place for files."""
    return None if target.is_remote or target.is_memory else target.local.with_name(f"{target.local.name}.report.json")
