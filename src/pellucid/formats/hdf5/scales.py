"""Dimension scales: positions along the axes of a dataset, as NetCDF 4 and NeXus programs attach them.

Here: spacing and unit from the scales of the last three axes.
Not here: attributes that state a spacing (header), coordinate variables of NetCDF 3 (netcdf).
"""

from typing import Any

import h5py

from pellucid.formats.hdf5.references import require_references
from pellucid.formats.protocol import Spacing
from pellucid.formats.units import short_unit

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
    stored = dataset.attrs.get_id(_LIST)
    kind = h5py.check_vlen_dtype(stored.dtype)
    if kind is None or h5py.check_ref_dtype(kind) is not h5py.Reference or stored.shape != (dataset.ndim,):
        return []
    return [dataset.file[reference] for reference in dataset.attrs[_LIST][axis] if reference]


def _step(scale: Any) -> float:
    require_references(scale, str(scale.file.filename))
    count = scale.shape[0]
    return abs(float(scale[-1]) - float(scale[0])) / (count - 1) or 1.0 if count > 1 else 1.0
