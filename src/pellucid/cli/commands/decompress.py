"""``pellucid decompress``: write the voxels of a neural field, or of a part of it, in any format.

Here: the command's arguments; it is convert for files that are neural fields.
Not here: converting (convert), nor making neural fields.
"""

import argparse

from pellucid.cli.arguments import add_source, levels_argument, source_location
from pellucid.cli.commands.convert import add_output
from pellucid.cli.commands.convert import run as run_convert
from pellucid.errors import InvalidInput
from pellucid.formats.registry import recognise


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("decompress", help="write the voxels of a neural field, or of a box of it")
    add_source(parser)
    parser.add_argument(
        "--output",
        "-o",
        dest="target",
        required=True,
        help="output; the format follows from the name: .zarr .n5 .h5 .tif .nii .nrrd ..., or folder/",
    )
    parser.add_argument("--levels", type=levels_argument, default=1, help="resolutions to write: a number or auto")
    parser.add_argument("--time", type=int, metavar="N", help="time step of a series, from 0")
    add_output(parser)
    parser.set_defaults(run=run, dtype=None, range=None)


def run(options: argparse.Namespace) -> int:
    location = source_location(options)
    if options.time is not None:
        location = location.with_options(t=options.time)
        options.source = str(location)
    if (kind := recognise(location)) != "neural":
        raise InvalidInput(
            f"{location.path} is not a neural field, but {kind}.",
            remedy="Use pellucid convert, or pass a file that pellucid compress wrote, such as field.plf.",
        )
    return run_convert(options)
