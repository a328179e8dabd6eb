"""Simulated scans of known samples, with the faults of real ones.

Here: Detector, Faults, simulate(); writing such a scan as NXtomo.
Not here: the samples (phantoms).
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.formats.hdf5.write_arrays import write_arrays
from pellucid.tomo.scan import Floats, Frames, Scan
from pellucid.tomo.simulation.phantoms import Phantom


@dataclass(frozen=True)
class Detector:
    """rows, columns: pixels. axis_column: where the axis falls; the middle where None. tilt: columns that the axis
    moves by from one row to the next. counts: in the open beam; dark_counts: without beam. flats: before the
    projections, as many after them, and as many darks.
    """

    rows: int
    columns: int
    axis_column: float | None = None
    tilt: float = 0.0
    counts: float = 20_000.0
    dark_counts: float = 100.0
    flats: int = 10
    pixel_size_um: float = 1.0

    @property
    def axis(self) -> float:
        """The column of the axis in the middle row."""
        return (self.columns - 1) / 2 if self.axis_column is None else self.axis_column


@dataclass(frozen=True)
class Faults:
    """What goes wrong. Nothing does by default.

    is_noisy: whether counts follow Poisson. rings: columns whose gain in the projections is not that of the flats.
    ring_strength: by how much. zingers: struck pixels in the whole scan. black: views without light. beam_loss: share
    of the beam that is gone at the end of the scan.
    """

    is_noisy: bool = False
    rings: int = 0
    ring_strength: float = 0.05
    zingers: int = 0
    black: tuple[int, ...] = ()
    beam_loss: float = 0.0
    seed: int = 0


def simulate(phantom: Phantom, detector: Detector, angles_rad: Floats, faults: Faults | None = None) -> Scan:
    """Simulate a scan in memory: projections, flats before and after, darks.

    Without faults, -ln of the corrected projections is exactly the line integral through the centre of every pixel,
    within the precision of float32.
    """
    faults = faults or Faults()
    random = np.random.default_rng(faults.seed)
    beam = _beam(detector)
    first, after = detector.flats, detector.flats + len(angles_rad)
    fading = np.linspace(1, 1 - faults.beam_loss, after + detector.flats)[:, None, None]
    transmission = np.exp(-integrals(phantom, detector, angles_rad))
    expected = beam * fading[first:after] * transmission * _gains(detector, faults, random)
    expected[list(faults.black)] = 0
    projections = _exposed(expected, detector, faults, random)
    _strike(projections, faults, random)
    times = np.concatenate([np.arange(first), np.arange(after, len(fading))])
    flats = Frames.from_array(_exposed(beam * fading[times], detector, faults, random))
    darks = _exposed(np.zeros((detector.flats, detector.rows, detector.columns)), detector, faults, random)
    return Scan(
        "a simulation",
        "simulated",
        Frames.from_array(projections, float(first)),
        np.asarray(angles_rad, np.float64),
        Frames(flats.volume, flats.indices, times.astype(np.float64)),
        Frames.from_array(darks).untimed(),
        pixel_size_um=detector.pixel_size_um,
    )


def integrals(phantom: Phantom, detector: Detector, angles_rad: Floats) -> Floats:
    """What every pixel should say, as (view, row, column)."""
    z = np.arange(detector.rows, dtype=np.float64) - (detector.rows - 1) / 2
    columns = np.arange(detector.columns, dtype=np.float64) - detector.axis
    if detector.tilt == 0:
        return phantom.line_integrals(angles_rad, z, columns)
    rows = [phantom.line_integrals(angles_rad, z[i : i + 1], columns - detector.tilt * z[i]) for i in range(len(z))]
    return np.concatenate(rows, axis=1)


def _beam(detector: Detector) -> Floats:
    """Counts of the open beam, brightest in the middle, as (1, row, column)."""
    across = np.linspace(-1, 1, detector.columns)
    down = np.linspace(-1, 1, detector.rows) if detector.rows > 1 else np.zeros(1)
    return np.asarray(detector.counts * (1 - 0.2 * across**2) * (1 - 0.2 * down[:, None] ** 2))[None]


def _gains(detector: Detector, faults: Faults, random: np.random.Generator) -> Floats:
    gains = np.ones(detector.columns)
    wrong = random.choice(detector.columns, faults.rings, replace=False)
    gains[wrong] += faults.ring_strength * random.choice([-1, 1], faults.rings)
    return gains


def _exposed(expected: Floats, detector: Detector, faults: Faults, random: np.random.Generator) -> Floats:
    """What the detector gives: float32 where it is exact, whole counts of 16 bits where it is noisy."""
    counts = expected + detector.dark_counts
    if not faults.is_noisy:
        return np.asarray(counts, np.float32)
    return np.clip(random.poisson(counts), 0, 65535).astype(np.uint16)


def _strike(projections: Floats, faults: Faults, random: np.random.Generator) -> None:
    struck = random.integers(0, projections.shape, (faults.zingers, 3))
    projections[tuple(struck.T)] = 65535


def write_nxtomo(scan: Scan, path: Path) -> None:
    """A simulated scan as a file: its frames in the order of time, darks last."""
    if scan.flats is None or scan.darks is None:
        raise InvalidInput("NXtomo files need flats and darks.", remedy="Simulate the scan with flats.")
    detector, parts = "entry/instrument/detector", (scan.projections, scan.flats, scan.darks)
    keys = np.repeat([0, 1, 2], [part.count for part in parts])
    times = np.concatenate([scan.projections.times, scan.flats.times, np.full(scan.darks.count, np.inf)])
    angles = np.concatenate([np.degrees(scan.angles_rad), np.zeros(scan.flats.count + scan.darks.count)])
    order = np.argsort(times, kind="stable")
    arrays = {
        f"{detector}/data": np.concatenate([part.read() for part in parts])[order],
        f"{detector}/image_key": keys[order],
        f"{detector}/x_pixel_size": np.array(scan.pixel_size_um or 1.0),
        "entry/sample/rotation_angle": angles[order],
    }
    attributes = {
        ("entry", "NX_class"): "NXentry",
        ("entry", "definition"): "NXtomo",
        (detector, "NX_class"): "NXdetector",
        (f"{detector}/x_pixel_size", "units"): "um",
        ("entry/sample/rotation_angle", "units"): "degree",
    }
    write_arrays(path, arrays, attributes)
