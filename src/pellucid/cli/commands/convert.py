"""``pellucid convert``: convert a volume to another format.

Here: the command's arguments.
Not here: converting (convert).
"""

import argparse
from typing import Any

from pellucid.box import Box
from pellucid.cli.arguments import (
    add_memory,
    add_source,
    count_argument,
    range_argument,
    shape_argument,
    source_location,
)
from pellucid.cli.commands.info import report
from pellucid.cli.engine_arguments import add_engine, chosen_engine
from pellucid.cli.output_arguments import add_box, add_levels, add_storage
from pellucid.conversion.convert import convert
from pellucid.volume.levels import REDUCTIONS
from pellucid.volume.volume import open_volume


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "convert", help="convert a volume to another format; crop it, change its type, add levels"
    )
    add_source(parser)
    parser.add_argument(
        "target", help="output; the format follows from the name: .zarr .n5 .h5 .tif .nii .nrrd ..., or folder/"
    )
    parser.add_argument("--dtype", help="voxel type of the output")
    parser.add_argument(
        "--range",
        type=range_argument,
        metavar="LOW,HIGH",
        help="source values mapped to the ends of the output type, or auto",
    )
    add_levels(parser)
    add_output(parser)
    parser.set_defaults(run=run)


def add_output(parser: argparse.ArgumentParser) -> None:
    """What convert and pyramid have in common."""
    add_box(parser)
    parser.add_argument("--reduce", choices=tuple(REDUCTIONS), default="mean", help="how coarser levels are computed")
    add_storage(parser)
    parser.add_argument("--shard", type=shape_argument, metavar="Z,Y,X", help="shard size in voxels (Zarr)")
    parser.add_argument("--overwrite", action="store_true", help="overwrite an existing output")
    running = parser.add_argument_group("running")
    add_memory(running)
    running.add_argument("--workers", type=count_argument, help="number of blocks in parallel (default: one per core)")
    add_engine(running)


def run(options: argparse.Namespace) -> int:
    location = source_location(options)
    written = convert(
        location, options.target, engine=chosen_engine(options), overwrite=options.overwrite, **_requests(options)
    )
    written.close()
    report(written.location)
    return 0


def _requests(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "box": _box(options),
        "level": options.level,
        "dtype": options.dtype,
        "value_range": options.range,
        "levels": options.levels,
        "reduce": options.reduce,
        "chunk": options.chunk,
        "shard": options.shard,
        "codec": options.codec,
        "max_files": options.max_files,
        "max_bytes": options.max_size,
        "max_compression_s": options.max_compression,
    }


def _box(options: argparse.Namespace) -> Box | None:
    if options.box is None:
        return None
    with open_volume(source_location(options).with_options(level=options.level)) as volume:
        return Box.parse(options.box, volume.shape)
