"""NumPy's .npy files.

Here: reading them in either order and byte order, without loading them; writing version 1.0.
Not here: .npz archives, pickled objects, which are refused.

The file holds no spacing and no unit: both may be given with the location (``spacing=z,y,x``, ``unit=um``).
"""

import io
from pathlib import Path
from tokenize import TokenError

import numpy as np
from numpy.lib import format as npy_format

from pellucid.errors import Corrupted, UnsupportedType
from pellucid.formats.axis_guess import refuse_empty_axes, unnamed_letters
from pellucid.formats.byte_sources import FileBytes, local_path, read_head
from pellucid.formats.flat.placement import Placement, place
from pellucid.formats.flat.reader_writer import FlatReader, FlatWriter, one_level, open_array, refuse_unfinished
from pellucid.formats.limits import FormatLimits
from pellucid.formats.location import Location
from pellucid.formats.protocol import VOXEL_TYPES, Header, Layout, Reader, Writer
from pellucid.formats.text_options import spacing_option
from pellucid.formats.units import short_unit

LIMITS = FormatLimits("NumPy .npy")
_HEAD_BYTES = 64 * 1024


def open_reader(location: Location) -> Reader:
    path = local_path(location)
    placement, times, channels = _parse(path, read_head(path, _HEAD_BYTES))
    header = Header(
        one_level(placement.shape, spacing_option(location)),
        placement.dtype.newbyteorder("="),
        short_unit(location.option("unit") or ""),
        times,
        channels,
    )
    return FlatReader(header, placement, FileBytes(path))


def open_writer(location: Location, layout: Layout, *, resume: bool = False) -> Writer:
    path, level = local_path(location), LIMITS.check(location, layout)
    head = io.BytesIO()
    npy_format.write_array_header_1_0(
        head, {"descr": layout.dtype.str, "fortran_order": False, "shape": tuple(level.shape)}
    )
    array = open_array(path, head.getvalue(), level.shape, layout.dtype, resume=resume)
    return FlatWriter(array, head.getvalue())


def _parse(path: Path, head: bytes) -> tuple[Placement, int, int]:
    refuse_unfinished(path, head)
    file = io.BytesIO(head)
    try:
        read = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}
        shape, is_fortran, dtype = read[npy_format.read_magic(file)](file)
    # Python's parser reports a header that is nested too deep as a lack of memory.
    except (ValueError, KeyError, SyntaxError, TokenError, MemoryError, RecursionError) as error:
        raise Corrupted(str(path), f"its header is not a .npy header ({error})") from error
    dtype = np.dtype(np.uint8) if dtype == np.bool_ else dtype
    if dtype.newbyteorder("=").name not in VOXEL_TYPES:
        raise UnsupportedType(str(path), dtype, VOXEL_TYPES)
    axes = unnamed_letters(str(path), shape)
    refuse_empty_axes(str(path), shape)
    stored = (axes[::-1], shape[::-1]) if is_fortran else (axes, shape)
    return place(*stored, np.dtype(dtype), file.tell())
