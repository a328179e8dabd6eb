"""A beam that drifts between flats before, during and after a scan leaves no trace in the volume, whatever made it."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import tifffile
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.cli.main import main
from pellucid.device import Device
from pellucid.formats.protocol import Voxels
from pellucid.tomo.pipeline.in_memory import reconstruct_array
from pellucid.tomo.pipeline.live import FollowOptions, follow
from pellucid.tomo.pipeline.preview import SlicePreview
from pellucid.tomo.pipeline.reconstruct import reconstruct
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan import Frames, Scan
from pellucid.tomo.scan_files.assembly import ScanOptions
from pellucid.tomo.scan_files.registry import open_scan
from pellucid.tomo.simulation.detector import Detector, Faults, simulate, write_nxtomo
from pellucid.tomo.simulation.phantoms import disc
from pellucid.volume.volume import open_volume

ANGLES = np.arange(60) * np.pi / 60
SAMPLE, RECIPE = disc(12, 0.02), Recipe(center=19.5, filter="ramachandran", tilt=0.0)
DETECTOR = Detector(3, 40, flats=4)
TRUTH = reconstruct_array(simulate(SAMPLE, DETECTOR, ANGLES), RECIPE, device="cpu")
WITHIN = 1e-3 * float(TRUTH.max())
"""Of the truth. Flats of one side alone leave 5 % of drift as an offset of 0.05 in every projection."""


def drifting(share: float) -> Scan:
    """The beam fades by this share from the first frame to the last, all frames evenly in time."""
    return simulate(SAMPLE, DETECTOR, ANGLES, Faults(beam_loss=share))


def write_tiffs(folder: Path, scan: Scan) -> Path:
    assert scan.flats is not None and scan.darks is not None
    flats = scan.flats.read()
    parts = {
        "Tomo": scan.projections.read(),
        "Flat_Before": flats[:4],
        "Flat_After": flats[4:],
        "Dark": scan.darks.read(),
    }
    for name, frames in parts.items():
        (folder / name).mkdir(parents=True)
        for index, frame in enumerate(frames):
            tifffile.imwrite(folder / name / f"{index:03}.tif", frame)
    (folder / "angles.csv").write_text("angle\n" + "\n".join(f"{angle:.6f}" for angle in np.degrees(ANGLES)))
    return folder


def write_exchange(path: Path, scan: Scan, *, is_split: bool) -> Path:
    assert scan.flats is not None and scan.darks is not None
    flats = scan.flats.read()
    with h5py.File(path, "w") as file:
        file["exchange/data"], file["exchange/theta"] = scan.projections.read(), np.degrees(ANGLES)
        file["exchange/data_dark"] = scan.darks.read()
        if is_split:
            file["exchange/data_white_pre"], file["exchange/data_white_post"] = flats[:4], flats[4:]
        else:
            file["exchange/data_white"] = flats
            file["process/acquisition/flat_fields/flat_field_mode"] = "Both"
    return path


def written(kind: str, folder: Path, scan: Scan) -> Path:
    match kind:
        case "nexus":
            write_nxtomo(scan, folder / "scan.nxs")
            return folder / "scan.nxs"
        case "tiff":
            return write_tiffs(folder / "scan", scan)
        case _:
            return write_exchange(folder / "scan.h5", scan, is_split=kind == "split")


OPTIONS = ScanOptions(pixel_size_um=1.0)


@pytest.mark.parametrize("kind", ["nexus", "tiff", "both", "split"])
@pytest.mark.parametrize("share", [0.01, 0.05])
def test_every_kind_of_file_gives_the_truth(kind: str, share: float, tmp_path: Path) -> None:
    source = written(kind, tmp_path, drifting(share))
    with closing(open_scan(source, OPTIONS)) as scan:
        assert scan.groups(scan.flats) == [("before", 4), ("after", 4)]
        np.testing.assert_allclose(reconstruct_array(scan, RECIPE, device="cpu"), TRUTH, atol=WITHIN)


@pytest.mark.parametrize("share", [0.01, 0.05])
def test_every_way_to_a_slice_gives_the_truth(share: float, tmp_path: Path, device: Device) -> None:
    source = written("tiff", tmp_path, drifting(share))
    reconstruct(source, tmp_path / "out.zarr", RECIPE, options=OPTIONS).close()
    np.testing.assert_allclose(open_volume(tmp_path / "out.zarr").read(), TRUTH, atol=WITHIN)
    report = (tmp_path / "out.zarr.report.json").read_text()
    assert '"flat_groups": [' in report and '"after"' in report
    with closing(SlicePreview(open_scan(source, OPTIONS), device)) as preview:
        np.testing.assert_allclose(preview.slice(1, RECIPE), TRUTH[1], atol=WITHIN)
        np.testing.assert_allclose(preview.slice(1, replace(RECIPE, roll_deg=1e-6)), TRUTH[1], atol=5 * WITHIN)
    following = FollowOptions(source, OPTIONS, RECIPE, device, pause=lambda seconds: False)
    *_, cross = follow(following)
    np.testing.assert_allclose(cross.xy, TRUTH[1], atol=5 * WITHIN)


def test_the_command_takes_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = written("tiff", tmp_path, drifting(0.05))
    arguments = [str(source), "--center", "19.5", "--filter", "ramachandran", "--pixel-size", "1", "--device", "cpu"]
    both = ["--flats", str(source / "Flat_Before"), "--flats", "Flat_After"]
    assert main(["reconstruct", *arguments, *both, "-o", str(tmp_path / "both.zarr")]) == 0
    np.testing.assert_allclose(open_volume(tmp_path / "both.zarr").read(), TRUTH, atol=WITHIN)
    assert main(["reconstruct", *arguments, "--flats", "Flat_Before", "-o", str(tmp_path / "one.zarr")]) == 0
    assert np.abs(open_volume(tmp_path / "one.zarr").read() - TRUTH).max() > 10 * WITHIN


def moved(frames: Frames, times: Any) -> Frames:
    return Frames(frames.volume, frames.indices, np.asarray(times, np.float64))


@settings(max_examples=25)
@given(st.floats(0, 0.3), st.lists(st.integers(0, 60), min_size=1, max_size=6, unique=True), st.integers(0, 9))
def test_flats_at_any_time_follow_a_beam_that_bends_at_them(share: float, places: list[int], seed: int) -> None:
    """The beam changes linearly between groups of flats at random positions, and stands still beyond them."""
    random, scan = np.random.default_rng(seed), simulate(SAMPLE, DETECTOR, ANGLES)
    assert scan.flats is not None and scan.darks is not None
    at = np.sort(np.array(places)) - 0.5
    levels = 1 - share * random.random(len(at))
    dark = scan.darks.read()[0]

    def lit(frames: Voxels, times: Any) -> Voxels:
        return np.asarray((frames - dark) * np.interp(times, at, levels)[:, None, None] + dark, np.float32)

    flats = np.repeat(scan.flats.read()[:1], len(at), axis=0)
    drifted = replace(
        scan,
        projections=Frames.from_array(lit(scan.projections.read(), np.arange(60.0))),
        flats=moved(Frames.from_array(lit(flats, at)), at),
    )
    np.testing.assert_allclose(reconstruct_array(drifted, RECIPE, device="cpu"), TRUTH, atol=WITHIN)
