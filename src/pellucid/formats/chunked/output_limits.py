"""What an output may cost: files, bytes, and the time that compressing it takes.

Here: OutputLimits; with_limits, which keeps a layout to them or refuses it before anything runs.
Not here: numbers of files (file_count), memory and devices (engines.budget).
"""

import math
from dataclasses import replace
from math import prod
from typing import Protocol

from pellucid.errors import InvalidInput
from pellucid.formats.chunked.file_count import CHUNKED, with_max_files
from pellucid.formats.chunked.levels import DEFAULT_CODEC
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout
from pellucid.formats.registry import format_for_writing
from pellucid.printable import size_text

ENCODED_BYTES_PER_S = {"gzip": 120e6, "blosc": 170e6, "zstd": 260e6, "lz4": 420e6, "none": math.inf}
"""Of a core, measured on a noisy volume of 16 bits; smooth ones are faster. Not measured for each job: one that was
interrupted has to choose the same codec again."""
CHEAPER = ("blosc", "zstd", "lz4", "none")
"""Tried in this order where no codec was requested: what compresses most first."""


class OutputLimits(Protocol):
    """max_files: of a store. max_bytes: on the disk, without compression. max_compression_s: of processor time, for
    all levels. None: no limit."""

    @property
    def max_files(self) -> int | None: ...

    @property
    def max_bytes(self) -> int | None: ...

    @property
    def max_compression_s(self) -> float | None: ...


def with_limits(location: Location, layout: Layout, limits: OutputLimits) -> Layout:
    """The layout with larger shards or chunks, and with a faster codec, where the limits need that."""
    _check_size(location, layout, limits.max_bytes)
    if limits.max_compression_s is not None and format_for_writing(location) in CHUNKED:
        layout = with_compression_time(layout, limits.max_compression_s)
    return with_max_files(location, layout, limits.max_files)


def stored_bytes(layout: Layout) -> int:
    """Of all levels, without compression: compressed, noise takes about as much."""
    return sum(prod(level.shape) for level in layout.levels) * layout.dtype.itemsize


def _check_size(location: Location, layout: Layout, max_bytes: int | None) -> None:
    needs = stored_bytes(layout)
    if max_bytes is not None and needs > max_bytes:
        raise InvalidInput(
            f"{location.path} may take {size_text(needs)}, which is more than {size_text(max_bytes)}.",
            remedy=f"Allow {size_text(needs)}, write fewer levels or a smaller voxel type, or choose a --box.",
        )


def with_compression_time(layout: Layout, max_s: float) -> Layout:
    """The layout with the codec that was requested, or the first that is fast enough."""
    codecs = (layout.codec,) if layout.codec else CHEAPER
    taken = {codec: stored_bytes(layout) / ENCODED_BYTES_PER_S[codec] for codec in codecs}
    for codec, seconds in taken.items():
        if seconds <= max_s:
            return layout if codec == (layout.codec or DEFAULT_CODEC) else replace(layout, codec=codec)
    codec, seconds = codecs[-1], taken[codecs[-1]]
    raise InvalidInput(
        f"Compressing with {codec} takes about {seconds:,.0f} s of processor time, which is more than {max_s:,.0f} s.",
        remedy=f"Allow {math.ceil(seconds):,} s, use --codec none, or write fewer levels.",
    )
