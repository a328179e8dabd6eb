"""``pellucid denoise``: reconstruct a scan with less noise, by a network that learns from the scan itself.

Here: the command's arguments, and what it prints.
Not here: denoising (pellucid.learn.denoise).
"""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pellucid.cli.arguments import add_device, add_memory, count_argument, range_argument, shape_argument
from pellucid.cli.commands.info import report as show_facts
from pellucid.cli.learn.arguments import add_training, learning_changes, training_engine
from pellucid.cli.optional_packages import requires_extra
from pellucid.cli.reconstruct.command import add_scan, add_steps
from pellucid.errors import InvalidInput
from pellucid.formats.location import Location
from pellucid.settings import load

if TYPE_CHECKING:
    from pellucid.learn.denoise.options import DenoiseOptions
    from pellucid.learn.denoise.request import DenoiseRequest, RunChoices

PRESETS = ("fast", "spring8")


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("denoise", help="reconstruct a scan with less noise, by a network that learns from it")
    parser.add_argument("source", nargs="?", help="scan: HDF5 (Data Exchange, NXtomo), folder of TIFF files, HiPic")
    parser.add_argument(
        "-o", "--output", required=True, help="output volume; the format follows from the name: .zarr ..."
    )
    parser.add_argument(
        "--halves",
        nargs="+",
        default=[],
        metavar="VOLUME",
        help="reconstructions of different views, instead of a scan",
    )
    parser.add_argument("--network", type=Path, metavar="FOLDER", help="apply a network that was trained before")
    parser.add_argument("--preset", choices=PRESETS, default="fast", help="settings of the network and its training")
    parser.add_argument("--recipe", metavar="FILE", help="scan options and recipe saved by the viewer (JSON)")
    _add_network(parser.add_argument_group("network (default: those of the preset)"))
    add_training(parser)
    add_scan(parser.add_argument_group("the scan"))
    add_steps(parser.add_argument_group("steps"))
    parser.set_defaults(ring=None)
    _add_output(parser)
    parser.set_defaults(run=run)


def _add_network(group: "argparse._ArgumentGroup") -> None:
    group.add_argument("--sets", type=count_argument, help="number of sets into which the projections are split")
    group.add_argument("--slices", type=count_argument, help="number of slices to learn from")
    group.add_argument(
        "--width",
        type=count_argument,
        help="channels of the network's finest level (default: 64 on a GPU, 16 on a CPU)",
    )
    group.add_argument("--patch", type=count_argument, help="edge of the patches to learn from, in pixels")


def _add_output(parser: argparse.ArgumentParser) -> None:
    volume = parser.add_argument_group("the volume")
    volume.add_argument("--rows", help="detector rows to reconstruct, FIRST:STOP (default: all)")
    volume.add_argument("--dtype", default="float32", help="voxel type, such as uint16")
    volume.add_argument(
        "--range", type=range_argument, default="auto", metavar="LOW,HIGH",
        help="values mapped to the ends of the voxel type, or auto",
    )  # fmt: skip
    volume.add_argument("--chunk", type=shape_argument, metavar="Z,Y,X", help="chunk size in voxels")
    volume.add_argument(
        "--region", action="append", default=[], metavar="NAME=BOX",
        help="box of material or air for the signal-to-noise ratio: air=z0:z1,y0:y1,x0:x1",
    )  # fmt: skip
    volume.add_argument("--overwrite", action="store_true", help="overwrite an existing output")
    running = parser.add_argument_group("running")
    add_device(running, "auto")
    add_memory(running)
    running.add_argument("--engine", help="serial, local (threads), processes, parsl:SITE or spark://HOST:PORT")


def run(options: argparse.Namespace) -> int:
    with requires_extra("learn"):
        from pellucid.learn.denoise.pipeline import denoise
    report = denoise(_request(options), _running(options))
    show_facts(Location.parse(options.output))
    for sentence in report.sentences:
        print(sentence)
    print(f"network: {report.network}")
    return 0


def _request(options: argparse.Namespace) -> "DenoiseRequest":
    from pellucid.cli.reconstruct.run import one_reconstruction, row_range
    from pellucid.learn.denoise.request import DenoiseRequest

    if options.halves and options.source:
        raise InvalidInput("Both a scan and --halves were passed.", remedy="Pass only one of them.")
    options.ring = options.ring or ("none" if options.recipe else "auto")  # A recipe says it itself.
    text = one_reconstruction(options)
    return DenoiseRequest(
        scan=str(Location.parse(options.source).absolute) if options.source else None,
        target=Location.parse(options.output),
        halves=tuple(options.halves),
        network=options.network,
        scan_options=text.scan,
        recipe=text.recipe,
        options=_chosen(options),
        dtype=options.dtype,
        value_range=None if options.range == "auto" else options.range,
        rows=row_range(options.rows) if options.rows else None,
        chunk=options.chunk,
        regions=tuple(options.region),
    )


def _chosen(options: argparse.Namespace) -> "DenoiseOptions":
    from pellucid.learn.denoise.options import preset

    chosen = {name: getattr(options, name) for name in ("sets", "slices", "width", "patch") if getattr(options, name)}
    return replace(preset(options.preset), **chosen).with_learning(**learning_changes(options))


def _running(options: argparse.Namespace) -> "RunChoices":
    from pellucid.engines.engine import EngineOptions, make_engine
    from pellucid.learn.denoise.request import RunChoices

    settings = load(memory_bytes=options.memory)
    engine = make_engine(options.engine or "local", EngineOptions(settings.threads, settings.memory_bytes))
    return RunChoices(
        engine=engine,
        training_engine=training_engine(options.engine, options.memory),
        device=options.device,
        gpus=options.gpus,
        time_limit_s=options.time_limit,
        threads=options.threads,
        loaders=options.loaders,
        overwrite=options.overwrite,
    )
