"""What is up in the projections is up in the volume, in 3D and in slices, and nothing is mirrored."""

from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from pellucid.formats.orientation import Orientation
from pellucid.formats.protocol import Voxels
from pellucid.rendering.first_view.volumes import automatic_camera, automatic_scene
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import Scene, Transform, VolumeLayer
from pellucid.rendering.slice_image import SliceImage, axis_rectangle
from pellucid.rendering.transfer import TransferFunction
from pellucid.tomo.pipeline.reconstruct import OutputOptions, reconstruct
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.simulation.detector import Detector, integrals, simulate
from pellucid.tomo.simulation.phantoms import Ellipsoid, Phantom
from pellucid.volume.slice_planes import cut_slice, planes_of
from pellucid.volume.slice_sheet import middle_slices
from pellucid.volume.volume import Volume
from tests.tomo.small_scan import write_simulated

ROWS, COLUMNS = 40, 40
DETECTOR = Detector(ROWS, COLUMNS, flats=2)
ANGLES = np.linspace(0, np.pi, 60, endpoint=False)
RECIPE = Recipe(center=DETECTOR.axis, filter="ramachandran")


def bar(x: float, z: float, across: float, along: float) -> Ellipsoid:
    return Ellipsoid(0.02, (x, 0.0, z), (across, 2.5, along))


LETTER_F = Phantom((bar(-7.0, 0.0, 2.0, 15.0), bar(0.0, -12.0, 9.0, 2.5), bar(-1.0, -2.0, 7.0, 2.0)))
"""As it stands in the projection at angle 0, z downwards: neither upside down nor mirrored is it itself."""


@pytest.fixture(scope="module")
def projection() -> Voxels:
    found: Voxels = integrals(LETTER_F, DETECTOR, np.array([0.0]))[0]
    return found


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_simulated(tmp_path_factory.mktemp("letter") / "scan.h5", simulate(LETTER_F, DETECTOR, ANGLES))


@pytest.fixture(scope="module", params=["volume.zarr", "volume.h5", "volume.nrrd", "volume.nii", "volume.tif"])
def volume(request: pytest.FixtureRequest, scan: Path, tmp_path_factory: pytest.TempPathFactory) -> Volume:
    return reconstruct(scan, tmp_path_factory.mktemp("made") / request.param, RECIPE)


def assert_like(image: Voxels, projection: Voxels) -> None:
    """More like the projection than like the projection turned over in any way."""
    ways = [projection, projection[::-1], projection[:, ::-1], projection[::-1, ::-1]]
    alike = [float(np.corrcoef(image.ravel(), one.ravel())[0, 1]) for one in ways]
    assert alike[0] > 0.8, alike
    assert alike[0] > max(alike[1:]) + 0.2, alike


def test_slices_of_the_command_line_and_of_the_page(volume: Volume, projection: Voxels) -> None:
    _, (_, coronal, _) = middle_slices(volume, height=ROWS)
    assert_like(coronal.pixels.astype(float), projection)
    greys = TransferFunction(value_range=(0.0, float(volume.read().max())))
    layer, renderer = VolumeLayer(str(volume.location), greys), Renderer()
    renderer.add(volume)
    place = axis_rectangle(planes_of(volume)[1], COLUMNS // 2, volume, Transform())
    shown, _ = renderer.draw_slice([layer], SliceImage(place, COLUMNS, ROWS))
    assert_like(shown[..., 0].astype(float), projection)
    plain = cut_slice(volume, planes_of(volume)[1], COLUMNS // 2, (ROWS, COLUMNS))
    assert np.array_equal(plain, volume.read()[:, COLUMNS // 2])


def test_the_view_from_the_front(volume: Volume, projection: Voxels) -> None:
    camera = automatic_camera(volume, view="front")
    camera = replace(camera, field_of_view_deg=None, height=ROWS * volume.spacing[0])
    greys = TransferFunction(opacities=((0.0, 1.0),), value_range=(0.0, float(volume.read().max())))
    layer = VolumeLayer(str(volume.location), greys, mode="max", shading="none")
    image = Renderer().render(Scene((layer,), camera), COLUMNS, ROWS).rgba[..., 0]
    assert_like(image.astype(float), projection)


def test_the_first_view_has_row_0_at_the_top(volume: Volume) -> None:
    assert automatic_scene(volume).camera.up == (0.0, 0.0, -1.0)


def test_rows_and_binning_keep_the_place_of_voxels(scan: Path, tmp_path: Path) -> None:
    with reconstruct(scan, tmp_path / "part.zarr", replace(RECIPE, binning=2), OutputOptions(rows=(10, 30))) as part:
        assert part.orientation is not None
        assert part.orientation.axes == Orientation().axes
        assert part.orientation.origin == pytest.approx((0.5, -0.5, -10.5))


@pytest.mark.parametrize(("columns", "binning"), [(48, 2), (49, 2), (49, 3), (51, 4)])
def test_binning_keeps_the_place_of_voxels_where_columns_are_left_over(
    tmp_path: Path, columns: int, binning: int
) -> None:
    x, y, axis = 7.0, 4.0, (columns - 1) / 2
    away = np.arange(columns) - (axis + x * np.cos(ANGLES) + y * np.sin(ANGLES))[:, None]
    counts = np.repeat(1000 * np.exp(-np.exp(-((away / 4) ** 2)))[:, None], 8, axis=1)
    with h5py.File(tmp_path / "scan.h5", "w") as file:
        group = file.create_group("exchange")
        group["data"], group["theta"] = counts, np.degrees(ANGLES)
        group["data_white"], group["data_dark"] = np.full((2, 8, columns), 1000.0), np.zeros((2, 8, columns))
    with reconstruct(tmp_path / "scan.h5", tmp_path / "a.zarr", Recipe(center=axis, binning=binning)) as volume:
        density, orientation = np.clip(volume[0], 0.1 * float(volume[0].max()), None), volume.orientation
        density = density - density.min()
    assert orientation is not None
    rows, places = np.indices(density.shape), np.array(volume.spacing[1:])
    row, column = (rows * density).sum(axis=(1, 2)) / density.sum() * places
    # Space is (right, away, up) from the first voxel of the unbinned volume; rows of a slice run towards the viewer.
    assert orientation.origin[0] + column == pytest.approx(axis + x, abs=0.1)
    assert orientation.origin[1] - row == pytest.approx(-(axis - y), abs=0.1)


def test_a_point_moves_as_the_documented_sense_of_rotation_says(tmp_path: Path) -> None:
    """column = axis + x cos(angle) + y sin(angle), with y upwards in the slice: to smaller row numbers."""
    x, y, axis = 9.0, 5.0, (COLUMNS - 1) / 2
    counts = np.full((len(ANGLES), 4, COLUMNS), 1000.0)
    for view, angle in enumerate(ANGLES):
        away = np.arange(COLUMNS) - (axis + x * np.cos(angle) + y * np.sin(angle))
        counts[view] *= np.exp(-np.exp(-(away**2)))
    with h5py.File(tmp_path / "scan.h5", "w") as file:
        group = file.create_group("exchange")
        group["data"], group["theta"] = counts, np.degrees(ANGLES)
        group["data_white"], group["data_dark"] = np.full((2, 4, COLUMNS), 1000.0), np.zeros((2, 4, COLUMNS))
    with reconstruct(tmp_path / "scan.h5", tmp_path / "a.zarr", Recipe(center=axis)) as volume:
        row, column = np.unravel_index(volume.read()[2].argmax(), (COLUMNS, COLUMNS))
    assert abs(column - (axis + x)) <= 0.5
    assert abs(row - (axis - y)) <= 0.5
