"""``pellucid segment``: label the voxels of a volume with a network.

Here: the command's arguments.
Not here: arguments of networks (cli.network_arguments), running them (infer).
"""

import argparse

from pellucid.cli.arguments import number_argument, source_location
from pellucid.cli.network_arguments import add_network, control, inference_options, network_file, show
from pellucid.errors import InvalidInput


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("segment", help="label the voxels of a volume with a network")
    add_network(parser)
    parser.add_argument(
        "--threshold",
        type=number_argument,
        metavar="V",
        help="for a network with one channel, label values above this (default: 0.5 for probabilities, 0 for logits); "
        "with --objects, join fragments with a weaker boundary between them (default: 0.5)",
    )
    parser.add_argument(
        "--objects",
        action="store_true",
        help="the network predicts boundaries: write the number of the object at every voxel",
    )
    parser.add_argument(
        "--min-size",
        type=int,
        metavar="VOXELS",
        help="with --objects, join smaller objects to a neighbour (default: 100)",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.objects:
        return _segment_objects(options)
    if options.min_size is not None:
        raise InvalidInput("--min-size needs --objects.", remedy="Add --objects, or leave --min-size out.")
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


def _segment_objects(options: argparse.Namespace) -> int:
    from pellucid.infer.objects.object_job import ObjectOptions, segment_objects

    usual = ObjectOptions()
    chosen = ObjectOptions(
        usual.threshold if options.threshold is None else options.threshold,
        usual.min_size if options.min_size is None else options.min_size,
    )
    volume, report = segment_objects(
        source_location(options),
        options.output,
        network_file(options),
        inference_options(options),
        chosen,
        control(options),
    )
    return show(volume, report)
