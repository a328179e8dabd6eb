"""The report of networks that were applied: windows, halo, what was computed, and how exact it is.

Here: NetworkReport, InferenceReport.
Not here: measuring the deviation (deviation).
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from pellucid.box import Shape
from pellucid.formats.local_files import write_whole
from pellucid.infer.deviation import Deviation


@dataclass(frozen=True)
class NetworkReport:
    """One network. factor: voxels computed for each voxel of its input. radius: None where it is not known."""

    path: str
    kind: str
    window: Shape
    halo: Shape
    radius: Shape | None
    factor: float
    runtime: str
    warnings: tuple[str, ...] = ()
    deviation: Deviation | None = None

    @property
    def is_exact(self) -> bool:
        """Whether the halo covers the receptive field, so that windows leave no trace."""
        covered = self.radius is not None and all(h >= r for h, r in zip(self.halo, self.radius, strict=True))
        return covered and not self.warnings

    def sentences(self) -> list[str]:
        exact = "covers the receptive field" if self.is_exact else f"blended; receptive radius {self.radius}"
        lines = [
            f"{Path(self.path).name}: {self.kind}, on {self.runtime}.",
            f"Windows of {self.window} with a halo of {self.halo} voxels (z, y, x; {exact}): "
            f"{self.factor:.2f} voxels computed for each voxel of the volume.",
        ]
        if self.deviation is not None:
            lines.append(self.deviation.sentence())
        return [*lines, *self.warnings]


@dataclass(frozen=True)
class InferenceReport:
    """networks: in the order in which they ran. seconds: of the whole run; a resumed run counts from its own start."""

    source: str
    output: str
    networks: tuple[NetworkReport, ...]
    seconds: float = 0.0

    @property
    def sentences(self) -> list[str]:
        return [sentence for network in self.networks for sentence in network.sentences()]

    def write(self, path: Path) -> None:
        write_whole(path, json.dumps(asdict(self), indent=2, default=str) + "\n")
