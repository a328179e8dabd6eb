"""``pellucid superres``: restore the resolution of a volume with a network, and check what it made.

Here: the command's arguments.
Not here: arguments of networks (cli.network_arguments), the check (pellucid.learn.superres).
"""

import argparse

from pellucid.cli.arguments import range_argument, source_location
from pellucid.cli.network_arguments import add_network, control, inference_options, network_file, show
from pellucid.volume.volume import open_volume


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("superres", help="restore resolution with a network, and check the result")
    add_network(parser)
    parser.add_argument("--dtype", default="float32", help="voxel type, such as uint8 (with --range)")
    parser.add_argument(
        "--range", type=range_argument, metavar="LOW,HIGH", help="values mapped to the ends of the type"
    )
    parser.add_argument(
        "--degradation",
        choices=("average", "subsample"),
        default="average",
        help="how the coarse volume is computed from a fine one, for the check",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from pellucid.infer.apply import OutputValues, apply_network
    from pellucid.learn.superres.consistency import check_consistency

    value_range = None if options.range == "auto" else options.range
    chosen, source = inference_options(options), source_location(options)
    volume, report = apply_network(
        source,
        options.output,
        network_file(options),
        chosen,
        values=OutputValues(dtype=options.dtype, value_range=value_range),
        control=control(options),
    )
    with open_volume(source if options.level is None else source.with_options(level=options.level)) as coarse:
        found = check_consistency(coarse, volume, options.degradation, box=chosen.box, value_range=value_range)
    code = show(volume, report)
    print(found.sentence)
    return code
