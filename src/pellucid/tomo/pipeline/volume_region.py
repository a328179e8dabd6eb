"""The part of a volume that is reconstructed: some rows of the detector, and a crop of every slice.

Here: VolumeRegion: what a user chose, checked, in voxels; where it begins.
Not here: making it (slab_task), the preview of a slice, which shows all of it (preview).

All columns of the detector are used for a crop: what is left out changes no voxel of what is kept.
"""

from dataclasses import dataclass

from pellucid.box import Shape
from pellucid.errors import InvalidInput
from pellucid.formats.orientation import Vector
from pellucid.tomo.scan import Scan

Range = tuple[int, int]
Crop = tuple[Range, Range]
"""First and stop along y, then along x, in pixels of the detector from the corner of a slice."""


@dataclass(frozen=True)
class VolumeRegion:
    """First and stop voxel along z, y and x of the whole volume. edge: voxels along y and x of the whole volume."""

    z: Range
    y: Range
    x: Range
    edge: int

    @classmethod
    def of(cls, rows: Range, crop: Crop | None, edge_px: int, binning: int) -> "VolumeRegion":
        """rows, edge_px: in pixels of the detector.

        >>> VolumeRegion.of((4, 12), ((10, 20), (0, 31)), 64, 2)
        VolumeRegion(z=(2, 6), y=(5, 10), x=(0, 15), edge=32)
        """
        edge, (first, stop) = edge_px // binning, rows
        if crop is None:
            return cls((first // binning, stop // binning), (0, edge), (0, edge), edge)
        for name, (low, high) in zip("yx", crop, strict=True):
            if not (0 <= low < high <= edge_px and low // binning < high // binning):
                raise InvalidInput(
                    f"Slices have no {name} {low}:{high}.", remedy=f"Choose a crop within 0:{edge_px} along y and x."
                )
        y, x = ((low // binning, high // binning) for low, high in crop)
        return cls((first // binning, stop // binning), y, x, edge)

    @property
    def shape(self) -> Shape:
        return (self.z[1] - self.z[0], self.y[1] - self.y[0], self.x[1] - self.x[0])

    @property
    def in_slice(self) -> tuple[slice, slice]:
        """What is kept of a slice."""
        return slice(*self.y), slice(*self.x)

    def first_voxel(self, edge_px: int, binning: int) -> Vector:
        """Where the region begins, (z, y, x) in pixels of the detector, counted from the first voxel of an unbinned
        volume of all rows. Row 0 of the detector is the top, column 0 is left. The axis is in the middle of both
        volumes, also where binning leaves columns over.
        """
        aside = (edge_px - 1 - (self.edge - 1) * binning) / 2
        z, y, x = (first * binning for first, _ in (self.z, self.y, self.x))
        return (z + (binning - 1) / 2, aside + y, aside + x)


def checked_rows(scan: Scan, rows: Range | None, binning: int) -> Range:
    """Rows of the detector; all of them where none are given."""
    first, stop = rows or (0, scan.rows)
    if not (0 <= first < stop <= scan.rows and first // binning < stop // binning):
        raise InvalidInput(f"{scan.name} has no rows {first}:{stop}.", remedy=f"Choose rows within 0:{scan.rows}.")
    return first, stop
