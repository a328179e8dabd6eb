"""A link that lies where an output is to be written is replaced, not followed: another user may have put it there."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pellucid.cli.main import main
from pellucid.jobs.private_files import write_private
from pellucid.rendering.geometry.mesh_files import write_arrays
from pellucid.volume.sample_volume import sample
from tests.tomo.small_scan import AXIS, write_scan

Link = Callable[[str], Path]


@pytest.fixture
def link(tmp_path: Path) -> Link:
    """Makes a link to the victim's file."""
    (tmp_path / "shared").mkdir()

    def made(name: str) -> Path:
        path = tmp_path / "shared" / name
        path.symlink_to(victim(tmp_path))
        return path

    return made


def victim(folder: Path) -> Path:
    return folder / "victim"


@pytest.fixture(scope="module")
def volume(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("volume") / "ball.npy"
    np.save(path, sample(16))
    return str(path)


def check_replaced(path: Path) -> None:
    assert not victim(path.parent.parent).exists() and path.is_file() and not path.is_symlink()


def test_slices(link: Link, volume: str) -> None:
    path = link("slices.png")
    assert main(["slices", volume, "-o", str(path)]) == 0
    check_replaced(path)


def test_an_image_and_its_scene(link: Link, volume: str) -> None:
    image, scene = link("image.png"), link("scene.json")
    options = ["-o", str(image), "--save-scene", str(scene), "--size", "32x24", "--device", "cpu"]
    assert main(["render", volume, *options]) == 0
    check_replaced(image)
    check_replaced(scene)


def test_the_report_of_a_reconstruction(link: Link, tmp_path: Path) -> None:
    report = link("volume.zarr.report.json")
    scan = write_scan(tmp_path / "scan.h5", rows=2)
    output = report.with_name("volume.zarr")
    assert main(["reconstruct", str(scan), "-o", str(output), "--center", str(AXIS), "--device", "cpu"]) == 0
    check_replaced(report)
    assert json.loads(report.read_text())["format"] >= 1


@pytest.mark.parametrize("name", ["mesh.ply", "mesh.obj", "mesh.stl", "mesh.vtp"])
def test_a_mesh(link: Link, name: str) -> None:
    path = link(name)
    write_arrays(path, np.eye(3, dtype=np.float32), np.array([[0, 1, 2]], np.int32))
    check_replaced(path)


def test_a_private_file(link: Link) -> None:
    path = link("progress.json")
    write_private(path, "{}")
    check_replaced(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in path.parent.iterdir()] == [path.name]
