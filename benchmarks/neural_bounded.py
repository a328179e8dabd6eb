"""How many bytes does a neural field with a strict error bound take, beside SPERR with the same bound?

    python -m benchmarks.neural_bounded [--quick] [--json FILE]

A field of the size that --size would give, and the residual that keeps every voxel within the bound; their bytes apart.
Real scans are taken from ../shared/data; those that are absent are left out by name.
"""

import tempfile
from typing import Any

import numpy as np

from benchmarks.neural import scans, smooth, sperr
from benchmarks.table import Row, options, report, shorter, unavailable
from pellucid.formats.neural_field.residual import coding_bound
from pellucid.neural.compression import CompressionOptions, compress

NAMES = ("bonsai", "engine", "spm152", "fibsem_1")
BOUNDS = (2.0, 8.0)
"""Grey values of scans; thousandths of the range of the smooth volume."""
FIELD_BYTES = (32_768, 131_072)


def main() -> None:
    given = options("Neural fields with an error bound beside SPERR.")
    steps, side, sizes = (60, 32, (16_384,)) if given.is_quick else (None, 256, FIELD_BYTES)
    names = () if given.is_quick else NAMES
    volumes = scans(names)
    rows = [unavailable(name, "ours", "absent") for name in names if name not in dict(volumes)]
    for name, array in [*volumes, ("smooth", smooth(side))]:
        for bound in BOUNDS:
            own = bound if array.dtype.kind != "f" else bound / 1000 * float(np.ptp(array))
            for size in sizes:
                rows += bounded_rows(name, array, own, size, steps)
        report("neural_bounded", rows, f"fields of {sizes} bytes, smooth volume of {side}³", given)


def bounded_rows(name: str, array: Any, bound: float, size: int, steps: int | None) -> list[Row]:
    """The whole file beside SPERR's bytes, and of what it consists."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/a.npy", array)
        ours = compress(
            f"{folder}/a.npy", f"{folder}/a.plf", CompressionOptions(size=size, max_error=bound, steps=steps)
        )
    theirs, decoded = sperr(array.astype(np.float32), coding_bound(bound, array.dtype))
    values = np.rint(decoded) if array.dtype.kind in "iu" else decoded
    error = float(np.abs(values.astype(float) - array).max())
    case = f"{name}, every voxel within {bound:.3g}, base of {size // 1000} kB"
    return [
        shorter(case, "kB", ours.file_bytes / 1000, f"SPERR, within {error:.3g}", theirs / 1000, "bytes of the file"),
        Row(f"{case}: base", "bytes", "kB", ours.field_bytes / 1000, "", None, None),
        Row(f"{case}: residual", "bytes", "kB", ours.residual_bytes / 1000, "", None, None),
    ]


if __name__ == "__main__":
    main()
