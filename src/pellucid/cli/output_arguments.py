"""Arguments of commands that write volumes: how these are stored.

Here: add_box, add_levels, add_storage.
Not here: where the work runs (engine_arguments), the type and range of values, which differ between commands.
"""

from pellucid.cli.arguments import Group, bytes_argument, count_argument, levels_argument, shape_argument, time_argument

CODECS = ("none", "gzip", "zstd", "lz4", "blosc")


def add_box(group: Group, more: str = "") -> None:
    """The part of the source. more: what else the help says of the box."""
    group.add_argument("--box", help=f"only this box of voxels: z0:z1,y0:y1,x0:x1{more}")
    group.add_argument("--level", type=int, help="start from this level of the source")


def add_levels(group: Group) -> None:
    group.add_argument("--levels", type=levels_argument, default=1, help="resolutions to write: a number or auto")
    group.add_argument("--pyramid", action="store_const", dest="levels", const="auto", help="same as --levels auto")


def add_storage(group: Group) -> None:
    group.add_argument("--codec", choices=CODECS, help="compression")
    group.add_argument("--chunk", type=shape_argument, metavar="Z,Y,X", help="chunk size in voxels")
    group.add_argument(
        "--max-files", type=count_argument, metavar="N",
        help="write at most this many files: larger shards (Zarr) or chunks (N5)",
    )  # fmt: skip
    group.add_argument(
        "--max-size", type=bytes_argument, metavar="SIZE", help="refuse outputs that may take more, such as 500GiB"
    )
    group.add_argument(
        "--max-compression", type=time_argument, metavar="TIME",
        help="processor time for compression, such as 2h: a faster codec is used, unless --codec names one",
    )  # fmt: skip
