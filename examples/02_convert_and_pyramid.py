"""Convert a volume to Zarr with a pyramid, check that nothing was lost, and convert a part of it to 8-bit TIFF.

Run: python examples/02_convert_and_pyramid.py
"""

import numpy as np

import pellucid
from pellucid import Box


def make_ramp() -> None:
    """Save the sample, values from 0 to 1000 along x, as ramp.npy in the working folder."""
    ramp = np.broadcast_to(np.linspace(0, 1000, 160, dtype=np.float32), (96, 128, 160))
    np.save("ramp.npy", ramp)


def main() -> None:
    make_ramp()

    # All coarser levels, down to a thumbnail. If it is interrupted, run it again to continue.
    with pellucid.convert("ramp.npy", "ramp.zarr", levels="auto", codec="zstd", overwrite=True) as stored:
        for number, level in enumerate(stored.levels):
            print(f"level {number}: {level.shape} voxels (z, y, x), spacing {level.spacing}")
        print(f"all voxels are the same: {np.array_equal(stored.read(), np.load('ramp.npy'))}")

    # A part in 8 bits: 0 becomes 0, and 1000 becomes 255.
    part = Box((10, 0, 0), (20, 128, 160))
    with pellucid.convert(
        "ramp.zarr", "part.tif", box=part, dtype="uint8", value_range=(0, 1000), overwrite=True
    ) as slices:
        low, high = slices.value_range
        print(f"part.tif: {slices.shape} voxels of {slices.dtype}, {low:.0f} to {high:.0f}")


if __name__ == "__main__":
    main()
