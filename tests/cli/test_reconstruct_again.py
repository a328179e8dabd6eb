"""The same reconstruction again: by the line that the viewer shows, and by the file that it saves."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from pellucid.cli.main import main
from pellucid.cli.reconstruct import run as command
from pellucid.tomo.command_line import ReconstructionParameters, arguments
from pellucid.tomo.correction.phase import Paganin
from pellucid.tomo.correction.rings import RingSettings
from pellucid.tomo.pipeline.reconstruct import reconstruct
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan_files.assembly import ScanOptions
from pellucid.volume.volume import open_volume
from tests.tomo.small_scan import AXIS, PIXEL_UM, write_scan

FULL = Recipe(
    center=AXIS, tilt=0.01, zingers=0.4, air=2, rings=RingSettings("vo-dead"), method="sirt", iterations=7,
    is_nonnegative=True, is_circle=False, binning=2, phase=Paganin(20, 5, PIXEL_UM, 500),
)  # fmt: skip
RECIPES = [
    FULL, Recipe(), Recipe(center="correlation", tilt="auto"), Recipe(is_offset=True), Recipe(roll_deg=-0.3),
    Recipe(method="gridding", filter="hann", padding="edge"),
]  # fmt: skip


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_scan(tmp_path_factory.mktemp("scan") / "scan.h5", rows=4))


@pytest.mark.parametrize("recipe", RECIPES, ids=["full", "plain", "tilted", "offset", "rolled", "filtered"])
def test_the_line_says_every_choice(scan: str, recipe: Recipe, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    heard: list[object] = []

    def hear(*text: object) -> None:
        heard.extend(text)
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "reconstruct", hear)
    request = ReconstructionParameters(ScanOptions(angles="0:180", pixel_size_um=PIXEL_UM), recipe)
    main([*arguments(scan, str(tmp_path / "a.zarr"), request), "--quiet"])
    assert heard[:3] == [scan, str(tmp_path / "a.zarr"), recipe]
    assert heard[4] == request.scan


def test_the_line_leaves_out_what_has_no_effect() -> None:
    recipe = Recipe(method="cgls", filter="hann", padding="edge", is_nonnegative=True, iterations=3)
    assert arguments("a", "b", ReconstructionParameters(recipe=recipe))[5:] == ["--method", "cgls", "--iterations", "3"]


@pytest.mark.parametrize(
    ("options", "output"),
    [
        (
            ["--nonnegative"],
            "--method direct does not use --nonnegative. Leave out --nonnegative, or use --method sirt.",
        ),
        (["--nonnegative", "--method", "cgls"], "--method cgls does not use --nonnegative"),
        (
            ["--filter", "hann", "--method", "sirt"],
            "does not use --filter. Leave out --filter, or use --method direct or",
        ),
        (["--padding", "edge", "--method", "cgls"], "--method cgls does not use --padding"),
        (["--iterations", "9", "--method", "gridding"], "or use --method sirt or cgls"),
        (["--roll", "400"], "The roll in degrees is 400.0. Use a number from -45 up to 45."),
        (["--roll=-60"], "The roll in degrees is -60.0"),
        (["--bin", "100"], "Invalid binning 100 for frames of 4 x 48 pixels. Use at most 4."),
    ],
)
def test_options_without_effect_or_out_of_range_are_refused(
    scan: str, options: list[str], output: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reconstruct", scan, "-o", str(tmp_path / "a.zarr"), "--center", "22", "--quiet", *options]) == 1
    assert output in capsys.readouterr().err.replace("\n", " ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["--filter=hann", "--angles=0:90", "--phase=20,5,500", "--no-circle", "--roll=-1"])
def test_options_beside_a_file_that_sets_them_are_refused(
    scan: str, option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "scan.recipe.json"
    file.write_text(json.dumps(asdict(ReconstructionParameters())))
    assert main(["reconstruct", scan, "-o", str(tmp_path / "a.zarr"), "--recipe", str(file), option]) == 1
    assert f"{option.partition('=')[0]} cannot be combined with --recipe" in capsys.readouterr().err


def test_a_file_with_a_setting_without_effect_warns(scan: str, tmp_path: Path) -> None:
    reconstruct(scan, tmp_path / "a.zarr", Recipe(center=AXIS, is_nonnegative=True)).close()
    warnings = json.loads((tmp_path / "a.zarr.report.json").read_text())["warnings"]
    assert "The setting is_nonnegative of the recipe is not used by the method direct." in warnings


def test_a_file_makes_the_same_volume(scan: str, tmp_path: Path) -> None:
    recipe = Recipe(center=AXIS, rings=RingSettings("vo-sorting", small_size=7), filter="hann")
    file = tmp_path / "scan.recipe.json"
    file.write_text(json.dumps(asdict(ReconstructionParameters(ScanOptions(pixel_size_um=PIXEL_UM), recipe))))
    common = ("reconstruct", scan, "--recipe", str(file), "--quiet", "--device", "cpu")
    assert main([*common, "-o", str(tmp_path / "a.zarr")]) == 0
    wanted = reconstruct(scan, tmp_path / "b.zarr", recipe, options=ScanOptions(pixel_size_um=PIXEL_UM))
    with open_volume(tmp_path / "a.zarr") as made, wanted:
        assert np.array_equal(made.read(), wanted.read())
    assert main([*common, "-o", str(tmp_path / "c.zarr"), "--preview", "1"]) == 0
    assert (tmp_path / "c.zarr.preview.png").exists()


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("{", "is not valid JSON"),
        ('{"recipe": {"filtre": 1}}', "Unknown field 'filtre'"),
        ('{"recipe": {"air": "much"}}', "air"),
    ],
)
def test_a_file_that_says_nonsense_is_refused(
    scan: str, text: str, output: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.json"
    file.write_text(text)
    assert main(["reconstruct", scan, "-o", str(tmp_path / "a.zarr"), "--recipe", str(file), "--quiet"]) == 1
    assert output in capsys.readouterr().err


def test_rings_of_another_kind_are_one_word() -> None:
    words = arguments(
        "a.h5", "a.zarr", ReconstructionParameters(recipe=replace(Recipe(), rings=RingSettings("titarenko")))
    )
    assert words[-2:] == ["--ring", "titarenko"]
