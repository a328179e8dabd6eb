"""Slices from interleaved sets of views: those of each set alone, and their mean."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pellucid.box import Box
from pellucid.errors import InvalidInput
from pellucid.tomo import OutputOptions, Recipe, open_scan, reconstruct, reconstruct_array
from pellucid.tomo.correction.rings import RingSettings
from pellucid.tomo.pipeline.view_sets import ViewSets
from pellucid.tomo.simulation.detector import Detector, Faults, simulate, write_nxtomo
from pellucid.tomo.simulation.phantoms import foam

RECIPE = Recipe(center=15.5, tilt=0.0)
ANGLES = np.linspace(0, np.pi, 50, endpoint=False)


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scan") / "a.nxs"
    write_nxtomo(simulate(foam(14, 20, 0.02), Detector(12, 32, counts=2000), ANGLES, Faults(is_noisy=True)), path)
    return path


@pytest.mark.parametrize("count", [2, 3])
def test_sets_are_reconstructions_of_every_so_manyth_view(scan: Path, count: int, tmp_path: Path) -> None:
    output = OutputOptions(rows=(1, 11), sets=count, chunk=(4, 16, 16))
    sets = ViewSets.of(count, 10, 4)
    whole = open_scan(scan)
    with reconstruct(scan, tmp_path / "sets.zarr", RECIPE, output) as volume:
        assert volume.shape == ((count + 1) * 12, 32, 32)
        found = [volume.read(sets.box(number, (32, 32))) for number in range(count)]
        mean = volume.read(sets.box(-1, (32, 32)))
    for number in range(count):
        some = slice(number, None, count)
        part = replace(whole, projections=whole.projections.choose(some), angles_rad=whole.angles_rad[some])
        expected = reconstruct_array(part, RECIPE)[1:11]
        np.testing.assert_allclose(found[number], expected, atol=1e-4 * expected.std())
    np.testing.assert_allclose(mean, np.mean(found, axis=0), atol=1e-4 * mean.std())
    complete = reconstruct_array(whole, RECIPE)[1:11]
    assert np.abs(mean - complete).std() < 0.05 * complete.std()


def test_rings_are_removed_before_views_are_split(scan: Path, tmp_path: Path) -> None:
    """Ring removal of the whole scan is not that of its parts: the sets have the mean of the former."""
    recipe = replace(RECIPE, rings=RingSettings(method="vo-sorting", small_size=5))
    sets = ViewSets.of(2, 12, 12)
    with reconstruct(scan, tmp_path / "sets.zarr", recipe, OutputOptions(sets=2)) as volume:
        mean = volume.read(sets.box(-1, (32, 32)))
    complete = reconstruct_array(open_scan(scan), recipe)
    assert np.abs(mean - complete).max() < 1e-4 * np.ptp(complete)


def test_places_of_sets_do_not_share_chunks() -> None:
    sets = ViewSets.of(3, 10, 4)
    assert sets.box(-1, (5, 6)) == Box((0, 0, 0), (10, 5, 6))
    assert sets.box(2, (5, 6)) == Box((36, 0, 0), (46, 5, 6)) and sets.depth == 48


@pytest.mark.parametrize(
    ("output", "recipe", "text"),
    [
        (OutputOptions(sets=7), RECIPE, "50 views cannot be split into 7 sets"),
        (OutputOptions(sets=2), replace(RECIPE, method="sirt", is_nonnegative=True), "Non-negative values"),
        (OutputOptions(sets=2, levels=2), RECIPE, "one level"),
    ],
)
def test_what_cannot_be_split_is_refused(
    output: OutputOptions, recipe: Recipe, text: str, scan: Path, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput, match=text):
        reconstruct(scan, tmp_path / "sets.zarr", recipe, output)
    assert list(tmp_path.iterdir()) == []
