"""The wheel holds everything: installed into an empty environment, it renders an image and has the viewer's page."""

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.suite_report import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder, cwd=ROOT)
    (built,) = folder.glob("pellucid-*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new environment with the wheel; the packages that it needs are those of the running one, so none is fetched."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    options = ("--no-deps", "--no-index", "--no-compile")
    run(sys.executable, "-m", "pip", "--python", python, "install", "-q", *options, wheel, cwd=folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    # A path named in a .pth file is searched last, and .pth files in it are ignored: this checkout stays out of it.
    (packages / "dependencies.pth").write_text("\n".join(path for path in sys.path if path.endswith("-packages")))
    return folder


def run(*command: str | Path, cwd: Path) -> str:
    """The output of a command; its error output is part of what a failed test shows."""
    unwanted = ("PYTHONPATH", "COVERAGE_PROCESS_START")
    environment = {name: value for name, value in os.environ.items() if name not in unwanted}
    done = subprocess.run([*map(str, command)], cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_has_the_page_and_the_proxy(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "pellucid/instance/site/index.html" in names
    assert "pellucid/agent/hub/proxy/bin/proxy.mjs" in names
    assert [name for name in names if name.startswith(("tests/", "web/", "src/"))] == []


def test_an_empty_environment_renders_an_image(environment: Path, tmp_path: Path) -> None:
    z, y, x = np.ogrid[-16:16, -16:16, -16:16]
    np.save(tmp_path / "ball.npy", np.where(x**2 + y**2 + z**2 < 100, 200, 0).astype(np.uint8))
    where = run(environment / "bin" / "python", "-c", "import pellucid; print(pellucid.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(environment)
    run(environment / "bin" / "pellucid", "render", "ball.npy", "-o", "ball.png", "--size", "64x64", cwd=tmp_path)
    image = np.asarray(Image.open(tmp_path / "ball.png").convert("L")).astype(int)
    corner, middle = image[:4, :4], image[28:36, 28:36]
    assert image.shape == (64, 64)
    assert np.abs(middle - corner.mean()).min() > 40
    assert np.ptp(corner) <= 2
