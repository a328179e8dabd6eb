"""``pellucid compress``: compress a volume into a neural field.

Here: the command's arguments, and what it prints.
Not here: compressing (pellucid.neural.compression).
"""

import argparse
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pellucid.box import Shape
from pellucid.cli.arguments import (
    add_device,
    add_source,
    bytes_argument,
    count_argument,
    shape_argument,
    source_location,
    time_argument,
)
from pellucid.cli.browser import has_browser, open_browser
from pellucid.cli.optional_packages import requires_extra
from pellucid.formats.location import Location

if TYPE_CHECKING:
    from pellucid.neural.compression import CompressionOptions, Report

MODELS = ("adaptive", "pyramid", "amgsrn", "fvsrn", "ngp")


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("compress", help="compress a volume into a small neural field (.plf)")
    add_source(parser)
    parser.add_argument("-o", "--output", required=True, type=Path, help="neural field to write, FILE.plf")
    parser.add_argument(
        "--size",
        type=bytes_argument,
        metavar="BYTES",
        help="size of the file, such as 1MB (default: 1/100 of the volume, or less with --max-error); of a series, for "
        "each time step",
    )
    parser.add_argument("--psnr", type=float, metavar="DB", help="find the smallest field with this PSNR")
    parser.add_argument(
        "--max-error",
        type=float,
        metavar="E",
        help="largest error of any voxel, in the volume's units; the remaining error is stored too",
    )
    parser.add_argument(
        "--time", type=time_argument, metavar="T", help="training time for everything, such as 60s or 5min"
    )
    parser.add_argument("--steps", type=count_argument, help="number of training steps")
    parser.add_argument("--model", choices=MODELS, default="adaptive", help="kind of network")
    parser.add_argument(
        "--bricks",
        type=bricks_argument,
        metavar="Z,Y,X",
        help="split a large volume into this many bricks along (z, y, x), each with its model, such as 2,2,2; or auto",
    )
    parser.add_argument(
        "--ghost",
        type=ghost_argument,
        metavar="N",
        help="voxels by which bricks overlap their neighbours (default: 1/16 of their shortest edge; 0: visible seams)",
    )
    parser.add_argument(
        "--workers",
        type=count_argument,
        help="bricks trained at the same time, each in a process (default: GPUs, or 1)",
    )
    parser.add_argument(
        "--engine", help="where models are trained: serial, processes, parsl:SITE, or spark://HOST:PORT"
    )
    add_device(parser)
    parser.add_argument("--seed", type=int, default=42, help="seed of the random numbers")
    parser.add_argument(
        "--view", action="store_true", help="show the training in the browser, beside the volume, until Ctrl-C"
    )
    parser.add_argument("--overwrite", action="store_true", help="overwrite an existing output")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    with requires_extra("neural"):
        from pellucid.neural.compression import CompressionOptions, compress
    chosen = CompressionOptions(
        size=options.size,
        psnr=options.psnr,
        max_error=options.max_error,
        seconds=options.time,
        steps=options.steps,
        model=options.model,
        device=options.device,
        seed=options.seed,
        overwrite=options.overwrite,
        bricks=options.bricks,
        ghost=options.ghost,
        workers=options.workers,
        engine=options.engine,
    )
    if options.view:
        _compress_in_view(source_location(options), options.output, chosen)
    else:
        _print_report(compress(source_location(options), options.output, chosen))
    return 0


def _print_report(report: "Report") -> None:
    quality = report.quality
    print(f"wrote {report.path}: {report.file_bytes:,} bytes, {report.ratio:,.1f} times smaller")
    print(f"field {report.field_bytes:,} bytes, residual {report.residual_bytes:,} bytes; {report.parameters:,} values")
    steps = f" (the worst of {report.times} time steps)" if report.times > 1 else ""
    print(f"PSNR {quality.psnr:.2f} dB, SSIM {quality.ssim:.4f}, largest error {quality.max_error:.4g}{steps}")
    memory = f", {report.device_memory / 2**20:,.0f} MiB of device memory" if report.device_memory else ""
    models = f" of {report.bricks} models" if report.bricks > 1 else ""
    print(
        f"trained {report.training.steps:,} steps{models} in {report.training.seconds:.1f} s on {report.device}{memory}"
    )


def _compress_in_view(source: Location, output: Path, chosen: "CompressionOptions") -> None:
    """Compress while a viewer shows the training, which stays until the user ends it or the command."""
    from pellucid.client.launch import start
    from pellucid.client.training_view import TrainingView
    from pellucid.neural.compression import compress
    from pellucid.neural.training_watch import preview_shape, watching
    from pellucid.volume.volume import open_volume

    with open_volume(source) as volume, start(roots=[output.absolute().parent]) as viewer:
        print(viewer.url, flush=True)
        if has_browser():
            open_browser(viewer.url)
        with TrainingView(viewer, volume, preview_shape(volume.shape)) as view:
            with watching(view.show):
                report = compress(source, output, chosen)
            view.finish(output)
        _print_report(report)
        print("The viewer stays open. Press Ctrl-C to stop.", flush=True)
        with suppress(KeyboardInterrupt):
            viewer.wait()


def bricks_argument(text: str) -> Shape | str:
    """``2,2,2`` or ``auto``."""
    return "auto" if text == "auto" else shape_argument(text)


def ghost_argument(text: str) -> int:
    """A whole number from 0."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)
