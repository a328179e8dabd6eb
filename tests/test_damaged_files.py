"""Damaged and hostile files, thousands of them: an error each, in two plain sentences, and nothing else."""

import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pellucid import settings
from pellucid.cli.main import main
from pellucid.errors import PellucidError
from pellucid.rendering.geometry.mesh_files import MESH_FILES, load_mesh
from pellucid.rendering.geometry.point_files import load_points
from tests.damaged_files import damaged, write_hostile_files, write_whole_files

UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]")
MAX_KIB = 512 * 1024
EVERY = 12
"""Of the damaged copies of a file, one of so many is tried here: which ones, follows from its name."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("damaged")
    with settings.use(settings.load(cache_folder=folder / "cache", open_timeout_s=60)):
        yield folder


@pytest.fixture(scope="module")
def whole(folder: Path) -> list[Path]:
    return [path for path in write_whole_files(folder / "whole") if not path.name.startswith("plane")]


def check_info(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``pellucid info`` ends with 0 or 1, prints nothing that a terminal obeys, and takes no memory to speak of."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    code = main(["info", str(path)])
    out, fault = capsys.readouterr()
    assert code in (0, 1)
    assert UNSAFE.search(out + fault) is None
    assert "opening it took" not in fault
    assert bool(fault.startswith("pellucid: ")) == bool(code)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MAX_KIB


def check_geometry(path: Path) -> None:
    load = load_mesh if path.suffix in MESH_FILES else load_points
    try:
        load(str(path))
    except PellucidError as error:
        assert UNSAFE.search(str(error)) is None


def test_whole_files_are_read(whole: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    """Or nothing would be tested below."""
    for path in whole:
        is_geometry = path.suffix in (*MESH_FILES, ".csv", ".npz") or path.name in (
            "points.npy",
            "a.mhd.raw",
            "a.nhdr.raw",
        )
        if not is_geometry:
            assert main(["info", str(path)]) == 0, capsys.readouterr().err
        elif path.suffix != ".raw":
            (load_mesh if path.suffix in MESH_FILES else load_points)(str(path))


def test_damaged_files(whole: list[Path], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tried = 0
    for path in whole:
        into = folder / "copies" / path.name
        into.mkdir(parents=True)
        for beside in path.parent.glob("plane*.raw"):
            shutil.copy(beside, into)
        for number, copy in enumerate(damaged(path, into)):
            if number % EVERY == len(path.name) % EVERY:
                check_info(copy, capsys)
                check_geometry(copy)
                tried += 1
        shutil.rmtree(into)
    assert tried > 327


def test_hostile_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in write_hostile_files(folder / "hostile"):
        check_info(path, capsys)
        check_geometry(path)


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pipe into which nothing is written would never end; neither would a header that names one."""
    for name in ("a.nrrd", "a.h5", "a.tif", "a.npy", "a.raw"):
        os.mkfifo(tmp_path / name)
        assert main(["info", str(tmp_path / name)]) == 1
        assert "is a named pipe, not a regular file" in capsys.readouterr().err
    header = "NRRD0004\ntype: uint8\ndimension: 3\nsizes: 4 4 4\nencoding: raw\n"
    (tmp_path / "b.nhdr").write_text(f"{header}data file: a.raw\n")
    (tmp_path / "c.nhdr").write_text(f"{header}data file: /dev/zero\n")
    for name, kind in (("b.nhdr", "named pipe"), ("c.nhdr", "device")):
        assert main(["info", str(tmp_path / name)]) == 1
        assert f"is a {kind}, not a regular file" in capsys.readouterr().err


def test_an_open_that_hangs_ends_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from threading import Event

    (tmp_path / "a.npy").write_bytes(b"1")
    never = Event()
    monkeypatch.setattr("pellucid.cli.commands.info.open_series", lambda location: never.wait())
    with settings.use(settings.load(open_timeout_s=1)):
        assert main(["info", str(tmp_path / "a.npy")]) == 1
    never.set()
    assert "opening it took longer than 1 s" in capsys.readouterr().err


def test_the_command_itself(folder: Path) -> None:
    """As a process: no traceback, nothing that a terminal obeys."""
    paths = write_hostile_files(folder / "command")
    for path in (path for path in paths if path.name in ("self.h5", "names.h5", "many.nhdr", "bool.npy")):
        ended = subprocess.run(
            [sys.executable, "-m", "pellucid", "info", path], capture_output=True, text=True, check=False
        )
        assert ended.returncode in (0, 1)
        assert "Traceback" not in ended.stderr
        assert UNSAFE.search(ended.stdout + ended.stderr) is None
