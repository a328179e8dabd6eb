"""A program that writes a scan into an HDF5 file and keeps it open, as a beamline does.

For every number that it reads, so many projections are in the file; then it says so.
"""

import sys

import h5py
import numpy as np


def main(path: str, frames_path: str) -> None:
    given = np.load(frames_path)
    frames = given["data"]
    with h5py.File(path, "w", libver="latest") as file:
        data = file.create_dataset("exchange/data", (0, *frames.shape[1:]), frames.dtype, maxshape=(None, None, None))
        for name in ("data_white", "data_dark", "theta"):
            file[f"exchange/{name}"] = given[name]
        file.swmr_mode = True
        for line in sys.stdin:
            first, count = data.shape[0], int(line)
            data.resize(count, axis=0)
            data[first:] = frames[first:count]
            data.flush()
            sys.stdout.write(f"{count}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
