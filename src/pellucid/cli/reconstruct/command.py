"""``pellucid reconstruct``: from a scan to a volume.

Here: the command's arguments.
Not here: what is done with them (run, which loads more than other commands should wait for).
"""

import argparse

from pellucid.cli.arguments import add_device, add_memory, count_argument, positive_argument, range_argument
from pellucid.cli.engine_arguments import add_engine
from pellucid.cli.output_arguments import add_levels, add_storage
from pellucid.volume.levels import REDUCTIONS


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("reconstruct", help="reconstruct a volume from a scan (projections, flats, darks)")
    parser.add_argument("source", help="scan: HDF5 (Data Exchange, NXtomo), folder of TIFF files, HiPic")
    parser.add_argument("-o", "--output", help="output volume; the format follows from the name: .zarr .n5 .h5 .tif")
    parser.add_argument(
        "--preview", metavar="ROW,...", help="reconstruct only these rows and save them as an image next to the output"
    )
    parser.add_argument("--recipe", metavar="FILE", help="scan options and recipe saved by the viewer (JSON)")
    add_scan(parser.add_argument_group("the scan"))
    add_steps(parser.add_argument_group("steps"))
    _add_output(parser.add_argument_group("the volume"))
    running = parser.add_argument_group("running")
    add_device(running)
    add_memory(running)
    running.add_argument("--workers", type=count_argument, help="number of slabs in parallel (default: one per core)")
    add_engine(running)
    shown = "show slices as they are made, in the viewer at URL or in a new one"
    running.add_argument("--view", nargs="?", const="", metavar="URL", help=shown)
    live = "the scan is still being written: show three slices and keep updating them"
    running.add_argument("--follow", action="store_true", help=live)
    running.add_argument(
        "--timeout",
        type=float,
        default=60.0,
        metavar="S",
        help="with --follow: stop after S seconds without new projections",
    )
    running.add_argument("--overwrite", action="store_true", help="overwrite an existing output")
    parser.set_defaults(run=run)


def add_scan(group: "argparse._ArgumentGroup") -> None:
    group.add_argument("--projections", default="", help="dataset of the projections, if the file does not define it")
    several = "dataset, file, frames:FIRST:STOP or none; repeat it for those after the projections"
    group.add_argument("--flats", action="append", default=[], help=several)
    group.add_argument("--darks", action="append", default=[], help=several)
    group.add_argument("--angles", default="", help="0:180, 0:180:inclusive (degrees), a dataset or a file")
    group.add_argument(
        "--pixel-size", type=positive_argument, metavar="UM", help="pixel size at the sample, in micrometres"
    )
    group.add_argument("--keep-bad-pixels", action="store_true", help="do not repair dead and hot pixels")


def add_steps(group: "argparse._ArgumentGroup") -> None:
    group.add_argument(
        "--center", default="auto", help="column of the rotation axis, auto, or FIRST:LAST:STEP to compare several"
    )
    tilt = "tilt of the axis in columns per row, or auto (default: when-clear, which corrects a clear tilt)"
    group.add_argument("--tilt", default="when-clear", help=tilt)
    group.add_argument("--offset", action="store_true", help="360° scan with the rotation axis near the detector edge")
    group.add_argument("--roll", default="0", help="rotation of the detector against the axis in degrees, or auto")
    group.add_argument("--bin", type=count_argument, default=1, help="detector pixels per voxel edge")
    group.add_argument("--phase", metavar="KEV,MM,RATIO", help="Paganin: energy, distance to the detector, delta/beta")
    group.add_argument(
        "--zingers",
        type=float,
        default=0.0,
        help="threshold of the zinger filter in attenuation, such as 0.2 (default: off)",
    )
    group.add_argument("--air-columns", type=int, default=0, help="number of columns at both ends that show only air")
    rings = "none, auto, vo-sorting, vo-large, vo-dead, vo-all, fourier-wavelet or titarenko"
    group.add_argument("--ring", default="none", metavar="HOW", help=f"ring removal: {rings}")
    group.add_argument(
        "--method", default="direct", metavar="HOW", help="reconstruction method: direct, gridding (fast), sirt or cgls"
    )
    filters = "ramachandran, shepp-logan, chesler, cosine, hamming, hann or parzen"
    group.add_argument("--filter", default="chesler", metavar="NAME", help=f"filter of direct and gridding: {filters}")
    group.add_argument(
        "--padding", default="auto", metavar="HOW", help="padding of truncated projections: auto, none or edge"
    )
    iterations = "iterations of sirt and cgls; usually 200 and 20"
    group.add_argument("--iterations", type=count_argument, default=0, metavar="COUNT", help=iterations)
    group.add_argument("--nonnegative", action="store_true", help="sirt: keep values non-negative")
    group.add_argument("--no-circle", action="store_true", help="keep pixels outside the circle that every view covers")


def _add_output(group: "argparse._ArgumentGroup") -> None:
    group.add_argument("--rows", help="detector rows to reconstruct, FIRST:STOP (default: all)")
    crop = "part of every slice to keep, in detector pixels (default: all)"
    group.add_argument("--crop", metavar="Y0:Y1,X0:X1", help=crop)
    group.add_argument("--dtype", default="float32", help="voxel type, such as uint8 or uint16 (with --range)")
    group.add_argument(
        "--range", type=range_argument, metavar="LOW,HIGH", help="attenuations mapped to the ends of the voxel type"
    )
    add_levels(group)
    group.add_argument("--reduce", choices=tuple(REDUCTIONS), default="mean", help="how coarser levels are computed")
    add_storage(group)


def run(options: argparse.Namespace) -> int:
    from pellucid.cli.reconstruct.run import reconstruct_scan

    return reconstruct_scan(options)
