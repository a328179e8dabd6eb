"""``pellucid reconstruct``: from a scan to a volume.

Here: the command's arguments.
Not here: what is done with them (reconstruct_scan, which loads more than other commands should wait for).
"""

import argparse

from pellucid.cli.arguments import count_argument, levels_argument, positive_argument, range_argument, shape_argument
from pellucid.volume.levels import REDUCTIONS


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("reconstruct", help="from a scan (projections, flats, darks) to a volume")
    parser.add_argument("source", help="scan: HDF5 (Data Exchange, NXtomo), folder of TIFF files, HiPic")
    parser.add_argument("-o", "--output", help="volume; its name says the format: .zarr .n5 .h5 .tif")
    parser.add_argument("--preview", metavar="ROW,...", help="only these rows, as a picture beside the output")
    parser.add_argument("--recipe", metavar="FILE", help="all about scan and steps, as the viewer saves it (JSON)")
    _add_scan(parser.add_argument_group("the scan"))
    _add_steps(parser.add_argument_group("steps"))
    _add_output(parser.add_argument_group("the volume"))
    running = parser.add_argument_group("running")
    running.add_argument("--device", help="cpu, cuda, cuda:1 (default: a card where there is one)")
    running.add_argument("--memory", help="most memory to use, such as 4GiB (default: half of what is free)")
    running.add_argument("--workers", type=count_argument, help="slabs at a time (default: one per core)")
    running.add_argument("--engine", default="local", help="serial, local (threads) or processes")
    shown = "show slices as they are made, in the viewer there or a new one"
    running.add_argument("--view", nargs="?", const="", metavar="URL", help=shown)
    live = "the scan is still being written: show three slices of what is there, again and again"
    running.add_argument("--follow", action="store_true", help=live)
    running.add_argument(
        "--timeout",
        type=float,
        default=60.0,
        metavar="S",
        help="--follow: stop after S seconds without new projections",
    )
    running.add_argument("--overwrite", action="store_true", help="replace an output that exists")
    parser.set_defaults(run=run)


def _add_scan(group: "argparse._ArgumentGroup") -> None:
    group.add_argument("--projections", default="", help="dataset of the projections, where the file does not say")
    several = "dataset, file, frames:FIRST:STOP, or none; again for those after the projections"
    group.add_argument("--flats", action="append", default=[], help=several)
    group.add_argument("--darks", action="append", default=[], help=several)
    group.add_argument("--angles", default="", help="0:180, 0:180:inclusive (degrees), a dataset or a file")
    group.add_argument("--pixel-size", type=positive_argument, metavar="UM", help="of the detector, at the sample")
    group.add_argument("--keep-bad-pixels", action="store_true", help="do not repair dead and hot pixels")


def _add_steps(group: "argparse._ArgumentGroup") -> None:
    group.add_argument("--center", default="auto", help="column of the axis; auto; FIRST:LAST:STEP to try several")
    tilt = "columns that the axis moves by from row to row; auto; 0 for none (default: when-clear, found with the axis)"
    group.add_argument("--tilt", default="when-clear", help=tilt)
    group.add_argument("--offset", action="store_true", help="a full turn with the axis at the detector's border")
    group.add_argument("--roll", default="0", help="degrees that the detector is turned by against the axis, or auto")
    group.add_argument("--bin", type=count_argument, default=1, help="pixels of the detector along a voxel's edge")
    group.add_argument("--phase", metavar="KEV,MM,RATIO", help="Paganin: energy, distance to the detector, delta/beta")
    group.add_argument("--zingers", type=float, default=0.0, help="threshold in attenuation, such as 0.2")
    group.add_argument("--air-columns", type=int, default=0, help="columns at both ends that are air")
    rings = "none, auto, vo-sorting, vo-large, vo-dead, vo-all, fourier-wavelet or titarenko"
    group.add_argument("--ring", default="none", metavar="HOW", help=f"how rings are removed: {rings}")
    group.add_argument("--method", default="direct", metavar="HOW", help="direct, gridding (fast), sirt or cgls")
    filters = "ramachandran, shepp-logan, chesler, cosine, hamming, hann or parzen"
    group.add_argument("--filter", default="chesler", metavar="NAME", help=f"of direct and gridding: {filters}")
    group.add_argument("--padding", default="auto", metavar="HOW", help="of rows that are cut off: auto, none or edge")
    iterations = "of sirt and cgls; usually 200 and 20"
    group.add_argument("--iterations", type=count_argument, default=0, metavar="COUNT", help=iterations)
    group.add_argument("--nonnegative", action="store_true", help="sirt: nothing below 0")
    group.add_argument("--no-circle", action="store_true", help="also pixels that not all views see")


def _add_output(group: "argparse._ArgumentGroup") -> None:
    group.add_argument("--rows", help="FIRST:STOP of the detector's rows (default: all)")
    group.add_argument("--dtype", default="float32", help="voxel type, such as uint8 or uint16 (with --range)")
    group.add_argument("--range", type=range_argument, metavar="LOW,HIGH", help="attenuations that become its ends")
    group.add_argument("--levels", type=levels_argument, default=1, help="resolutions to write: a number or auto")
    group.add_argument("--pyramid", action="store_const", dest="levels", const="auto", help="same as --levels auto")
    group.add_argument("--reduce", choices=tuple(REDUCTIONS), default="mean", help="how levels are made")
    group.add_argument("--codec", choices=("none", "gzip", "zstd", "lz4", "blosc"), help="compression")
    group.add_argument("--chunk", type=shape_argument, metavar="Z,Y,X", help="voxels of a chunk")


def run(options: argparse.Namespace) -> int:
    from pellucid.cli.reconstruct.run import reconstruct_scan

    return reconstruct_scan(options)
