"""Maps of light from all directions, as photographers and film makers store them.

Here: reading .hdr (Radiance) and .exr (OpenEXR, where a library for it is installed).
Not here: what lights a scene with them (rendering).
"""

import os
import re
from math import prod
from pathlib import Path

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.formats.local_files import open_local
from pellucid.formats.protocol import Voxels

MAX_BYTES = 2**28
MAX_PIXELS = 8192 * 4096
"""A small file can hold many of one colour."""
MAX_HEADER = 2**14
MAX_ROWS = 1024
BRIGHTEST = 1e4
_HDR_SIZE = re.compile(rb"\n[-+][XY] +(\d+) +[-+][XY] +(\d+)\n")


def read_radiance_map(path: Path) -> Voxels:
    """(rows, columns, 3) float32, linear, no larger than MAX_ROWS."""
    try:
        pixels = _read(path)
    except InvalidInput:
        raise
    except Exception as error:  # Decoders raise many types of errors.
        raise InvalidInput(f"Cannot read {path}: {error}.", remedy="Check that it is a .hdr or .exr file.") from error
    if pixels.ndim != 3 or pixels.shape[-1] < 3 or min(pixels.shape[:2]) < 2:
        raise InvalidInput(f"{path} is not an environment map.", remedy="Use an image with red, green and blue.")
    light = np.nan_to_num(pixels[..., :3].astype(np.float32), posinf=BRIGHTEST).clip(0, BRIGHTEST)
    return np.ascontiguousarray(_smaller(light))


def _read(path: Path) -> Voxels:
    with os.fdopen(open_local(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > MAX_BYTES:
            raise InvalidInput(f"{path} has {size:,} bytes.", remedy=f"Use a map of at most {MAX_BYTES:,} bytes.")
        if path.suffix.lower() == ".exr":
            return _read_exr(path, f"/proc/self/fd/{file.fileno()}")
        return _read_hdr(path, file.read(MAX_BYTES))


def _read_hdr(path: Path, content: bytes) -> Voxels:
    import imagecodecs

    size = _HDR_SIZE.search(content[:MAX_HEADER])
    if size is None:
        raise InvalidInput(f"Cannot read {path}: it states no size.", remedy="Check that it is a .hdr file.")
    _check_pixels(path, int(size[1]), int(size[2]))
    pixels: Voxels = imagecodecs.rgbe_decode(content)
    return pixels


def _read_exr(path: Path, opened: str) -> Voxels:
    """opened: a name of the open file, which no other process can replace."""
    try:
        import OpenEXR
    except ImportError as error:
        remedy = "Install it with: pip install 'pellucid[exr]', or convert the file to .hdr."
        raise InvalidInput(f"Reading {path} needs the package OpenEXR.", remedy=remedy) from error
    first, last = OpenEXR.File(opened, header_only=True).header()["dataWindow"]
    _check_pixels(path, *(int(b) - int(a) + 1 for a, b in zip(first, last, strict=True)))
    channels = OpenEXR.File(opened).channels()
    if "RGB" in channels or "RGBA" in channels:
        pixels: Voxels = channels["RGB" if "RGB" in channels else "RGBA"].pixels
        return pixels
    return np.stack([channels[name].pixels for name in "RGB"], axis=-1)


def _check_pixels(path: Path, *size: int) -> None:
    if prod(size) > MAX_PIXELS:
        what = f"{path} has {' × '.join(f'{n:,}' for n in size)} pixels."
        raise InvalidInput(what, remedy=f"Use a map of at most {MAX_PIXELS:,} pixels, such as 8192 × 4096.")


def _smaller(light: Voxels) -> Voxels:
    """The means of whole blocks of pixels, as few as are needed."""
    factor = -(-light.shape[0] // MAX_ROWS)
    rows, columns = (n // factor for n in light.shape[:2])
    blocks = light[: rows * factor, : columns * factor].reshape(rows, factor, columns, factor, 3)
    mean: Voxels = blocks.mean(axis=(1, 3))
    return mean
