"""Real scans, beside what others make of them: ASTRA (FBP) and algotom (rings, axis, FBP).

Slices are compared about the middle of the detector, less the level of the air, over half a turn: the others know
neither an axis between columns, nor scans whose first view is repeated. They interpolate and pad otherwise; the
numbers here are as good as those of the two of them beside one another (50, 41 and 31 dB).
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager

import numpy as np
import pytest

from benchmarks.reconstruct import algotom_fbp, astra_fbp, decibels, direct
from pellucid.device import choose
from pellucid.formats.protocol import Voxels
from pellucid.tomo.correction.flat_field import Calibration, attenuate, level_air
from pellucid.tomo.correction.rings import RingSettings, remove_rings
from pellucid.tomo.geometry.axis import by_double_wedge
from pellucid.tomo.scan import Floats
from pellucid.tomo.scan_files.registry import open_scan
from tests.shared_data import shared

TOOTH, TIFF, NEXUS = ("ct/tooth.h5", 0), ("ct/savu_tiff", 110), ("ct/k11_diad/k11-18014.nxs", 10)
CPU = choose("cpu")


def sinogram(name: str, row: int) -> tuple[Voxels, Floats]:
    """Of half a turn, as (slice, view, column), and its angles."""
    with closing(open_scan(shared(name))) as scan:
        raw, rows = scan.projections.read(rows=(row, row + 1)), (row, row + 1)
        found = attenuate(raw, scan.projections.times, Calibration.of(scan, rows), CPU).sinograms
        turned = np.abs(scan.angles_rad - scan.angles_rad[0])
        half = turned < np.pi - scan.step_rad / 2
        level_air(found, 2, CPU)
        return np.ascontiguousarray(found[:, half]), scan.angles_rad[half]


@pytest.mark.parametrize(("scan", "least_db"), [(TOOTH, 50), (TIFF, 41), (NEXUS, 31)])
def test_slices_are_those_of_astra(scan: tuple[str, int], least_db: float) -> None:
    rows, angles = sinogram(*scan)
    mine = direct(rows, angles, CPU, "shepp-logan")[0]
    assert decibels(np.asarray(astra_fbp(rows[0], angles)()), mine) > least_db


@contextmanager
def one_thread() -> Iterator[None]:
    """For algotom's back projection, whose threads add to the same pixels and lose additions of each other."""
    numba = pytest.importorskip("numba")
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        yield
    finally:
        numba.set_num_threads(before)


@pytest.mark.parametrize(("scan", "least_db"), [(TOOTH, 50), (TIFF, 40), (NEXUS, 27)])
def test_slices_are_those_of_algotom(scan: tuple[str, int], least_db: float) -> None:
    rows, angles = sinogram(*scan)
    mine = direct(rows, angles, CPU, "shepp-logan")[0]
    steps_to_views = (len(angles) - 1) / len(angles)  # It divides the turn by the steps between views.
    with one_thread():
        theirs = np.asarray(algotom_fbp(rows[0], angles)()) * steps_to_views
    assert decibels(theirs, mine) > least_db


@pytest.mark.parametrize(("scan", "least_db"), [(TOOTH, 85), (TIFF, 75), (("ct/savu_tiff", 80), 50), (NEXUS, 100)])
def test_rings_are_removed_as_algotom_does(scan: tuple[str, int], least_db: float) -> None:
    """Also where metal is in the slice (row 80), which both wear off. Values that are equal may be exchanged."""
    from algotom.prep import removal

    rows, _ = sinogram(*scan)
    mine = remove_rings(rows, RingSettings("vo-all", large_size=11, small_size=5), CPU)[0]
    theirs = removal.remove_all_stripe(rows[0], 3.0, 11, 5)
    assert 20 * np.log10(np.ptp(mine) / np.sqrt(np.mean((mine - theirs) ** 2))) > least_db
    assert np.mean(np.abs(mine - theirs) < 1e-5) > 0.95


@pytest.mark.parametrize(("scan", "theirs"), [(TOOTH, 295.0), (TIFF, 85.5), (NEXUS, 12.5)])
def test_the_axis_is_where_algotom_finds_it(scan: tuple[str, int], theirs: float) -> None:
    """What its find_center_vo said, which takes seconds."""
    rows, angles = sinogram(*scan)
    assert by_double_wedge(rows[0], angles) == pytest.approx(theirs, abs=0.3)
