"""From a scan's file to a volume: values, invariance, resuming, memory, and the report."""

import json
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pellucid.box import Box
from pellucid.conversion.values import ValueMap
from pellucid.device import Device
from pellucid.engines.engine import EngineOptions, make_engine
from pellucid.errors import InvalidInput, NotEnoughMemory, OutputExists
from pellucid.formats.protocol import Layout, Level, Voxels
from pellucid.tomo.correction.phase import Paganin
from pellucid.tomo.correction.rings import RingSettings
from pellucid.tomo.pipeline.reconstruct import OutputOptions, RunOptions, reconstruct
from pellucid.tomo.pipeline.slab_task import SlabTask
from pellucid.tomo.pipeline.volume_region import VolumeRegion
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.report import AngleReport
from pellucid.tomo.scan_files.assembly import ScanOptions
from pellucid.volume.blocks import Block
from tests.conversion.interrupted import StopsAfter
from tests.tomo.small_scan import AXIS, COLUMNS, MU_PER_CM, PIXEL_UM, inside, write_scan

RECIPE = Recipe(center=AXIS, filter="ramachandran")
OPTIONS = ScanOptions(pixel_size_um=PIXEL_UM)
THIN = OutputOptions(chunk=(4, 16, 16))
PLENTY = 2**30
LITTLE = 900_000
"""Enough for four slices."""


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_scan(tmp_path_factory.mktemp("scan") / "scan.h5")


def running(workers: int = 1, memory_bytes: int = PLENTY, name: str = "local", device: str = "cpu") -> RunOptions:
    return RunOptions(make_engine(name, EngineOptions(workers, memory_bytes)), device)


@pytest.mark.parametrize("method", ["direct", "gridding", "sirt", "cgls"])
def test_values_are_attenuation_per_cm(scan: Path, method: str, device: Device, tmp_path: Path) -> None:
    recipe = Recipe(center=AXIS, method=method, filter="ramachandran", iterations=30)
    with reconstruct(scan, tmp_path / "a.zarr", recipe, THIN, OPTIONS, running(device=device.name)) as volume:
        assert volume.shape == (20, COLUMNS, COLUMNS)
        assert (volume.spacing, volume.unit) == ((5.0, 5.0, 5.0), "um")
        for image in volume.read():
            assert inside(image).mean() == pytest.approx(MU_PER_CM, rel=0.02)


def test_neither_workers_nor_memory_nor_engine_change_a_voxel(scan: Path, tmp_path: Path) -> None:
    expected = reconstruct(scan, tmp_path / "a.zarr", RECIPE, THIN, OPTIONS, running()).read()
    ways = {
        "two workers": (THIN, running(2)),
        "little memory": (THIN, running(1, LITTLE)),
        "other chunks": (OutputOptions(chunk=(7, 48, 48)), running(3)),
        "serial": (THIN, running(1, name="serial")),
    }
    for name, (output, how) in ways.items():
        found = reconstruct(scan, tmp_path / f"{name}.zarr", RECIPE, output, OPTIONS, how).read()
        np.testing.assert_array_equal(found, expected, name)


def test_a_tilted_axis_and_rows_of_the_scan(scan: Path, tmp_path: Path) -> None:
    straight = reconstruct(scan, tmp_path / "a.zarr", RECIPE, OutputOptions(rows=(5, 9)), OPTIONS, running()).read()
    slight = Recipe(center=AXIS, filter="ramachandran", tilt=1e-7)
    tilted = reconstruct(scan, tmp_path / "b.zarr", slight, OutputOptions(rows=(5, 9)), OPTIONS, running()).read()
    assert straight.shape == (4, COLUMNS, COLUMNS)
    np.testing.assert_allclose(tilted, straight, atol=1e-2)


@pytest.mark.parametrize("binning", [1, 2])
def test_a_crop_has_the_voxels_of_the_whole_volume(scan: Path, tmp_path: Path, binning: int) -> None:
    recipe = replace(RECIPE, binning=binning)
    whole = reconstruct(scan, tmp_path / "a.zarr", recipe, THIN, OPTIONS, running())
    crop = OutputOptions(rows=(4, 12), crop=((6, 30), (10, 40)), chunk=(4, 16, 16))
    part = reconstruct(scan, tmp_path / "b.zarr", recipe, crop, OPTIONS, running(2, LITTLE))
    z, y, x = (slice(first // binning, stop // binning) for first, stop in ((4, 12), (6, 30), (10, 40)))
    np.testing.assert_array_equal(part.read(), whole.read()[z, y, x])
    assert part.orientation and whole.orientation
    moved = np.subtract(part.orientation.origin, whole.orientation.origin)
    assert moved == pytest.approx(np.array([10, -6, -4]) * PIXEL_UM)  # (x, y, z); y and z point up
    with pytest.raises(InvalidInput, match=f"no x 0:99.*0:{COLUMNS}"):
        wide = OutputOptions(crop=((0, 9), (0, 99)))
        reconstruct(scan, tmp_path / "c.zarr", RECIPE, wide, OPTIONS, running())


def test_the_axis_is_found(scan: Path, tmp_path: Path) -> None:
    recipe = Recipe(center="correlation", filter="ramachandran")
    with reconstruct(scan, tmp_path / "a.zarr", recipe, OutputOptions(rows=(5, 9)), OPTIONS, running()) as volume:
        assert inside(volume.read()[2]).mean() == pytest.approx(MU_PER_CM, rel=0.02)
    report = json.loads((tmp_path / "a.zarr.report.json").read_text())
    assert report["axis"] == pytest.approx([AXIS, AXIS], abs=0.5)


def test_opposite_views_of_an_offset_scan_are_joined(tmp_path: Path) -> None:
    path = write_scan(tmp_path / "offset.h5", rows=3, views=200, axis=38.0, turn_rad=2 * np.pi)
    recipe = Recipe(center="auto", is_offset=True, filter="ramachandran")
    with reconstruct(path, tmp_path / "a.zarr", recipe, THIN, OPTIONS, running()) as volume:
        assert volume.shape == (3, 77, 77)
        image = volume.read()[1, 14:62, 14:62]  # Half a pixel from the middle of a slice as wide as the detector.
        assert inside(image).mean() == pytest.approx(MU_PER_CM, rel=0.02)
    report = json.loads((tmp_path / "a.zarr.report.json").read_text())
    assert report["axis"] == [38.0, 38.0]
    half = write_scan(tmp_path / "half.h5", rows=1)
    with pytest.raises(InvalidInput, match="covers 180 degrees"):
        reconstruct(half, tmp_path / "b.zarr", recipe, THIN, OPTIONS, running())


def test_phase_is_retrieved_from_whole_projections(scan: Path, tmp_path: Path) -> None:
    phase = Paganin(energy_kev=20, distance_mm=5, pixel_size_um=PIXEL_UM, delta_over_beta=500)
    recipe = Recipe(center=AXIS, filter="ramachandran", phase=phase)
    found = reconstruct(scan, tmp_path / "a.zarr", recipe, THIN, OPTIONS, running()).read()
    plain = reconstruct(scan, tmp_path / "b.zarr", RECIPE, THIN, OPTIONS, running()).read()
    assert inside(found[10]).mean() == pytest.approx(MU_PER_CM, rel=0.03)
    steepness = [np.abs(np.diff(image[10], axis=1)).max() for image in (found, plain)]
    assert steepness[0] < 0.8 * steepness[1]  # It smooths.
    part = reconstruct(scan, tmp_path / "c.zarr", recipe, OutputOptions(rows=(8, 12)), OPTIONS, running(2)).read()
    np.testing.assert_array_equal(part, found[8:12])
    stops = StopsAfter(11, memory_bytes=1_200_000)
    with pytest.raises(KeyboardInterrupt):
        reconstruct(scan, tmp_path / "d.zarr", recipe, THIN, OPTIONS, RunOptions(stops, "cpu"))
    resumed = reconstruct(scan, tmp_path / "d.zarr", recipe, THIN, OPTIONS, running()).read()
    np.testing.assert_array_equal(resumed, found)


def test_interrupted_it_continues(scan: Path, tmp_path: Path) -> None:
    target = tmp_path / "a.zarr"
    stops = StopsAfter(2, memory_bytes=LITTLE)
    with pytest.raises(KeyboardInterrupt):
        reconstruct(scan, target, RECIPE, THIN, OPTIONS, RunOptions(stops, "cpu"))
    assert not target.exists()
    rest = StopsAfter(-1, memory_bytes=LITTLE)
    found = reconstruct(scan, target, RECIPE, THIN, OPTIONS, RunOptions(rest, "cpu"))
    assert (stops.finished, rest.finished) == (2, 3)
    whole = reconstruct(scan, tmp_path / "b.zarr", RECIPE, THIN, OPTIONS, running())
    np.testing.assert_array_equal(found.read(), whole.read())


def test_slabs_are_shown_as_they_are_made(scan: Path, tmp_path: Path) -> None:
    shown = np.full((20, COLUMNS, COLUMNS), np.nan, np.float32)
    reply: list[Layout] = []

    @contextmanager
    def watch(layout: Layout) -> Iterator[Callable[[Box, Voxels], None]]:
        reply.append(layout)
        yield lambda box, voxels: shown.__setitem__(box.slices, voxels)

    how = replace(running(2, 2 * LITTLE), watch=watch)
    with reconstruct(scan, tmp_path / "a.zarr", RECIPE, replace(THIN, levels=2), OPTIONS, how) as volume:
        np.testing.assert_array_equal(shown, volume.read())
    assert [level.shape for level in reply[0].levels] == [(20, 48, 48), (10, 24, 24)]


def test_bytes_with_a_stated_range_and_levels(scan: Path, tmp_path: Path) -> None:
    output = OutputOptions(dtype="uint8", value_range=(-10.0, 50.0), levels=2, chunk=(4, 16, 16))
    with reconstruct(scan, tmp_path / "a.n5", RECIPE, output, OPTIONS, running()) as volume:
        assert volume.dtype == np.uint8
        assert [level.shape for level in volume.levels] == [(20, 48, 48), (10, 24, 24)]
        values = inside(volume.read()[3]).mean() / 255 * 60 - 10
        assert values == pytest.approx(MU_PER_CM, rel=0.02)


def test_the_report_says_everything(scan: Path, tmp_path: Path) -> None:
    recipe = Recipe(center=AXIS, rings=RingSettings("vo-sorting"))
    reconstruct(scan, tmp_path / "a.zarr", recipe, THIN, OPTIONS, running()).close()
    report = json.loads((tmp_path / "a.zarr.report.json").read_text())
    assert report["recipe"]["filter"] == "chesler"
    assert report["recipe"]["rings"]["method"] == "vo-sorting"
    assert report["axis"] == pytest.approx([AXIS, AXIS])
    assert report["output"]["value_unit"] == "1/cm"
    assert report["output"]["spacing"] == [5.0, 5.0, 5.0]
    assert report["scan"]["projections"] == 72
    assert {"read", "correct", "rings", "reconstruct", "write"} <= report["seconds"].keys()
    assert "numpy" in report["versions"]
    assert report["angles"]["covered_deg"] == pytest.approx(180)
    assert report["angles"]["sum_of_weights_deg"] == pytest.approx(180)
    assert report["warnings"] == []


def test_the_report_says_what_the_views_cover(tmp_path: Path) -> None:
    path = write_scan(tmp_path / "wedge.h5", rows=3, views=120, axis=AXIS, turn_rad=np.pi * 2 / 3)
    reconstruct(path, tmp_path / "a.zarr", RECIPE, THIN, OPTIONS, running()).close()
    report = json.loads((tmp_path / "a.zarr.report.json").read_text())
    assert report["angles"]["covered_deg"] == pytest.approx(120)
    assert report["angles"]["missing_wedges_deg"] == pytest.approx([60])
    assert any("missing over 60.0 degrees" in sentence for sentence in report["warnings"])


def test_weights_that_are_not_the_angle_covered_are_reported() -> None:
    assert AngleReport(180.0, 179.9).warnings == []
    assert "cover 180.00 degrees but have weights of 67.00" in AngleReport(180.0, 67.0).warnings[0]


def test_an_unknown_pixel_size_is_said(scan: Path, tmp_path: Path) -> None:
    with reconstruct(scan, tmp_path / "a.zarr", RECIPE, THIN, None, running()) as volume:
        assert inside(volume.read()[3]).mean() == pytest.approx(MU_PER_CM * PIXEL_UM * 1e-4, rel=0.01)
    report = json.loads((tmp_path / "a.zarr.report.json").read_text())
    assert report["warnings"] == ["The pixel size is unknown: values are attenuation per pixel, and spacing is 1."]


def test_of_an_unknown_pixel_size_values_and_spacing_are_those_of_binned_voxels(scan: Path, tmp_path: Path) -> None:
    recipe = replace(RECIPE, binning=2)
    with reconstruct(scan, tmp_path / "a.zarr", recipe, THIN, None, running()) as volume:
        assert volume.spacing == (2.0, 2.0, 2.0)
        middle = volume.shape[1] // 2
        value = volume.read()[2, middle - 3 : middle + 3, middle - 3 : middle + 3].mean()
        assert value == pytest.approx(2 * MU_PER_CM * PIXEL_UM * 1e-4, rel=0.02)
    warnings = json.loads((tmp_path / "a.zarr.report.json").read_text())["warnings"]
    unit = "attenuation per voxel, which is 2 pixels wide, and spacing is 2."
    assert [sentence for sentence in warnings if unit in sentence]


@pytest.mark.parametrize(
    "recipe",
    [
        Recipe(center=80.0),
        Recipe(center=80.0, padding="none", rings=RingSettings("vo-all")),
        Recipe(center=80.0, method="gridding"),
        Recipe(center=80.0, method="sirt", iterations=2),
        Recipe(center=80.0, method="cgls", iterations=2),
    ],
    ids=["direct", "rings", "gridding", "sirt", "cgls"],
)
def test_the_estimate_of_memory_is_what_is_used(recipe: Recipe, tmp_path: Path) -> None:
    columns, rows, views = 160, 40, 110
    path = _noise(tmp_path / "noise.h5", (views, rows, columns))
    layout = Layout((Level((rows, columns, columns), (40, 160, 160)),), np.dtype(np.float32))
    whole = VolumeRegion((0, rows), (0, columns), (0, columns), columns)
    task = SlabTask(
        str(path), ScanOptions(), recipe, (80.0, 0.0), None, whole, 1.0, "memory", layout,
        ValueMap("float32"), (40, 160, 160), views, columns, 2, "cpu",
    )  # fmt: skip
    block = Block(0, Box.whole((rows, columns, columns)), Box.whole((rows, columns, columns)))
    used = _peak(task, block, path)
    assert 0.99 <= task.needs(block).memory_bytes / used <= 1.3


class _Nowhere:
    """A writer that keeps nothing."""

    def write(self, box: Box, voxels: object) -> None: ...


def _peak(task: SlabTask, block: Block, path: Path) -> int:
    from pellucid.tomo.scan_files.registry import open_scan

    scan = open_scan(path)
    task.make(block.core, scan, _Nowhere(), [])  # Kernels are compiled and libraries loaded.
    tracemalloc.start()
    task.make(block.core, scan, _Nowhere(), [])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    scan.close()
    return peak


def _noise(path: Path, shape: tuple[int, int, int]) -> Path:
    import h5py

    counts = np.random.default_rng(0).integers(5_000, 20_000, shape, dtype=np.uint16)
    with h5py.File(path, "w") as file:
        file["exchange/data"] = counts
        file["exchange/data_white"] = np.full((1, *shape[1:]), 20_000, np.uint16)
        file["exchange/data_dark"] = np.zeros((1, *shape[1:]), np.uint16)
        file["exchange/theta"] = np.arange(shape[0]) * 180 / shape[0]
    return path


def test_what_cannot_be_is_refused_before_anything_runs(scan: Path, tmp_path: Path) -> None:
    with pytest.raises(NotEnoughMemory):
        reconstruct(scan, tmp_path / "a.zarr", RECIPE, THIN, OPTIONS, running(1, 100_000))
    with pytest.raises(InvalidInput, match=r"no rows 5:99.*0:20"):
        reconstruct(scan, tmp_path / "a.zarr", RECIPE, OutputOptions(rows=(5, 99)), OPTIONS, running())
    with pytest.raises(InvalidInput, match="does not fit into uint8 without a range"):
        reconstruct(scan, tmp_path / "a.zarr", RECIPE, OutputOptions(dtype="uint8"), OPTIONS, running())
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "b.zarr").mkdir()
    with pytest.raises(OutputExists):
        reconstruct(scan, tmp_path / "b.zarr", RECIPE, THIN, OPTIONS, running())


def test_a_recipe_is_checked() -> None:
    for words, text in (
        ({"method": "magic"}, "Unknown method 'magic'.*direct, gridding, sirt, cgls"),
        ({"filter": "ram"}, "Unknown filter 'ram'"),
        ({"center": "left"}, "Unknown center 'left'.*auto, double-wedge"),
        ({"center": 3.0, "tilt": "auto"}, "found together with its center"),
        ({"iterations": -1}, "iterations is -1"),
    ):
        with pytest.raises(InvalidInput, match=text):
            Recipe(**words)
