"""NaN, infinity and impossible numbers are refused wherever they are given, in the same words."""

from collections.abc import Callable
from dataclasses import replace
from math import inf, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pellucid.cli.main import main
from pellucid.errors import InvalidInput
from pellucid.tomo.correction.phase import Paganin
from pellucid.tomo.correction.rings import RingSettings
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan import Frames, Scan
from pellucid.tomo.scan_files.assembly import ScanOptions
from tests.tomo.small_scan import write_scan

GOOD = Paganin(20, 100, 1.0, 500)


@pytest.mark.parametrize("value", [nan, inf, -inf])
@pytest.mark.parametrize(
    "make",
    [
        lambda value: Recipe(center=value),
        lambda value: Recipe(tilt=value),
        lambda value: Recipe(roll_deg=value),
        lambda value: Recipe(zingers=value),
        lambda value: Recipe(binning=value),
        lambda value: Recipe(air=value),
        lambda value: Recipe(iterations=value),
        lambda value: ScanOptions(pixel_size_um=value),
        lambda value: replace(GOOD, energy_kev=value),
        lambda value: replace(GOOD, distance_mm=value),
        lambda value: replace(GOOD, pixel_size_um=value),
        lambda value: replace(GOOD, delta_over_beta=value),
        lambda value: RingSettings(snr=value),
        lambda value: RingSettings(drop=value),
        lambda value: RingSettings(sigma=value),
        lambda value: RingSettings(strength=value),
        lambda value: Scan("s", "a", Frames.from_array(np.ones((2, 1, 4))), np.arange(2.0), pixel_size_um=value),
    ],
)
def test_what_is_not_finite_is_refused(make: Callable[[Any], object], value: float) -> None:
    with pytest.raises(InvalidInput, match=rf"is {value}\. Use a "):
        make(value)


@pytest.mark.parametrize(
    ("make", "reply"),
    [
        (lambda: Recipe(binning=0), r"binning is 0\. Use a whole number from 1\."),
        (lambda: Recipe(iterations=2.5), r"iterations is 2\.5\. Use a whole number from 0\."),  # type: ignore[arg-type]
        (lambda: Recipe(air=-1), r"air is -1\. Use a whole number from 0\."),
        (lambda: ScanOptions(pixel_size_um=0), r"micrometres is 0\. Use a number above 0\."),
        (lambda: ScanOptions(pixel_size_um="5"), r"micrometres is '5'\. Use a number above 0\."),  # type: ignore[arg-type]
        (lambda: RingSettings(drop=0.7), r"drop of ring removal is 0\.7\. Use a number from 0 up to 0\.5\."),
    ],
)
def test_what_is_out_of_range_is_refused(make: Callable[[], object], reply: str) -> None:
    with pytest.raises(InvalidInput, match=reply):
        make()


@pytest.mark.parametrize(
    "option", ["--center=nan", "--center=1:nan:1", "--tilt=nan", "--roll=inf", "--pixel-size=inf", "--zingers=nan"]
)
def test_the_command_refuses_them(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write_scan(tmp_path / "scan.h5", rows=2)
    try:
        code = main(["reconstruct", str(source), "-o", str(tmp_path / "volume.zarr"), option])
    except SystemExit as error:  # Where the parser of the command refuses it.
        code = int(error.code or 0)
    assert code != 0
    assert option.partition("=")[2] in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["scan.h5"]
