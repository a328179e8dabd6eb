"""What an HDF5 dataset says of itself.

Here: which axis is which, spacing and unit, the coarser levels, the filters.
Not here: finding the dataset (names), its voxels (chunks, arrays).

Axes: labels of the dimension scales where every axis has one of t, c, z, y, x; otherwise (z, y, x), (t, z, y, x) or
(t, c, z, y, x) by their number. Spacing: the attribute ``spacing`` with ``unit``, else ``element_size_um``,
``spacing_nm`` (or _um, _mm), or ``resolution``, all along (z, y, x).
"""

from math import prod
from typing import Any

import h5py
import numpy as np

from pellucid.errors import DatasetMissing, UnknownCodec, UnsupportedType
from pellucid.formats.dimensions import refuse_empty_axes, unnamed_letters
from pellucid.formats.hdf5.filters import Filter, Pipeline
from pellucid.formats.hdf5.grid import Axes
from pellucid.formats.hdf5.links import LinkedFile
from pellucid.formats.hdf5.names import level_names
from pellucid.formats.hdf5.scales import axis_labels, spacing_of_scales
from pellucid.formats.protocol import VOXEL_TYPES, Level, Spacing
from pellucid.formats.units import short_unit

_SPACING_ATTRIBUTES = (
    ("spacing", ""), ("element_size_um", "um"), ("spacing_nm", "nm"), ("spacing_um", "um"), ("spacing_mm", "mm"),
    ("resolution", ""),
)  # fmt: skip


def axes_of(dataset: Any, path: str) -> Axes:
    """Which axis is which; WrongDimensions where it is no volume."""
    shape = tuple(dataset.shape or ())
    guess = unnamed_letters(f"{path}:{dataset.name}", shape)
    refuse_empty_axes(f"{path}:{dataset.name}", shape)
    labels = "".join(_label(text) for text in axis_labels(dataset))
    usable = len(labels) == dataset.ndim == len(set(labels)) and set("zyx") <= set(labels)
    return Axes(labels if usable else guess, shape)


def _label(text: str) -> str:
    label = text.strip().lower()
    return {"time": "t", "channel": "c"}.get(label, label if label in tuple("tczyx") else "")


def native_type(dataset: Any, path: str) -> np.dtype[Any]:
    """The voxel type in native byte order; truth values become uint8."""
    dtype = np.dtype(np.uint8) if dataset.dtype == np.bool_ else np.dtype(dataset.dtype).newbyteorder("=")
    if dtype.name not in VOXEL_TYPES:
        raise UnsupportedType(f"{path}:{dataset.name}", dataset.dtype, VOXEL_TYPES)
    return np.dtype(dtype.name)


def stored_type(dataset: Any) -> np.dtype[Any] | None:
    """The type of the bytes in the file; None where only the HDF5 library can interpret them (12 bits in 16, say)."""
    kind = dataset.id.get_type()
    if isinstance(kind, h5py.h5t.TypeEnumID):
        kind = kind.get_super()
    dtype = np.dtype(np.uint8) if dataset.dtype == np.bool_ else np.dtype(dataset.dtype)
    plain = np.dtype(dtype.str)
    is_exact = dataset.dtype == np.bool_ or kind.equal(h5py.h5t.py_create(plain))
    return plain if is_exact else None


def pipeline_of(dataset: Any, path: str) -> Pipeline:
    """The filters of a chunked dataset; UnknownCodec where neither we nor any plugin can undo one of them."""
    properties = dataset.id.get_create_plist()
    steps = [properties.get_filter(position) for position in range(properties.get_nfilters())]
    filters = tuple(Filter(number, tuple(values), name.decode(errors="replace")) for number, _, values, name in steps)
    pipeline = Pipeline(filters, prod(dataset.chunks) * dataset.dtype.itemsize, dataset.dtype.itemsize)
    if not pipeline.is_known:
        _require_plugins(filters, path)
    return pipeline


def _require_plugins(filters: tuple[Filter, ...], path: str) -> None:
    import hdf5plugin  # noqa: F401  importing it registers its filters with the library

    for step in filters:
        if not h5py.h5z.filter_avail(step.number):
            raise UnknownCodec(path, f"{step.title} (HDF5 filter {step.number})")


def spacing_of(dataset: Any) -> tuple[Spacing | None, str]:
    """Distance between voxels along (z, y, x), None where the dataset says nothing; and its unit."""
    for name, unit in _SPACING_ATTRIBUTES:
        numbers = np.atleast_1d(dataset.attrs.get(name, ()))
        if numbers.size in (1, 3) and numbers.dtype.kind in "iuf":
            z, y, x = (float(number) for number in np.broadcast_to(numbers, 3))
            return (z, y, x), unit or short_unit(_text(dataset.attrs.get("unit", "")))
    spacing, unit = spacing_of_scales(dataset)
    return spacing, unit or short_unit(_text(dataset.attrs.get("unit", "")))


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def level_datasets(file: LinkedFile, dataset: Any, path: str) -> list[Any]:
    """The dataset itself, then the coarser levels it refers to."""
    found = [dataset]
    for name in level_names(dataset):
        try:
            level = file.follow(f"/{name}", dataset)
        except KeyError:
            level = None
        if not isinstance(level, h5py.Dataset):
            raise DatasetMissing(path, name, ())
        found.append(level)
    return found


def level_of(dataset: Any, axes: Axes, first: Axes, first_spacing: Spacing) -> Level:
    """Shape, chunk and spacing of one level; a level that states no spacing has it from its size."""
    own, _ = spacing_of(dataset)
    z, y, x = (
        distance * full / max(1, size)
        for distance, full, size in zip(first_spacing, first.shape, axes.shape, strict=True)
    )
    shape = axes.shape
    chunk = axes.spatial(dataset.chunks) if dataset.chunks else (1, shape[1], shape[2])
    return Level(shape, chunk, own or (z, y, x))
