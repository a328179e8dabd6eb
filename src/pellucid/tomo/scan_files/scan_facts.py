"""What a scan is, for users: its size, type, angles and what was assumed.

Here: ScanFacts, scan_facts.
Not here: reading it (registry), showing it (cli, workers, the page).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.tomo.scan import Scan


@dataclass(frozen=True)
class ScanFacts:
    """The geometry of a scan. pixel_size_um: None where unknown. assumptions: what its files do not say and is taken
    to be so."""

    name: str
    kind: str
    projections: int
    rows: int
    columns: int
    dtype: str
    flats: int
    darks: int
    first_angle_deg: float
    last_angle_deg: float
    is_full_turn: bool
    pixel_size_um: float | None
    assumptions: tuple[str, ...]

    @classmethod
    def of(cls, scan: Scan) -> "ScanFacts":
        first, last = (float(angle) for angle in np.rad2deg(scan.angles_rad[[0, -1]]))
        flats, darks = (frames.count if frames else 0 for frames in (scan.flats, scan.darks))
        sizes = (scan.count, scan.rows, scan.columns, scan.projections.dtype.name, flats, darks)
        turn = (first, last, scan.is_full_turn)
        return cls(scan.name, scan.kind, *sizes, *turn, scan.pixel_size_um, scan.assumptions)


def scan_facts(scan: Scan) -> dict[str, Any]:
    """All of that and more, as plain values for reports."""
    facts = ScanFacts.of(scan)
    return {
        "name": facts.name,
        "scan": facts.kind,
        "projections": facts.projections,
        "rows": facts.rows,
        "columns": facts.columns,
        "dtype": facts.dtype,
        "bytes": scan.count * scan.rows * scan.columns * scan.projections.dtype.itemsize,
        "first_angle_deg": facts.first_angle_deg,
        "last_angle_deg": facts.last_angle_deg,
        "step_deg": float(np.rad2deg(scan.step_rad)),
        "span_deg": float(np.rad2deg(scan.span_rad)),
        "is_full_turn": facts.is_full_turn,
        "flats": facts.flats,
        "flat_groups": scan.groups(scan.flats),
        "darks": facts.darks,
        "dark_groups": scan.groups(scan.darks),
        "pixel_size_um": facts.pixel_size_um,
        "axis_column": scan.axis_column,
        "assumptions": list(facts.assumptions),
    }
