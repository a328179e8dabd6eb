"""``pellucid segment``: label the voxels of a volume with a network.

Here: the command's arguments.
Not here: arguments of networks (cli.network_arguments), running them (infer).
"""

import argparse

from pellucid.cli.arguments import number_argument, source_location
from pellucid.cli.network_arguments import add_network, control, inference_options, network_file, show


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("segment", help="label the voxels of a volume with a network")
    add_network(parser)
    parser.add_argument(
        "--threshold",
        type=number_argument,
        metavar="V",
        help="label values above this, of a network with one channel (default: 0.5 for probabilities, 0 for logits)",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from pellucid.infer.apply import segment

    volume, report = segment(
        source_location(options),
        options.output,
        network_file(options),
        inference_options(options),
        threshold=options.threshold,
        control=control(options),
    )
    return show(volume, report)
