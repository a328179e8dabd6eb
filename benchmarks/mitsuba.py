"""Do paths of light find the same as Mitsuba 3's, and how many do they follow in a second?

Here: the table, on the CPU.
Not here: the scene for both (mitsuba_peer), how soon an image is good (cinematic).

    python -m benchmarks.mitsuba [--quick] [--json FILE]

A cloud in even light and under a far lamp, all of its scatterings, without filter. Images are compared in squares of
eight pixels, whose noise is small: how far their mean differs, and by how much squares differ beside what noise
explains (two images of ours by different chances). Rates are of processor time, of all threads together. Needs the
package mitsuba, and for its faster variant LLVM.
"""

import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import imagecodecs
import numpy as np

from benchmarks.mitsuba_peer import Cloud, cloud_of, our_light, their_light
from benchmarks.sample_scans import SHARED
from benchmarks.table import Row, faster, options, report, shorter, unavailable
from pellucid.device import choose
from pellucid.formats.protocol import Voxels
from pellucid.volume.sample_volume import sample
from pellucid.volume.volume import open_volume

VARIANTS = ("llvm_ad_rgb", "scalar_rgb")
SQUARE = 8
DENSEST = 0.2
"""Extinction of the largest value, per voxel."""


def main() -> None:
    given = options("Paths of light beside Mitsuba's.")
    size, paths = (128, 8) if given.is_quick else (128, 64)
    voxels, name = volume()
    cloud, rows = cloud_of(voxels, DENSEST), list[Row]()
    with tempfile.TemporaryDirectory() as folder:
        even = Path(folder) / "even.hdr"
        even.write_bytes(imagecodecs.rgbe_encode(np.ones((8, 16, 3), np.float32)))
        ours = our_light(cloud, choose("cpu"), size, even)
        image, rate = measured(ours, paths, size)
        again = our_light(cloud, choose("cpu"), size, even, seed=1)(paths)
    noise = difference(image, again)
    for variant in VARIANTS:
        peer = f"Mitsuba volpath, {variant}"
        try:
            expected, its_rate = their_image(cloud, size, variant, paths)
        except (ImportError, RuntimeError) as error:
            rows.append(unavailable("the same image", peer, str(error).splitlines()[0]))
            continue
        mean = 100 * abs(float(image.mean() / expected.mean()) - 1)
        rows.append(Row("mean of the image differs by", "error", "%", mean, peer, None, None))
        apart = difference(image, expected)
        rows.append(shorter("squares differ by", "%", apart, "ours by other chances", noise, "error"))
        rows.append(faster("paths in a second of processor time", "1/s", rate, peer, its_rate))
    report("mitsuba", rows, f"{size}², {paths} paths a pixel, {name}, albedo 0.8, Henyey-Greenstein 0.4", given)


def their_image(cloud: Cloud, size: int, variant: str, paths: int) -> tuple[Voxels, float]:
    """In a process of its own: LLVM ends the process where it is too old for what Mitsuba compiles (19 is not)."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_their_image, cloud, size, variant, paths).result()


def _their_image(cloud: Cloud, size: int, variant: str, paths: int) -> tuple[Voxels, float]:
    return measured(their_light(cloud, size, variant), paths, size)


def volume() -> tuple[Voxels, str]:
    path = SHARED / "volumes" / "bonsai.nrrd"
    if not path.exists():
        return (sample(128) >> 8).astype(np.uint8), "sample 128³"
    with open_volume(path) as found:
        return found.read(), "bonsai 256³"


def measured(light: Callable[[int], Voxels], paths: int, size: int) -> tuple[Voxels, float]:
    """The light, and how many paths are followed in a second; the first ones, which compile, are left out."""
    light(1)
    started = time.process_time()
    image = light(paths)
    return image, paths * size**2 / (time.process_time() - started)


def difference(left: Voxels, right: Voxels) -> float:
    """Root mean square of what squares of pixels differ by, in per cent of their mean."""
    shape = (left.shape[0] // SQUARE, SQUARE, left.shape[1] // SQUARE, SQUARE, 3)
    first, second = (image.reshape(shape).mean((1, 3)) for image in (left, right))
    return 100 * float(np.sqrt(np.mean((first - second) ** 2)) / second.mean())


if __name__ == "__main__":
    main()
