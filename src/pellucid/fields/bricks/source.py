"""What fills bricks.

Here: BrickSource, the seam through which everything that is drawn in bricks comes in, and FilledBricks.
Not here: bricks of volumes (volume_bricks) and of neural fields (fields.neural), which are wanted (brick_field).
"""

from typing import Any, NamedTuple, Protocol

from pellucid.box import Box, Shape
from pellucid.fields.bricks.pyramid import Resolution
from pellucid.formats.protocol import Voxels


class FilledBricks(NamedTuple):
    """Bricks with their aprons.

    voxels: (n, 36³) of the stored type on the host, or their 32-bit words in an array of the device's.
    ranges: (n, 64) lowest and highest value of the cells of each, on the device; None where they are known already.
    """

    voxels: Any
    ranges: Any = None


class BrickSource(Protocol):
    """Anything that can fill bricks. levels: finest first; the last has a single brick. Called from any thread."""

    levels: tuple[Resolution, ...]

    def together(self, level: int) -> Shape:
        """How many bricks along (z, y, x) are best filled at once."""

    def fill(self, level: int, places: Voxels) -> FilledBricks:
        """Bricks of a level; places: (n, 3) which, along (z, y, x). Beyond the border its voxels are repeated."""

    def cell_ranges(self) -> Voxels:
        """(z, y, x, 2) float32: between which values a sample inside each cell lies, as far as that is known."""

    def ranges_in(self, cells: Box) -> Voxels:
        """The same of a box of cells, anew, after voxels there have changed."""

    def refresh(self, box: Box) -> None:
        """The voxels of a box of level 0 are new."""
