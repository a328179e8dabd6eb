"""How fast are sinograms cleaned and the axis found, and how do others do it?

    python -m benchmarks.rings [--quick] [--json FILE]

Sinograms in memory to sinograms in memory, seconds for one, on the CPU beside algotom on the same cores. Where there is
a CUDA device, the rate of every method there.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module

import numpy as np

from benchmarks.table import TARGET, Row, faster, interleave, options, report, seconds_of, shorter, unavailable
from pellucid.device import Array, Device, choose, primitives, synchronize
from pellucid.formats.protocol import Voxels
from pellucid.tomo.correction.flat_field import Calibration, attenuate
from pellucid.tomo.correction.rings import METHODS, RingSettings, remove_rings
from pellucid.tomo.geometry.axis import by_double_wedge
from pellucid.tomo.simulation.detector import Detector, Faults, simulate
from pellucid.tomo.simulation.phantoms import foam

TARGET_RATIO = 3.0
LARGE, SMALL = 51, 21
"""Columns of the medians, the same for all."""
PEERS = {"vo-all": "remove_all_stripe", "auto": "remove_all_stripe", "vo-sorting": "remove_stripe_based_sorting"}
"""Of algotom, for each method of ours."""


@dataclass(frozen=True)
class Size:
    views: int
    columns: int
    repeats: int

    def __str__(self) -> str:
        return f"sinograms of {self.views} views and {self.columns} columns, median of {self.repeats}"


FULL = Size(views=1800, columns=2048, repeats=3)
QUICK = Size(views=450, columns=512, repeats=3)


def main() -> None:
    given = options("Ring removal and the axis of rotation.")
    size, device = QUICK if given.is_quick else FULL, choose()
    sinogram, angles = example(size)
    rows = [*ring_rows(sinogram, angles, size), *axis_rows(sinogram, angles)]
    if device.is_cuda:
        rows += cuda_rows(sinogram, angles, size, device)
    report("rings", rows, str(size), given)


def example(size: Size) -> tuple[Voxels, Voxels]:
    """A foam with noise and rings, corrected: one sinogram, and its angles."""
    angles = np.arange(size.views) * np.pi / size.views
    detector = Detector(1, size.columns, axis_column=0.49 * size.columns)
    scan = simulate(foam(0.4 * size.columns, 60, 2 / size.columns), detector, angles, Faults(is_noisy=True, rings=20))
    found = attenuate(scan.projections.read(), scan.projections.times, Calibration.of(scan), choose("cpu"))
    return np.asarray(found.sinograms[0]), angles


def ring_rows(sinogram: Voxels, angles: Voxels, size: Size) -> list[Row]:
    """Two methods have the same peer, which is measured once."""
    arguments = {"remove_all_stripe": (3.0, LARGE, SMALL), "remove_stripe_based_sorting": (SMALL, 1)}
    peers = {name: _peer("algotom.prep.removal", name) for name in arguments}
    run: dict[str, Callable[[], object]] = {
        name: partial(peer, sinogram, *arguments[name]) for name, peer in peers.items() if peer is not None
    }
    for method in PEERS:
        settings = RingSettings(method, large_size=LARGE, small_size=SMALL)
        run[method] = partial(_clean, sinogram, settings, angles)
    taken, rows = interleave(run, size.repeats), list[Row]()
    for method, name in PEERS.items():
        if name not in taken:
            rows.append(unavailable(method, "algotom", "it is not installed"))
            continue
        rows.append(shorter(method, "s", taken[method], "algotom", taken[name]))
        if method == "vo-all":
            rows.append(faster("vo-all, times algotom", "×", taken[name] / taken[method], TARGET, TARGET_RATIO))
    return rows


def axis_rows(sinogram: Voxels, angles: Voxels) -> list[Row]:
    """The peer takes many seconds: once is enough."""
    case, peer = "axis by double wedge", _peer("algotom.prep.calculation", "find_center_vo")
    if peer is None:
        return [unavailable(case, "algotom", "it is not installed")]
    ours = interleave({"ours": partial(by_double_wedge, sinogram, angles)}, 3)["ours"]
    return [shorter(case, "s", ours, "algotom", seconds_of(partial(peer, sinogram)))]


def cuda_rows(sinogram: Voxels, angles: Voxels, size: Size, device: Device) -> list[Row]:
    """Many sinograms at once, on the device all the time."""
    stack = primitives(device).to_device(np.repeat(sinogram[None], 32, axis=0))
    rows = []
    for method in METHODS[1:]:
        run = partial(_clean_and_wait, stack, RingSettings(method), device, angles)
        taken = interleave({method: run}, size.repeats)[method]
        rows.append(Row(f"{method} on CUDA", "time of a sinogram", "ms", 1000 * taken / len(stack), "", None, None))
    return rows


def _clean_and_wait(stack: Array, settings: RingSettings, device: Device, angles: Voxels) -> None:
    remove_rings(stack, settings, device, angles_rad=angles)
    synchronize(device)


def _clean(sinogram: Voxels, settings: RingSettings, angles: Voxels) -> object:
    return remove_rings(sinogram[None], settings, choose("cpu"), angles_rad=angles)


def _peer(module: str, name: str) -> Callable[..., object] | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found: Callable[..., object] = getattr(import_module(module), name)
    except ImportError:
        return None
    return found


if __name__ == "__main__":
    main()
