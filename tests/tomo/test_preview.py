"""Settings tried on one slice: as the volume has it, at once where only the axis moves, given up on request."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pellucid.device import choose
from pellucid.engines.engine import make_engine
from pellucid.errors import Cancelled, InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.tomo.correction.phase import Paganin
from pellucid.tomo.correction.rings import RingSettings
from pellucid.tomo.pipeline import preview as previews
from pellucid.tomo.pipeline.preview import PreviewReduction, SlicePreview
from pellucid.tomo.pipeline.reconstruct import OutputOptions, RunOptions, reconstruct
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan_files.assembly import ScanOptions
from pellucid.tomo.scan_files.registry import open_scan
from tests.tomo.small_scan import AXIS, COLUMNS, MU_PER_CM, PIXEL_UM, inside, write_scan

ROW = 3
OPTIONS = ScanOptions(pixel_size_um=PIXEL_UM)
RECIPE = Recipe(center=AXIS, rings=RingSettings("vo-sorting"))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_scan(tmp_path_factory.mktemp("scan") / "scan.h5", rows=8))


@pytest.fixture
def preview(source: str) -> Iterator[SlicePreview]:
    opened = SlicePreview(open_scan(source, OPTIONS), choose("cpu"))
    yield opened
    opened.close()


def likeness(left: Voxels, right: Voxels) -> float:
    """PSNR in dB."""
    return float(10 * np.log10(np.ptp(right) ** 2 / max(np.mean((left - right) ** 2), 1e-30)))


@pytest.mark.parametrize(
    "recipe",
    [
        RECIPE,
        replace(RECIPE, method="gridding", filter="hamming", zingers=0.5, air=3),
        replace(RECIPE, phase=Paganin(20, 5, PIXEL_UM, 500)),
        replace(RECIPE, tilt=0.2),
        replace(RECIPE, roll_deg=4.0),
        replace(RECIPE, binning=2),
        replace(RECIPE, roll_deg=-2.0, binning=2, phase=Paganin(20, 5, PIXEL_UM, 500)),
        replace(RECIPE, method="sirt", iterations=4, is_nonnegative=True),
        replace(RECIPE, method="cgls", iterations=3),
    ],
    ids=["direct", "gridding", "phase", "tilt", "roll", "binning", "everything", "sirt", "cgls"],
)
def test_a_slice_is_that_of_the_volume(source: str, preview: SlicePreview, recipe: Recipe, tmp_path: Path) -> None:
    running = RunOptions(make_engine("serial"), "cpu")
    made = reconstruct(source, tmp_path / "a.zarr", recipe, OutputOptions(), OPTIONS, running)
    with made:
        assert likeness(preview.slice(ROW, recipe), made.read()[ROW // recipe.binning]) > 90


def test_a_rough_slice_is_nearly_the_same(preview: SlicePreview, monkeypatch: pytest.MonkeyPatch) -> None:
    fine = preview.slice(ROW, RECIPE)
    assert likeness(preview.slice(ROW, RECIPE, is_rough=True), fine) > 30
    monkeypatch.setattr(previews, "ROUGH_COLUMNS", COLUMNS // 2)
    monkeypatch.setattr(previews, "ROUGH_VIEWS", 40)
    rough = preview.slice(ROW, RECIPE, is_rough=True)
    assert rough.shape == (COLUMNS // 2, COLUMNS // 2)
    assert likeness(rough, fine.reshape(COLUMNS // 2, 2, COLUMNS // 2, 2).mean(axis=(1, 3))) > 25
    assert inside(np.kron(rough, np.ones((2, 2)))).mean() == pytest.approx(MU_PER_CM, rel=0.03)


def test_phase_is_retrieved_of_few_views_while_something_moves(
    preview: SlicePreview, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = replace(RECIPE, phase=Paganin(20, 5, PIXEL_UM, 500))
    monkeypatch.setattr(previews, "ROUGH_PHASE_VIEWS", 36)
    assert preview.reduction(recipe, is_rough=True) == PreviewReduction(columns=1, views=2)
    rough = preview.slice(ROW, recipe, is_rough=True)
    assert inside(rough).mean() == pytest.approx(MU_PER_CM, rel=0.05)
    assert likeness(rough, preview.slice(ROW, recipe)) > 25


def test_iterations_that_would_take_long_are_made_of_less(
    preview: SlicePreview, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = replace(RECIPE, method="cgls", iterations=6)
    fine = preview.slice(ROW, recipe)
    monkeypatch.setattr(previews, "CPU_UPDATES", (0, 2 * 6 * 24 * 24 * 72))
    assert preview.reduction(recipe) == PreviewReduction(columns=2, views=1, iterations=6)
    assert preview.reduction(replace(recipe, iterations=10**6)).iterations == 1000
    coarse = preview.slice(ROW, recipe)
    assert coarse.shape == (COLUMNS // 2, COLUMNS // 2)
    assert likeness(coarse, fine.reshape(COLUMNS // 2, 2, COLUMNS // 2, 2).mean(axis=(1, 3))) > 20
    assert inside(np.kron(coarse, np.ones((2, 2)))).mean() == pytest.approx(MU_PER_CM, rel=0.05)


def test_iterations_are_given_up_between_two_of_them(preview: SlicePreview) -> None:
    request: list[bool] = []

    def is_cancelled() -> bool:
        request.append(len(request) > 4)
        return request[-1]

    with pytest.raises(Cancelled):
        preview.slice(ROW, replace(RECIPE, method="sirt", iterations=10_000), is_cancelled=is_cancelled)
    assert request == [*[False] * 5, True]


def test_only_what_changes_is_done_again(preview: SlicePreview, monkeypatch: pytest.MonkeyPatch) -> None:
    first = preview.slice(ROW, RECIPE)

    def refuse(*_: object) -> None:
        raise AssertionError("the sinogram is made again")

    monkeypatch.setattr(previews, "corrected", refuse)
    moved = preview.slice(ROW, replace(RECIPE, center=AXIS + 2))
    assert likeness(moved, first) < 30
    assert np.array_equal(preview.slice(ROW, RECIPE), first)


def test_pictures_of_what_goes_in(preview: SlicePreview) -> None:
    projection = preview.projection(5)
    assert projection.shape == (8, COLUMNS)
    assert projection.max() == pytest.approx(1, abs=1e-3)
    sinogram = preview.sinogram(ROW, replace(RECIPE, rings=RingSettings("none")))
    assert np.allclose(np.exp(-sinogram[5]), projection[ROW], atol=1e-5)


def test_the_axis_is_looked_for(preview: SlicePreview) -> None:
    assert preview.axis(replace(RECIPE, center="auto"))[0] == pytest.approx(AXIS, abs=0.3)
    assert preview.axis(replace(RECIPE, tilt=0.1)) == pytest.approx((AXIS, 0.1))
    column, slope = preview.axis(replace(RECIPE, center="auto", tilt="auto"))
    assert column == pytest.approx(AXIS, abs=0.3)
    assert slope == pytest.approx(0, abs=0.1)


def test_a_trial_is_given_up(preview: SlicePreview) -> None:
    with pytest.raises(Cancelled):
        preview.slice(ROW, RECIPE, is_cancelled=lambda: True)


def test_what_is_not_there_is_said(preview: SlicePreview) -> None:
    with pytest.raises(InvalidInput, match="no row 8"):
        preview.slice(8, RECIPE)
    with pytest.raises(InvalidInput, match="no view 72"):
        preview.projection(72)
    with pytest.raises(InvalidInput, match="Invalid binning 9"):
        preview.slice(ROW, replace(RECIPE, binning=9))
    with pytest.raises(InvalidInput, match="column 480 of 48"):
        preview.slice(ROW, replace(RECIPE, center=480.0))
