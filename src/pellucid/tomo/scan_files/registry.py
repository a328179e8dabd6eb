"""Opening a scan of any kind, recognised by its content.

Here: open_scan(), is_scan(), is_scan_folder().
Not here: the kinds (one module each), imported when one is opened: viewers that show no scan start sooner.
"""

from pathlib import Path

from pellucid.errors import InvalidInput, PellucidError, UnknownFormat
from pellucid.formats.location import Location
from pellucid.formats.registry import recognise
from pellucid.tomo.scan import Scan
from pellucid.tomo.scan_files.assembly import ScanContents, ScanOptions, build_scan


def open_scan(location: str | Path | Location, options: ScanOptions | None = None, *, is_growing: bool = False) -> Scan:
    """The scan at a location. What is missing there has to be said in the options, or is an error.

    Projections come in the order of their angles. is_growing: it is still being written; what is there so far is the
    scan, in the order in which it came.
    """
    from pellucid.tomo.correction.bad_pixel_search import repaired

    place, options = Location.parse(location), options or ScanOptions()
    found = _find(place, options, is_growing=is_growing)
    try:
        scan = build_scan(str(place), found, options)
        if not is_growing:
            scan.check_turn()
        scan = repaired(scan) if options.is_repaired else scan
        return scan if is_growing else scan.in_angle_order()
    except BaseException:
        found.close()
        raise


def _find(place: Location, options: ScanOptions, *, is_growing: bool) -> ScanContents:
    kind = _kind(place)
    if kind == "hdf5":
        from pellucid.tomo.scan_files.hdf5 import find_hdf5

        return find_hdf5(place.local, options, is_growing=is_growing)
    if kind == "hipic":
        from pellucid.tomo.scan_files.hipic import find_hipic

        return find_hipic(place.local)
    if kind == "tiff" and place.local.is_dir():
        from pellucid.tomo.scan_files.tiff_folders import find_folder

        return find_folder(place.local, options, is_growing=is_growing)
    raise InvalidInput(
        f"{place} is {kind}, which is not a scan format.",
        remedy="Use HDF5 (Data Exchange, NXtomo, or named datasets), a folder of TIFF files, or HiPic.",
    )


def _kind(place: Location) -> str:
    """The format; a folder with a subfolder of TIFF files for each kind of frame is one of TIFF too."""
    try:
        return recognise(place)
    except UnknownFormat:
        if place.local.is_dir() and _holds_tiff(place.local):
            return "tiff"
        raise


def _holds_tiff(folder: Path) -> bool:
    from pellucid.tomo.scan_files.tiff_folders import holds_tiff

    return holds_tiff(folder)


def is_scan(location: str | Path | Location) -> bool:
    """Whether something says of itself that it is a scan; a volume in HDF5 or TIFF does not."""
    place = Location.parse(location)
    if place.is_remote or place.is_memory or place.dataset or place.options:
        return False
    try:
        kind = _kind(place)
        if kind == "tiff" and place.local.is_dir():
            from pellucid.tomo.scan_files.tiff_folders import is_scan_folder

            return is_scan_folder(place.local)
        if kind == "hdf5":
            return _is_hdf5_scan(place.local)
        return kind == "hipic" and place.local.suffix.lower() != ".img"
    except PellucidError:
        return False


def is_scan_folder(folder: Path) -> bool:
    """Whether the files of a folder are a scan; one that has a scan among its folders is not."""
    try:
        return is_scan(folder) and not any(is_scan(path) for path in folder.iterdir() if path.is_dir())
    except OSError:  # One of its folders cannot be read.
        return False


def _is_hdf5_scan(path: Path) -> bool:
    from pellucid.formats.hdf5.tree import Hdf5Tree

    with Hdf5Tree(path) as tree:
        return tree.shape("/exchange/data") is not None or any(
            tree.shape(f"{name}/image_key") for name in tree.groups("NXdetector")
        )


def projections_dataset(path: Path) -> str:
    """The dataset with the frames of an HDF5 scan; "" for other scans."""
    from pellucid.formats.hdf5.tree import Hdf5Tree

    if recognise(Location.parse(str(path))) != "hdf5":
        return ""
    with Hdf5Tree(path) as tree:
        if tree.shape("/exchange/data") is not None:
            return "/exchange/data"
        keyed = (name for name in tree.groups("NXdetector") if tree.shape(f"{name}/image_key"))
        return next((f"/{name.strip('/')}/data" for name in keyed), "")
