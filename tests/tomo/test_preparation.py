"""Steps that need whole projections: each is what it should be, and the volume is made of what comes out."""

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from pellucid.box import Box
from pellucid.device import Device, choose, primitives
from pellucid.engines.engine import EngineOptions, make_engine
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.tomo.correction.flat_field import Calibration, attenuate
from pellucid.tomo.correction.phase import Paganin
from pellucid.tomo.correction.preparation import FrameRange, Preparation, PreparationTask, prepared_frames
from pellucid.tomo.correction.row_window import RowWindow
from pellucid.tomo.geometry.offset import OffsetAxis, find_offset_axis
from pellucid.tomo.pipeline.reconstruct import OutputOptions, RunOptions, reconstruct
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.reference import steps as reference
from pellucid.tomo.scan import Scan
from pellucid.tomo.scan_files.assembly import ScanOptions
from pellucid.tomo.simulation.detector import Detector, Faults, integrals, simulate
from pellucid.tomo.simulation.phantoms import disc, discs, foam
from pellucid.volume.blocks import Block
from tests.tomo.small_scan import AXIS, MU_PER_CM, PIXEL_UM, inside, write_scan, write_simulated

ANGLES = np.arange(40) * np.pi / 40
SAMPLE = foam(25, 10)
PHASE = Paganin(energy_kev=20, distance_mm=20, pixel_size_um=3.0, delta_over_beta=200)


def prepared(scan: Scan, request: Preparation, device: Device | None = None) -> Voxels:
    """All transmissions (view, row, column)."""
    device = device or choose("cpu")
    views = request.shape(scan)[0]
    frames, _ = prepared_frames(scan, Calibration.of(scan), request, FrameRange((0, views)), device)
    return primitives(device).to_host(frames)


def running() -> RunOptions:
    return RunOptions(make_engine("local", EngineOptions(2, 2**30)), "cpu")


def test_without_steps_frames_are_transmissions(device: Device) -> None:
    detector = Detector(6, 64, axis_column=30.0)
    scan = simulate(SAMPLE, detector, ANGLES, Faults(beam_loss=0.2))
    found = -np.log(prepared(scan, Preparation(), device))
    np.testing.assert_allclose(found, integrals(SAMPLE, detector, ANGLES), atol=5e-5)
    assert not Preparation().is_needed


def test_an_offset_scan_is_joined_and_binned(device: Device) -> None:
    sample, turn = foam(50, 20), np.arange(80) * np.pi / 40
    scan = simulate(sample, Detector(4, 64, axis_column=52.5), turn)
    row = attenuate(scan.projections.read(), scan.projections.times, Calibration.of(scan), choose("cpu")).sinograms[1]
    axis = find_offset_axis(row, scan.angles_rad)
    assert axis.column == 52.5
    found = prepared(scan, Preparation(offset=axis, binning=2), device)
    assert found.shape == (40, 2, axis.joined_columns // 2)
    wide = np.exp(-integrals(sample, Detector(4, axis.joined_columns, axis_column=52.5), turn[:40]))
    wanted = wide[:, :, : axis.joined_columns // 2 * 2].reshape(40, 2, 2, -1, 2).mean(axis=(2, 4))
    np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize(
    "request_", [Preparation(binning=2), Preparation(roll_rad=0.02), Preparation(phase=PHASE, binning=2, roll_rad=0.01)]
)
@pytest.mark.parametrize("row", [0, 5, 11])
def test_a_row_for_a_preview_is_that_of_whole_frames(request_: Preparation, row: int, device: Device) -> None:
    scan = simulate(SAMPLE, Detector(12, 64, axis_column=30.0), ANGLES, Faults(black=(5,)))
    window = RowWindow.of(scan, request_, row)
    found = window.read(scan, Calibration.of(scan, window.stored), (3, 9), device)
    wanted = prepared(scan, request_, device)[3:9, window.index]
    np.testing.assert_allclose(found, wanted, atol=2e-5)


def test_phase_is_retrieved_and_black_views_stay_black(device: Device) -> None:
    detector = Detector(12, 64)
    scan = simulate(disc(20), detector, ANGLES, Faults(black=(5,)))
    frames = prepared(scan, Preparation(phase=PHASE), device)
    assert (frames[5] == 0).all()
    transmission = np.exp(-integrals(disc(20), detector, ANGLES))
    wanted = reference.paganin(transmission, PHASE.strength, PHASE.pad_px)
    np.testing.assert_allclose(-np.log(frames[6:]), wanted[6:], atol=5e-5)


def test_a_turned_detector_is_put_upright() -> None:
    scan = simulate(disc(10), Detector(33, 65, tilt=0.1), ANGLES[:4])
    rows = -np.log(prepared(scan, Preparation(roll_rad=float(np.arctan(0.1)))))[0]
    centres = (rows * np.arange(65)).sum(axis=1) / rows.sum(axis=1)
    assert np.ptp(centres[4:-4]) < 0.1
    with pytest.raises(InvalidInput, match="do not support roll correction"):
        Preparation(offset=OffsetAxis(80, 64), roll_rad=0.1)


def test_a_volume_of_binned_projections(tmp_path: Path) -> None:
    scan = write_scan(tmp_path / "scan.h5", rows=9)
    recipe = Recipe(center=AXIS, filter="ramachandran", binning=2)
    options = ScanOptions(pixel_size_um=PIXEL_UM)
    with reconstruct(scan, tmp_path / "a.zarr", recipe, OutputOptions(), options, running()) as volume:
        assert (volume.shape, volume.spacing) == ((4, 24, 24), (10.0, 10.0, 10.0))
        whole = volume.read()
        middle = inside(np.repeat(np.repeat(whole[1], 2, axis=0), 2, axis=1)).mean()
        assert middle == pytest.approx(MU_PER_CM, rel=0.03)
    part = reconstruct(scan, tmp_path / "b.zarr", recipe, OutputOptions(rows=(2, 6)), options, running()).read()
    np.testing.assert_array_equal(part, whole[1:3])
    report = json.loads((tmp_path / "b.zarr.report.json").read_text())
    assert (report["output"]["rows"], report["axis"]) == ([2, 6], [AXIS, AXIS])
    assert report["warnings"] == ["Prepared first: flats and darks corrected, binned by 2."]


def test_a_roll_is_found_and_its_volume_is_that_of_an_upright_detector(tmp_path: Path) -> None:
    angles = np.arange(90) * np.pi / 90
    rods, tilt = discs([(8, 0.02, 10, 5), (6, 0.03, -12, 3), (4, 0.03, 2, -14)]), 0.08
    upright, turned = (
        write_simulated(
            tmp_path / f"{slope}.h5", simulate(rods, Detector(31, 64, axis_column=33.0, tilt=slope), angles)
        )
        for slope in (0.0, tilt)
    )
    made = {
        name: reconstruct(path, tmp_path / f"{name}.zarr", recipe, OutputOptions(), None, running()).read()[8:23]
        for name, path, recipe in (
            ("upright", upright, Recipe(center=33.0)),
            ("given", turned, Recipe(center=33.0, roll_deg=float(np.degrees(np.arctan(tilt))))),
            ("found", turned, Recipe(roll_deg="auto")),
            ("ignored", turned, Recipe(center=33.0)),
        )
    }
    errors = {name: float(np.sqrt(np.mean((image - made["upright"]) ** 2))) for name, image in made.items()}
    assert errors["given"] < 0.4 * errors["ignored"]
    assert errors["found"] < 0.4 * errors["ignored"]


def test_an_offset_scan_is_binned_on_the_way_to_its_volume(tmp_path: Path) -> None:
    path = write_scan(tmp_path / "offset.h5", rows=4, views=200, axis=38.0, turn_rad=2 * np.pi)
    recipe = Recipe(center="auto", is_offset=True, filter="ramachandran", binning=2)
    options = ScanOptions(pixel_size_um=PIXEL_UM)
    with reconstruct(path, tmp_path / "a.zarr", recipe, OutputOptions(), options, running()) as volume:
        assert volume.shape == (2, 38, 38)
        image = np.repeat(np.repeat(volume.read()[1], 2, axis=0), 2, axis=1)[14:62, 14:62]
        assert inside(image).mean() == pytest.approx(MU_PER_CM, rel=0.03)


@pytest.mark.parametrize(
    "requested",
    [
        Preparation(binning=2),
        Preparation(roll_rad=0.01),
        Preparation(phase=PHASE),
        Preparation(offset=OffsetAxis(220, 120), binning=2),
    ],
    ids=["binning", "roll", "phase", "offset"],
)
def test_the_estimate_of_memory_is_what_is_used(requested: Preparation) -> None:
    scan = simulate(disc(20), Detector(90, 120, flats=1), np.arange(32) * np.pi / 16, Faults(is_noisy=True))
    layout = requested.layout(scan)
    shape = layout.levels[0].shape
    task = PreparationTask("a scan", ScanOptions(), requested, "nowhere", layout, shape, 2, "cpu")
    block, calibration = Block(0, Box.whole(shape), Box.whole(shape)), Calibration.of(scan)
    task.make(block, scan, calibration, _Nowhere())  # Kernels are compiled and libraries loaded.
    tracemalloc.start()
    task.make(block, scan, calibration, _Nowhere())
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.99 <= task.needs(block).memory_bytes / used <= 1.3


class _Nowhere:
    """A writer that keeps nothing."""

    def write(self, box: Box, voxels: object) -> None: ...
