"""Slices of a scan that is still being written: those of the whole volume once all is there, whatever it comes in."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
import tifffile

from pellucid.device import Device, choose, primitives
from pellucid.formats.protocol import Voxels
from pellucid.tomo.correction.flat_field import Calibration, attenuate
from pellucid.tomo.pipeline.live import FollowOptions, LiveSlices, OrthogonalSlices, follow
from pellucid.tomo.pipeline.preview import SlicePreview
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan import Scan
from pellucid.tomo.scan_files.assembly import ScanOptions
from pellucid.tomo.simulation.detector import Detector, simulate
from pellucid.tomo.simulation.phantoms import foam

ROWS, COLUMNS, AXIS = 9, 48, 25.25
ANGLES = np.arange(60) * np.pi / 60
SCAN = simulate(foam(20, 8), Detector(ROWS, COLUMNS, axis_column=AXIS, flats=3), ANGLES)
RECIPE = Recipe(center=AXIS)
STEPS = (0, 7, 40, 60)
"""Projections that are there at every look."""


def whole(scan: Scan, axis: float = AXIS) -> Voxels:
    """The volume, in the usual way."""
    preview = SlicePreview(scan, choose("cpu"))
    return np.stack([preview.whole_slice(row, Recipe(center=axis)) for row in range(ROWS)])


def assert_slices_of(cross: OrthogonalSlices, volume: Voxels) -> None:
    for found, wanted in (
        (cross.xy, volume[ROWS // 2]),
        (cross.xz, volume[:, COLUMNS // 2]),
        (cross.yz, volume[:, :, COLUMNS // 2]),
    ):
        np.testing.assert_allclose(found, wanted, atol=2e-5 * volume.max())


def test_views_that_come_in_parts_make_the_slices_of_the_volume(device: Device) -> None:
    slices = LiveSlices(ROWS, COLUMNS, AXIS, RECIPE, device)
    found = attenuate(SCAN.projections.read(), SCAN.projections.times, Calibration.of(SCAN), choose("cpu")).sinograms
    for views in (slice(0, 5), slice(5, 37), slice(37, 60)):
        part = np.ascontiguousarray(found[:, views])
        slices.add(primitives(device).to_device(part), ANGLES[views])
    cross = slices.cross(SCAN.pixel_size_um)
    assert (cross.views, cross.shape) == (60, (ROWS, COLUMNS, COLUMNS))
    assert_slices_of(cross, whole(SCAN))


def followed(path: Path, grow: Callable[[int], None], recipe: Recipe = RECIPE) -> list[OrthogonalSlices]:
    """Every picture that a follower makes while the scan grows, step by step, between its looks."""
    grow(STEPS[0])
    steps = iter(STEPS[1:])

    def pause(_: float) -> bool:
        step = next(steps, None)
        if step is not None:
            grow(step)
        return step is not None

    options = ScanOptions(pixel_size_um=SCAN.pixel_size_um)
    return list(follow(FollowOptions(path, options, recipe, choose("cpu"), pause=pause)))


def test_an_hdf5_file_is_followed_while_it_is_written(tmp_path: Path) -> None:
    """By SWMR: the writer, another process, keeps the file open."""
    assert SCAN.flats is not None and SCAN.darks is not None
    arrays = {"data": SCAN.projections.read(), "data_white": SCAN.flats.read(), "data_dark": SCAN.darks.read()}
    np.savez(tmp_path / "frames.npz", allow_pickle=False, theta=np.degrees(ANGLES), **arrays)
    path, program = tmp_path / "scan.h5", Path(__file__).with_name("growing_file.py")
    command = [sys.executable, str(program), str(path), str(tmp_path / "frames.npz")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdin is not None and writer.stdout is not None

        def grow(count: int) -> None:
            print(count, file=writer.stdin, flush=True)
            assert writer.stdout is not None
            assert writer.stdout.readline() == f"{count}\n"

        images = followed(path, grow)
        writer.stdin.close()
    assert [image.views for image in images] == list(STEPS[1:])
    assert_slices_of(images[-1], whole(SCAN))


def test_a_folder_of_tiff_files_is_followed_and_its_axis_found(tmp_path: Path) -> None:
    """At one look a file is half written: it is passed over."""
    frames, folder = SCAN.projections.read(), tmp_path / "scan"
    assert SCAN.flats is not None and SCAN.darks is not None
    folder.mkdir()
    tifffile.imwrite(folder / "flat_0.tif", SCAN.flats.read()[0])
    tifffile.imwrite(folder / "dark_0.tif", SCAN.darks.read()[0])
    np.savetxt(folder / "angles.txt", np.degrees(ANGLES))

    def grow(count: int) -> None:
        for number in range(count):
            tifffile.imwrite(folder / f"raw_{number:04d}.tif", frames[number])
        if count == 40:
            started = (folder / f"raw_{count - 1:04d}.tif").read_bytes()
            (folder / f"raw_{count:04d}.tif").write_bytes(started[: len(started) // 2])

    images = followed(folder, grow, Recipe(center="auto"))
    assert [image.views for image in images] == [7, 60]
    assert images[0].axis == (COLUMNS - 1) / 2
    assert images[-1].axis == pytest.approx(AXIS, abs=0.25)
    assert_slices_of(images[-1], whole(SCAN, images[-1].axis))


def test_frames_that_are_allocated_and_empty_have_not_come(tmp_path: Path) -> None:
    path, frames = tmp_path / "scan.h5", SCAN.projections.read()
    assert SCAN.flats is not None and SCAN.darks is not None
    arrays = {"data": np.zeros_like(frames), "data_white": SCAN.flats.read(), "data_dark": SCAN.darks.read()}
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[f"exchange/{name}"] = array
        file["exchange/theta"] = np.degrees(ANGLES)

    def grow(count: int) -> None:
        with h5py.File(path, "r+") as file:
            file["exchange/data"][:count] = frames[:count]

    images = followed(path, grow)
    assert [image.views for image in images] == list(STEPS[1:])
    assert_slices_of(images[-1], whole(SCAN))


def test_views_that_come_in_any_order_are_followed_and_their_axis_found(tmp_path: Path) -> None:
    """At first there are too few views for an axis; what few of them say is checked when there are more."""
    path, order = tmp_path / "scan.h5", np.random.default_rng(0).permutation(len(ANGLES))
    assert SCAN.flats is not None and SCAN.darks is not None
    arrays = {"data_white": SCAN.flats.read(), "data_dark": SCAN.darks.read(), "theta": np.degrees(ANGLES[order])}
    frames = SCAN.projections.read()[order]

    def grow(count: int) -> None:
        with h5py.File(path, "w") as file:
            for name, array in {**arrays, "data": frames[:count]}.items():
                file[f"exchange/{name}"] = array

    images = followed(path, lambda count: grow(max(count, 3)), Recipe(center="auto"))
    assert [image.views for image in images] == [3, 7, 40, 60]
    assert images[0].axis == (COLUMNS - 1) / 2
    assert images[-1].axis == pytest.approx(AXIS, abs=0.25)
    assert_slices_of(images[-1], whole(SCAN, images[-1].axis))


def test_a_second_half_turn_that_has_only_begun_changes_nothing(device: Device) -> None:
    """Angles that have come twice count half as much each: the slices are those of the whole volume at every moment."""
    angles = np.arange(96) * 2 * np.pi / 96
    scan = simulate(foam(20, 8), Detector(ROWS, COLUMNS, axis_column=AXIS, flats=3), angles)
    found = attenuate(scan.projections.read(), scan.projections.times, Calibration.of(scan), choose("cpu")).sinograms
    slices = LiveSlices(ROWS, COLUMNS, AXIS, RECIPE, device)
    half_turn = whole(SCAN)[ROWS // 2]
    for views in (slice(0, 48), slice(48, 60), slice(60, 72), slice(72, 96)):
        part = np.ascontiguousarray(found[:, views])
        slices.add(primitives(device).to_device(part), angles[views])
        error = slices.cross(scan.pixel_size_um).xy - half_turn
        assert np.sqrt(np.mean(error**2)) < 0.02 * half_turn.max(), views
