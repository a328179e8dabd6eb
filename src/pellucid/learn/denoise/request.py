"""What is to be denoised, and how it runs.

Here: DenoiseRequest, RunChoices.
Not here: the steps (pipeline). Nothing here needs PyTorch.
"""

import math
from dataclasses import dataclass, field
from pathlib import Path

from pellucid.box import Shape
from pellucid.engines.engine import Engine
from pellucid.errors import InvalidInput
from pellucid.formats.location import Location
from pellucid.learn.denoise.options import DenoiseOptions
from pellucid.learn.denoise.output_names import kept_network, report_file
from pellucid.tomo.correction.rings import RingSettings
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan_files.assembly import ScanOptions

RINGS = RingSettings(method="auto")


@dataclass(frozen=True)
class DenoiseRequest:
    """scan: its path; None where ``halves`` names at least two reconstructions of it, from different views. network: a
    network that was trained before; None trains one. dtype, value_range: of the output; of whole numbers, the range is
    that of the values where it is not given. rows: of the detector, first and stop. regions: NAME=BOX, in the voxels
    of the output, for the signal-to-noise ratio; without, two boxes are chosen. keep_slices: keep the noisy slices.
    """

    scan: str | None
    target: Location
    halves: tuple[str, ...] = ()
    network: Path | None = None
    scan_options: ScanOptions = field(default_factory=ScanOptions)
    recipe: Recipe = field(default_factory=lambda: Recipe(rings=RINGS))
    options: DenoiseOptions = field(default_factory=DenoiseOptions)
    dtype: str = "float32"
    value_range: tuple[float, float] | None = None
    rows: tuple[int, int] | None = None
    chunk: Shape | None = None
    regions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.scan is None) == (len(self.halves) < 2):
            raise InvalidInput(
                "Neither a scan nor two reconstructions of it were passed.",
                remedy="Pass the scan, or --halves A B: reconstructions from different views.",
            )
        if self.target.is_remote:
            raise InvalidInput(
                f"{self.target.path} is not on this machine.", remedy="Write to a local folder, and copy the result."
            )

    @property
    def kept_network(self) -> Path:
        """Where the trained network is kept: ``clean.zarr`` has ``clean.network``."""
        return kept_network(self.target.local)

    def beside(self, end: str) -> Path:
        """A file of the report."""
        return report_file(self.target.local, end)


@dataclass(frozen=True)
class RunChoices:
    """engine, training_engine: that reconstruct and infer, and that train; None for this process. device: auto, cpu,
    cuda or cuda:1. gpus, time_limit_s, threads: of the training, as in LearningControl."""

    engine: Engine | None = None
    training_engine: Engine | None = None
    device: str = "auto"
    gpus: int = 1
    time_limit_s: float = math.inf
    threads: int = 0
    loaders: int = 2
    overwrite: bool = False
