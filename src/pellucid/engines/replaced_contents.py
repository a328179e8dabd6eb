"""What an existing output contains that would be lost if it were replaced.

Here: refuse_loss: other files in a folder, other datasets in a file.
Not here: whether the output may be replaced at all (partial_output), whether it is an input (output_check).
"""

import re
from collections.abc import Callable
from pathlib import Path

from pellucid.errors import InvalidInput, PellucidError
from pellucid.formats.location import Location
from pellucid.formats.registry import format_for_writing

FOLDER_PARTS = {
    "zarr": r"zarr\.json|\.z\w+|\d+|c|OME|METADATA\.ome\.xml",
    "n5": r"attributes\.json|s?\d+",
    "tiff": r"slice_\d{5,}\.tif",
    "network": r"network\.onnx|bioimageio\.yaml|test_\w+put\.npy|(curve|report|shell_correlation)\.json|report\.png|l1",
}
"""What the folder of a volume consists of, by format: a folder with anything else in it is not replaced."""
HDF5_LEVEL = re.compile(r"levels/\d+")


def refuse_loss(target: Location) -> None:
    """Raise InvalidInput where an existing output holds more than one volume as Pellucid writes it."""
    path = target.local
    if path.is_file() and path.suffix.lower() == ".plf":
        return  # A neural field, which pellucid.neural writes, holds nothing else.
    if path.is_dir():
        is_network = (path / "bioimageio.yaml").is_file()
        foreign = _foreign_entries(path, "network" if is_network else format_for_writing(target))
    else:
        other_contents = FILE_CONTENTS.get(format_for_writing(target))
        foreign = other_contents(path) if other_contents else []
    if foreign:
        raise InvalidInput(
            f"{path} also contains {foreign[0]!r}, which is not part of the volume and would be lost.",
            remedy="Choose another name, or move that file first.",
        )


def _foreign_entries(folder: Path, format_name: str) -> list[str]:
    part_of_it = re.compile(FOLDER_PARTS.get(format_name, "(?!)"))
    return sorted(entry.name for entry in folder.iterdir() if not part_of_it.fullmatch(entry.name))


def _other_datasets(path: Path) -> list[str]:
    """Datasets of an HDF5 file besides one volume and its levels."""
    from pellucid.formats.hdf5.contents import dataset_names

    names = [name for name in dataset_names(path) if not HDF5_LEVEL.fullmatch(name)]
    return [f"/{name}" for name in _besides_one(names, "data")]


def _other_variables(path: Path) -> list[str]:
    """Volumes of a NetCDF file besides one."""
    from pellucid.formats.flat.netcdf_header import parse_header

    try:
        variables = parse_header(path).variables
    except PellucidError:
        return _other_datasets(path)  # NetCDF 4 is HDF5.
    return [f"/{name}" for name in _besides_one([one.name for one in variables if len(one.dimensions) > 2], "volume")]


def _besides_one(names: list[str], replaced: str) -> list[str]:
    """The names without the one that the output replaces; none where there is only one."""
    return [name for name in names if name != replaced] if len(names) > 1 else []


FILE_CONTENTS: dict[str, Callable[[Path], list[str]]] = {"hdf5": _other_datasets, "netcdf": _other_variables}
