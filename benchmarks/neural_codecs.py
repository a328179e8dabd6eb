"""Classic codecs at a given size: SPERR, SZ3, ZFP, and the volume subsampled and interpolated.

Here: CODECS, and at_size, which looks for the error bound at which a codec takes just that many bytes.
Not here: neural fields (neural), quality (pellucid.neural.quality).
"""

import math
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import torch

Array = np.ndarray[Any, np.dtype[Any]]
Coded = tuple[int, Callable[[], Array]]
"""Bytes, and what decodes them."""
Codec = Callable[[Array, float], Coded]
"""Codes float32 values with a bound of their error."""

MIN_BOUND = -7.0
"""Bounds are looked for between this power of ten of the range and the range itself."""
TRIES, CLOSE = 10, 0.98
"""At most so many; close enough is this part of the size."""
SPERR_EDGE, SPERR_WORKERS = 512, min(8, os.cpu_count() or 1)
"""HDF5 has no chunks of 4 GiB: larger volumes are coded in such chunks, several at a time."""


def at_size(codec: str, values: Array, target: int) -> tuple[int, Array]:
    """Bytes, and what a codec decodes from them: at most ``target``, and hardly less. ValueError where it cannot."""
    if codec == "subsampled":
        return subsampled(values, target)
    extent = float(np.ptp(values)) or 1.0
    code = CODECS[codec]
    count, decode = code(values, extent)
    if count > target:
        raise ValueError("it needs more bytes at any bound")
    fits = (0.0, count)
    misses: tuple[float, int | None] = (MIN_BOUND, None)
    for _ in range(TRIES):
        middle = _between(fits, misses, target)
        found, decode_found = code(values, extent * 10**middle)
        if found <= target:
            fits, decode = (middle, found), decode_found
            if found >= CLOSE * target:
                break
        else:
            misses = middle, found
        if fits[0] - misses[0] < 1e-3:
            break
    return fits[1], decode()


def _between(fits: tuple[float, int], misses: tuple[float, int | None], target: int) -> float:
    """Where the logarithm of bytes, taken as linear, meets the target; not too near to either end."""
    if misses[1] is None:
        return max(fits[0] - 1.5, (fits[0] + misses[0]) / 2)
    bytes_of = math.log(fits[1]), math.log(misses[1])
    part = (math.log(0.993 * target) - bytes_of[0]) / max(bytes_of[1] - bytes_of[0], 1e-9)
    return fits[0] + min(max(part, 0.08), 0.92) * (misses[0] - fits[0])


def sperr(values: Array, bound: float) -> Coded:
    """As one chunk where that is possible, else chunk by chunk."""
    if values.nbytes < 2**32:
        count, data = _sperr_chunk(values, bound)
        return count, partial(_decoded_sperr, data, values.shape)
    starts = list(product(*(range(0, n, SPERR_EDGE) for n in values.shape)))
    chunks = [tuple(slice(n, n + SPERR_EDGE) for n in start) for start in starts]
    coded = list(_processes().map(_sperr_part, [_origin(values)] * len(chunks), chunks, [bound] * len(chunks)))

    def decode() -> Array:
        out = np.empty(values.shape, np.float32)
        shapes = [out[chunk].shape for chunk in chunks]
        decoded = _processes().map(_decoded_sperr, [data for _, data in coded], shapes)
        for chunk, part in zip(chunks, decoded, strict=True):
            out[chunk] = part
        return out

    return sum(count for count, _ in coded), decode


@cache
def _processes() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(SPERR_WORKERS, mp_context=get_context("spawn"))


def _origin(values: Array) -> str:
    """The file that an array is mapped from: other processes read it there."""
    if not isinstance(values, np.memmap):
        raise TypeError("a large volume has to be mapped from a file")
    return str(values.filename)


def _sperr_part(path: str, chunk: tuple[slice, ...], bound: float) -> tuple[int, bytes]:
    return _sperr_chunk(np.ascontiguousarray(np.load(path, mmap_mode="r")[chunk]), bound)


def _sperr_chunk(values: Array, bound: float) -> tuple[int, bytes]:
    import hdf5plugin

    # swap: arrays are C-ordered; without it SPERR codes along the wrong axes.
    with h5py.File("coded", "w", driver="core", backing_store=False) as file:
        filters = hdf5plugin.Sperr(absolute=bound, swap=True)
        data = file.create_dataset("a", data=values, chunks=values.shape, **filters)
        coded = data.id.read_direct_chunk((0, 0, 0))[1]
        return len(coded), bytes(coded)


def _decoded_sperr(data: bytes, shape: tuple[int, ...]) -> Array:
    import hdf5plugin

    with h5py.File("decoded", "w", driver="core", backing_store=False) as file:
        filters = hdf5plugin.Sperr(absolute=1.0, swap=True)
        dataset = file.create_dataset("a", shape=shape, dtype=np.float32, chunks=shape, **filters)
        dataset.id.write_direct_chunk((0, 0, 0), data)
        return np.asarray(dataset[...])


def sz3(values: Array, bound: float) -> Coded:
    from pysz import sz, szConfig, szErrorBoundMode

    config = szConfig(*values.shape)
    config.errorBoundMode, config.absErrorBound = szErrorBoundMode.ABS, bound
    coded, _ = sz.compress(np.ascontiguousarray(values), config)
    return coded.nbytes, lambda: np.asarray(sz.decompress(coded, np.float32, values.shape)[0])


def zfp(values: Array, bound: float) -> Coded:
    import zfpy

    coded = zfpy.compress_numpy(np.ascontiguousarray(values), tolerance=bound)
    return len(coded), lambda: np.asarray(zfpy.decompress_numpy(coded))


def subsampled(values: Array, target: int) -> tuple[int, Array]:
    """Fewer voxels of 16 bits, interpolated linearly."""
    part = (target / 2 / values.size) ** (1 / 3)
    shape = [max(2, min(n, math.floor(n * part))) for n in values.shape]
    tensor = torch.from_numpy(np.array(values, np.float32))[None, None]
    small = torch.nn.functional.interpolate(tensor, shape, mode="trilinear", align_corners=True)
    back = torch.nn.functional.interpolate(small, values.shape, mode="trilinear", align_corners=True)
    return small.numel() * 2, back[0, 0].numpy()


CODECS: dict[str, Codec] = {"SPERR": sperr, "SZ3": sz3, "ZFP": zfp}
NAMES = (*CODECS, "subsampled")


def write_decoded(codec: str, source: Path, target: int, out: Path) -> int:
    """Decode a volume from at most so many bytes into a file of its own voxel type; returns the bytes."""
    voxels = np.load(source, mmap_mode="r")
    values = voxels if voxels.dtype == np.float32 else voxels.astype(np.float32)
    count, decoded = at_size(codec, values, target)
    if voxels.dtype.kind in "iu":
        limits = np.iinfo(voxels.dtype)
        decoded = np.clip(np.rint(decoded), limits.min, limits.max)
    np.save(out, decoded.astype(voxels.dtype))
    return count
