"""``pellucid pyramid``: write a volume with all its coarser levels.

Here: the command's arguments; it is convert with other defaults.
Not here: making levels (convert).
"""

import argparse

from pellucid.cli.arguments import add_source
from pellucid.cli.commands.convert import add_output, run


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("pyramid", help="write a volume with all its coarser levels")
    add_source(parser)
    parser.add_argument("target", help="output: .zarr, .zarr2, .n5 or .h5")
    add_output(parser)
    parser.set_defaults(run=run, levels="auto", dtype=None, range=None)
