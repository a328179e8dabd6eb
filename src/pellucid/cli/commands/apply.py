"""``pellucid apply``: write the values that a network makes of a volume.

Here: the command's arguments.
Not here: arguments of networks (cli.network_arguments), running them (infer).
"""

import argparse

from pellucid.cli.arguments import range_argument, source_location
from pellucid.cli.network_arguments import add_network, control, inference_options, network_file, show
from pellucid.errors import InvalidInput


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("apply", help="apply a network to a volume: denoised, sharper or other values")
    add_network(parser)
    parser.add_argument("--channel", type=int, metavar="N", help="channel of the network's output, from 0")
    parser.add_argument("--dtype", default="float32", help="voxel type of the output (default: float32)")
    parser.add_argument(
        "--range", type=range_argument, metavar="LOW,HIGH", help="values mapped to the ends of the output type"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from pellucid.infer.apply import OutputValues, apply_network

    if options.range == "auto":
        raise InvalidInput(
            "The range of a network's output is not known before it has run.", remedy="Use --range LOW,HIGH."
        )
    volume, report = apply_network(
        source_location(options),
        options.output,
        network_file(options),
        inference_options(options),
        values=OutputValues(options.channel, options.dtype, options.range),
        control=control(options),
    )
    return show(volume, report)
