"""Every example runs in an empty folder, prints what it promises, and takes under 20 s."""

import os
import re
import subprocess
import sys
from pathlib import Path

import h5py
import pytest

import pellucid
from pellucid.errors import PellucidError
from pellucid.volume.sample_volume import sample
from tests.suite_report import ROOT

VIEWER = ROOT / "examples" / "04_view_an_array.py"
EXAMPLES = [path for path in sorted((ROOT / "examples").glob("*.py")) if path != VIEWER]
LIMIT_S = 120
PRINTS = {
    "01_open_and_cut": r"\(64, 96, 96\) voxels \(z, y, x\) of uint8.*values from 10 to 200.*corner: mean 10;",
    "02_convert_and_pyramid": r"level 1: \(48, 64, 80\).*the same: True.*\(10, 128, 160\) voxels of uint8, 0 to 255",
    "03_many_blocks": r"(\d{5}) peaks in 27 blocks, \1 in the whole volume",
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example: Path, tmp_path: Path) -> None:
    printed = run(example, tmp_path)
    assert re.search(PRINTS[example.stem], printed, re.DOTALL), printed


def test_a_viewer_can_be_opened_at_its_address_until_enter_is_pressed(tmp_path: Path) -> None:
    command, pipe = [sys.executable, str(VIEWER)], subprocess.PIPE
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment(tmp_path), stdin=pipe, stdout=pipe, text=True
    ) as running:
        assert running.stdout is not None
        first, *rest = (running.stdout.readline() for _ in range(3))  # All that it prints before it waits.
        address = first.removeprefix("open in a browser: ").strip()
        assert pellucid.connect(address).layer.shading == "occlusion"  # As a page would open it, with its code.
        running.communicate("\n")
    assert re.search(r"image \(240, 320, 4\) uint8 brightest \d{2,3}.*unchanged: True", "".join(rest), re.DOTALL)
    assert running.returncode == 0
    with pytest.raises(PellucidError):
        pellucid.connect(address)


def test_what_the_readme_shows_first_works_as_printed(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "scan.h5", "w") as file:
        file["/entry/data"] = sample(128)
    (shown, *_) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    program = tmp_path / "shown.py"
    program.write_text(shown + "print(middle.shape, rgba.shape, viewer.shading, rgba[..., :3].max() > 60)")
    assert run(program, tmp_path, limit_s=2 * LIMIT_S) == "(128, 128) (1080, 1920, 4) shadow True\n"
    assert (tmp_path / "scan.zarr").is_dir()


def run(program: Path, folder: Path, limit_s: float = LIMIT_S) -> str:
    """What a program prints, run in a folder."""
    done = subprocess.run(
        [sys.executable, str(program)],
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PELLUCID_CACHE_FOLDER": str(folder / "cache")}
