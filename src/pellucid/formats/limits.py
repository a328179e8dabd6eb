"""What a format can store, checked before anything is created.

Here: FormatLimits, and the refusals of a Layout that does not fit into them.
Not here: the limits themselves (each format states its own).
"""

from dataclasses import dataclass

import numpy as np

from pellucid.errors import InvalidInput, UnknownCodec, UnsupportedType
from pellucid.formats.location import Location
from pellucid.formats.protocol import VOXEL_TYPES, Layout, Level


@dataclass(frozen=True)
class FormatLimits:
    """Voxel types and codecs that a format of one level can hold. The first codec is the default."""

    name: str
    dtypes: tuple[str, ...] = VOXEL_TYPES
    codecs: tuple[str, ...] = ("none",)

    def check(self, location: Location, layout: Layout) -> Level:
        """The only level of the layout, once all of it is known to fit."""
        if len(layout.levels) != 1:
            raise InvalidInput(
                f"{self.name} supports one level, but {location.path} would have {len(layout.levels)}.",
                remedy="Write the full resolution only, or write Zarr, N5 or HDF5.",
            )
        dtype = np.dtype(layout.dtype).newbyteorder("=").name
        if dtype not in self.dtypes:
            raise UnsupportedType(self.name, dtype, self.dtypes)
        self.codec(location, layout)
        refuse_shards(self.name, location, layout)
        return layout.levels[0]

    def codec(self, location: Location, layout: Layout) -> str:
        """The codec to write with."""
        if layout.codec is None:
            return self.codecs[0]
        if layout.codec not in self.codecs:
            raise UnknownCodec(location.path, layout.codec, self.codecs)
        return layout.codec


def refuse_shards(name: str, location: Location, layout: Layout) -> None:
    """Raise if shards are requested in a format without shards."""
    if layout.shard is not None:
        raise InvalidInput(
            f"{name} does not support shards ({location.path}).",
            remedy="Leave out --shard, or write Zarr v3 (a name that ends in .zarr).",
        )
