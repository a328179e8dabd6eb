"""Arguments that commands with a network have in common.

Here: the network, its form, its windows, and where it runs; the report that is printed.
Not here: the commands (commands.segment, commands.apply), running networks (infer).
"""

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from pellucid.box import Box, Shape, triple
from pellucid.cli.arguments import add_device, add_memory, add_source, count_argument, shape_argument, source_location
from pellucid.cli.commands.info import report as show_facts
from pellucid.cli.engine_arguments import add_engine, chosen_engine
from pellucid.cli.output_arguments import add_box, add_levels, add_storage
from pellucid.volume.volume import Volume, open_volume

if TYPE_CHECKING:
    from pellucid.infer.apply import RunControl
    from pellucid.infer.job import InferenceOptions, NetworkFile
    from pellucid.infer.report import InferenceReport

BOX = "; the network sees nothing around it, so add a margin of the halo if values at its faces must be exact"


def add_network(parser: argparse.ArgumentParser) -> None:
    """Everything but what is kept of the output."""
    add_source(parser)
    parser.add_argument(
        "--network", required=True, type=Path, metavar="FILE.onnx", help="network to apply, or bioimageio.yaml"
    )
    parser.add_argument("-o", "--output", required=True, help="output; the format follows from the name: .zarr .n5 ...")
    parser.add_argument(
        "--also",
        action="append",
        default=[],
        metavar="VOLUME",
        help="volume for another input or channel of the network; repeat for several",
    )
    parser.add_argument(
        "--after",
        action="append",
        default=[],
        metavar="[NAME:]FILE.onnx",
        help="apply this network first, without storing its result; repeat for several",
    )
    parser.add_argument(
        "--intermediate", type=Path, metavar="VOLUME", help="volume for the result of the networks of --after"
    )
    _add_form(parser)
    _add_output(parser)


def _add_form(parser: argparse.ArgumentParser) -> None:
    form = parser.add_argument_group("what the ONNX file does not state")
    form.add_argument(
        "--axes", help="axes of the network's input, a letter each (b, c, z, y, x), such as bcyx or bzyxc"
    )
    form.add_argument(
        "--halo",
        type=halo_argument,
        metavar="N",
        help="voxels around a window, N or Z,Y,X (default: the receptive field)",
    )
    form.add_argument("--window", type=shape_argument, metavar="Z,Y,X", help="window (default: the largest that fits)")
    for name, when in (("--preprocess", "before"), ("--postprocess", "after")):
        form.add_argument(
            name,
            action="append",
            default=[],
            metavar="NAME[:KEY=VALUE,...]",
            help=f"applied to values {when} the network, as in bioimage.io, such as "
            + ("zero_mean_unit_variance" if when == "before" else "sigmoid"),
        )


def _add_output(parser: argparse.ArgumentParser) -> None:
    add_box(parser, BOX)
    add_levels(parser)
    add_storage(parser)
    parser.add_argument("--overwrite", action="store_true", help="overwrite an existing output")
    running = parser.add_argument_group("running")
    add_device(running, "auto")
    add_memory(running)
    running.add_argument("--workers", type=count_argument, help="number of blocks in parallel (default: 2)")
    add_engine(running)
    running.add_argument(
        "--no-check",
        dest="is_checked",
        action="store_false",
        help="do not measure the deviation from the whole volume at once",
    )


def halo_argument(text: str) -> Shape:
    """``16`` or ``8,16,16``; 0 is a halo too."""
    numbers = [int(part) if part.isdecimal() else -1 for part in text.split(",")]
    if len(numbers) not in (1, 3) or min(numbers) < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not one or three whole numbers from 0 (Z,Y,X)")
    return triple(numbers * 3 if len(numbers) == 1 else numbers)


def network_file(options: argparse.Namespace) -> "NetworkFile":
    from pellucid.infer.job import NetworkFile
    from pellucid.infer.network_files.network import NetworkForm
    from pellucid.infer.network_files.transforms import ValueTransform

    before = tuple(map(ValueTransform.parse, options.preprocess))
    after = tuple(map(ValueTransform.parse, options.postprocess))
    return NetworkFile(options.network, NetworkForm(options.axes, options.halo, before, after))


def inference_options(options: argparse.Namespace) -> "InferenceOptions":
    from pellucid.infer.job import InferenceOptions, NetworkFile

    return InferenceOptions(
        also=tuple(options.also),
        after=tuple(NetworkFile(chained_path(text)) for text in options.after),
        intermediate=options.intermediate,
        box=_box(options),
        level=options.level,
        window=options.window,
        levels=options.levels,
        chunk=options.chunk,
        codec=options.codec,
        max_files=options.max_files,
        max_bytes=options.max_size,
        max_compression_s=options.max_compression,
        device=options.device,
    )


def chained_path(text: str) -> Path:
    """The file in ``NAME:FILE``; the name is for readers.

    >>> str(chained_path("superres:net.onnx"))
    'net.onnx'
    """
    named = re.fullmatch(r"[a-z-]+:(.+)", text)
    return Path(named[1] if named and not Path(text).exists() else text)


def control(options: argparse.Namespace) -> "RunControl":
    from pellucid.infer.apply import WORKERS, RunControl

    return RunControl(chosen_engine(options, WORKERS), overwrite=options.overwrite, is_checked=options.is_checked)


def show(volume: Volume, report: "InferenceReport") -> int:
    """Print what was written and how; the exit code."""
    volume.close()
    show_facts(volume.location)
    for sentence in report.sentences:
        print(sentence)
    return 0


def _box(options: argparse.Namespace) -> Box | None:
    if options.box is None:
        return None
    with open_volume(source_location(options).with_options(level=options.level)) as volume:
        return Box.parse(options.box, volume.shape)
