"""The options of a conversion.

Here: ConversionOptions, checked when it is made.
Not here: whether the volume and the format can do it (convert, formats).
"""

from dataclasses import dataclass, fields
from typing import Any, Literal

from pellucid.box import Box, Shape
from pellucid.errors import InvalidInput
from pellucid.formats.text_options import type_name


@dataclass(frozen=True)
class ConversionOptions:
    """What is to become of a volume; every field has a sensible default.

    box, level: the part and the resolution to take. dtype, value_range: the new voxel type, and the values that become
    its ends ("auto": the data's own). levels: how many resolutions to write, or "auto" for all down to a thumbnail.
    reduce: mean, max, or mode (labels). chunk, shard, codec: as in formats.protocol.Layout. max_files: that the output
    may be made of; its shards (Zarr) or chunks (N5) become larger. max_bytes: that it may take, without compression.
    max_compression_s: of processor time; a faster codec is used unless one was chosen.
    """

    box: Box | None = None
    level: int | None = None
    dtype: str | None = None
    value_range: tuple[float, float] | Literal["auto"] | None = None
    levels: int | Literal["auto"] = 1
    reduce: str = "mean"
    chunk: Shape | None = None
    shard: Shape | None = None
    codec: str | None = None
    max_files: int | None = None
    max_bytes: int | None = None
    max_compression_s: float | None = None

    def __post_init__(self) -> None:
        _check("box", self.box, "a pellucid.Box", self.box is None or isinstance(self.box, Box))
        for name, edges in (("chunk", self.chunk), ("shard", self.shard)):
            is_shape = isinstance(edges, tuple) and len(edges) == 3 and all(isinstance(n, int) and n > 0 for n in edges)
            _check(name, edges, "three whole numbers (z, y, x) above 0", edges is None or is_shape)
        is_count = isinstance(self.levels, int) and self.levels >= 1
        _check("levels", self.levels, 'a number from 1, or "auto"', self.levels == "auto" or is_count)
        is_number = self.max_files is None or (isinstance(self.max_files, int) and self.max_files >= 1)
        _check("max_files", self.max_files, "a number from 1", is_number)
        for name, limit in (("max_bytes", self.max_bytes), ("max_compression_s", self.max_compression_s)):
            _check(name, limit, "a number above 0", limit is None or (isinstance(limit, int | float) and limit > 0))
        limits = self.value_range
        is_pair = isinstance(limits, tuple) and len(limits) == 2
        _check("value_range", limits, '(low, high), or "auto"', limits is None or limits == "auto" or is_pair)
        if self.dtype is not None:
            object.__setattr__(self, "dtype", type_name(self.dtype))


def _check(name: str, value: object, wanted: str, is_right: bool) -> None:
    if not is_right:
        raise InvalidInput(f"Invalid value for {name}: {value!r}.", remedy=f"Use {wanted}.")


def parse_options(requests: dict[str, Any]) -> ConversionOptions:
    """A Conversion from words; one that is not known is refused with those that are."""
    known = [field.name for field in fields(ConversionOptions)]
    if unknown := sorted(set(requests) - set(known)):
        raise InvalidInput(f"Unknown conversion option {unknown[0]!r}.", remedy=f"Valid options: {', '.join(known)}.")
    return ConversionOptions(**requests)
