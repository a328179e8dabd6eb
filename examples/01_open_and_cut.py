"""Open a volume, print what it is, and read a part of it.

Run: python examples/01_open_and_cut.py
"""

import numpy as np

import pellucid
from pellucid import Box

SHAPE = (64, 96, 96)


def make_ball() -> None:
    """Save the sample, a bright ball in the dark, as ball.npy in the working folder."""
    z, y, x = (np.linspace(-1, 1, length) for length in SHAPE)
    inside = z[:, None, None] ** 2 + y[:, None] ** 2 + x**2 < 0.5
    np.save("ball.npy", np.where(inside, 200, 10).astype(np.uint8))


def main() -> None:
    make_ball()
    with pellucid.open("ball.npy") as volume:
        print(
            f"{volume.shape} voxels (z, y, x) of {volume.dtype}, spacing {volume.spacing}, {len(volume.levels)} level"
        )
        print(f"values from {volume.value_range[0]:.0f} to {volume.value_range[1]:.0f}")

        corner = volume[Box((0, 0, 0), (8, 8, 8))]  # only these voxels are read
        middle = volume[SHAPE[0] // 2, :, :]  # as in NumPy: a number drops its axis
        print(f"corner: mean {corner.mean():.0f}; middle slice: shape {middle.shape}, {(middle > 100).mean():.0%} ball")

        slab = np.empty((4, *SHAPE[1:]), volume.dtype)
        for start in range(0, SHAPE[0], len(slab)):  # one buffer for the whole volume
            volume.read(Box((start, 0, 0), (start + len(slab), *SHAPE[1:])), out=slab)


if __name__ == "__main__":
    main()
