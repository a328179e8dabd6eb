"""The metadata of an HDF5 dataset.

Here: which axis is which, spacing and unit, packed values, the coarser levels, the filters.
Not here: finding the dataset (lookup), its voxels (chunks, arrays).

Axes: labels of the dimension scales where every axis has one of t, c, z, y, x; otherwise (z, y, x), (t, z, y, x) or
(t, c, z, y, x) by their number. Spacing: the attribute ``spacing`` with ``unit``, else ``element_size_um``,
``spacing_nm`` (or _um, _mm), or ``resolution``, all along (z, y, x).
"""

import math
from math import prod
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from pellucid.errors import DatasetMissing, UnknownCodec, UnsupportedType
from pellucid.formats.axis_guess import refuse_empty_axes, unnamed_letters
from pellucid.formats.flat.reader_writer import MISSING
from pellucid.formats.hdf5.filters import Filter, Pipeline
from pellucid.formats.hdf5.links import LinkedFile
from pellucid.formats.hdf5.lookup import level_names
from pellucid.formats.hdf5.read.chunk_grid import Hdf5Axes
from pellucid.formats.hdf5.references import require_references
from pellucid.formats.hdf5.structure_check import check_all, check_chunk_index
from pellucid.formats.protocol import VOXEL_TYPES, Level, Spacing
from pellucid.formats.units import short_unit

_SPACING_ATTRIBUTES = (
    ("spacing", ""), ("element_size_um", "um"), ("spacing_nm", "nm"), ("spacing_um", "um"), ("spacing_mm", "mm"),
    ("resolution", ""),
)  # fmt: skip

_NETCDF_ATTRIBUTE, _NETCDF_NAMES = "_NCProperties", (".nc", ".nc4")


def axes_of(dataset: Any, path: str) -> Hdf5Axes:
    """Which axis is which; WrongDimensions where it is no volume."""
    shape = tuple(dataset.shape or ())
    guess = unnamed_letters(f"{path}:{dataset.name}", shape)
    refuse_empty_axes(f"{path}:{dataset.name}", shape)
    labels = "".join(_label(text) for text in axis_labels(dataset))
    usable = len(labels) == dataset.ndim == len(set(labels)) and set("zyx") <= set(labels)
    return Hdf5Axes(labels if usable else guess, shape)


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


def scaling_of(dataset: Any) -> tuple[float, float]:
    """Slope and intercept of packed values in a NetCDF 4 file; (1, 0) where stored numbers are the values."""
    if not _is_netcdf(dataset):
        return 1.0, 0.0
    slope, intercept = _number(dataset, "scale_factor", 1.0), _number(dataset, "add_offset", 0.0)
    return slope, intercept


def missing_of(dataset: Any) -> list[float]:
    """Numbers that stand for no value in a NetCDF 4 file."""
    return [_number(dataset, name, math.nan) for name in MISSING] if _is_netcdf(dataset) else []


def _is_netcdf(dataset: Any) -> bool:
    is_named_so = Path(dataset.file.filename).suffix.lower() in _NETCDF_NAMES
    return _NETCDF_ATTRIBUTE in dataset.file.attrs or is_named_so


def _number(dataset: Any, name: str, otherwise: float) -> float:
    value = np.asarray(dataset.attrs.get(name, otherwise))
    is_usable = value.size == 1 and value.dtype.kind in "iuf" and bool(np.isfinite(value).all())
    return float(value.reshape(-1)[0]) if is_usable else otherwise


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


def level_of(dataset: Any, axes: Hdf5Axes, first: Hdf5Axes, first_spacing: Spacing) -> Level:
    """Shape, chunk and spacing of one level; a level that states no spacing has it from its size."""
    own, _ = spacing_of(dataset)
    z, y, x = (
        distance * full / max(1, size)
        for distance, full, size in zip(first_spacing, first.shape, axes.shape, strict=True)
    )
    shape = axes.shape
    chunk = axes.spatial(dataset.chunks) if dataset.chunks else (1, shape[1], shape[2])
    return Level(shape, chunk, own or (z, y, x))


_LABELS, _LIST = "DIMENSION_LABELS", "DIMENSION_LIST"
_NO_POSITIONS = b"This is a netCDF dimension but not a netCDF variable"


def spacing_of_scales(dataset: Any) -> tuple[Spacing | None, str]:
    """Mean distance of positions along (z, y, x), and their unit; None where no axis has positions."""
    scales = [_scale(dataset, axis) for axis in range(dataset.ndim - 3, dataset.ndim)]
    if dataset.ndim < 3 or not any(scale is not None for scale in scales):
        return None, ""
    z, y, x = (1.0 if scale is None else _step(scale) for scale in scales)
    units = [scale.attrs.get("units", b"") for scale in scales if scale is not None]
    unit = units[-1].decode(errors="replace") if isinstance(units[-1], bytes) else str(units[-1])
    return (z, y, x), short_unit(unit)


def _scale(dataset: Any, axis: int) -> Any:
    for scale in _attached(dataset, axis):
        is_positions = isinstance(scale, h5py.Dataset) and scale.ndim == 1 and scale.dtype.kind in "iuf"
        if is_positions and not bytes(scale.attrs.get("NAME", b"")).startswith(_NO_POSITIONS):
            return scale
    return None


def axis_labels(dataset: Any) -> list[str]:
    """The label of every axis, "" where it has none. Read as an attribute: of one of another type, the library dies."""
    if _LABELS not in dataset.attrs:
        return [""] * dataset.ndim
    stored = dataset.attrs.get_id(_LABELS)
    is_text = h5py.check_string_dtype(stored.dtype) is not None and stored.shape == (dataset.ndim,)
    labels = dataset.attrs[_LABELS] if is_text else [""] * dataset.ndim
    return [label.decode(errors="replace") if isinstance(label, bytes) else str(label) for label in labels]


def _attached(dataset: Any, axis: int) -> list[Any]:
    """The scales of an axis, where the attribute that names them is one."""
    if _LIST not in dataset.attrs:
        return []
    check_all(Path(dataset.file.filename))  # It refers to others by their addresses.
    stored = dataset.attrs.get_id(_LIST)
    kind = h5py.check_vlen_dtype(stored.dtype)
    if kind is None or h5py.check_ref_dtype(kind) is not h5py.Reference or stored.shape != (dataset.ndim,):
        return []
    return [dataset.file[reference] for reference in dataset.attrs[_LIST][axis] if reference]


def _step(scale: Any) -> float:
    require_references(scale, str(scale.file.filename))
    check_chunk_index(scale)
    count = scale.shape[0]
    return abs(float(scale[-1]) - float(scale[0])) / (count - 1) or 1.0 if count > 1 else 1.0
