"""Damaged HDF5 files, from which the library does not return, are rejected by way of a process that can be stopped."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest

import pellucid
from pellucid import settings
from pellucid.cli.main import main
from pellucid.errors import Corrupted, Unreadable
from pellucid.formats.hdf5 import structure_check
from pellucid.formats.hdf5.contents import dataset_names
from tests.endless_hdf5 import (
    write_crashing_chunks,
    write_crashing_group,
    write_endless_names,
    write_endless_texts,
    write_whole,
)
from tests.waiting import wait_until


@pytest.fixture(autouse=True)
def _small_limits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Processes with limits that are reached soon, and none of them left behind."""
    monkeypatch.setattr(structure_check, "OBJECT_S", 1)
    monkeypatch.setattr(structure_check, "MAX_BYTES", 2**27)
    structure_check.end_idle()
    yield
    structure_check.end_idle()


@pytest.mark.parametrize(
    ("write", "why"),
    [
        (write_endless_texts, "reading its structure does not end"),
        (write_endless_names, "reading its structure takes more than 128 MiB of memory"),
        (write_crashing_group, "its structure makes the HDF5 library crash"),
        (write_crashing_chunks, "its structure makes the HDF5 library crash"),
    ],
)
def test_what_the_library_does_not_survive_is_rejected(write: Callable[[Path], Path], why: str, tmp_path: Path) -> None:
    bad, good = write(tmp_path / "bad.h5"), write_whole(tmp_path / "good.h5")
    for _ in range(2):
        with pytest.raises(Corrupted, match=why):
            pellucid.open(bad)
    assert dataset_names(bad) == []
    with pellucid.open(good) as volume:
        assert volume.value_range == (1, 1)


def test_a_link_to_such_a_file(tmp_path: Path) -> None:
    write_crashing_chunks(tmp_path / "bad.h5")
    with h5py.File(tmp_path / "link.h5", "w") as file:
        file["data"] = h5py.ExternalLink("bad.h5", "/entry/data")
    layout = h5py.VirtualLayout((22, 22, 22), "u1")
    layout[...] = h5py.VirtualSource("bad.h5", "/entry/data", (22, 22, 22))
    with h5py.File(tmp_path / "virtual.h5", "w") as file:
        file.create_virtual_dataset("data", layout)
    for name in ("link.h5", "virtual.h5"):
        with pytest.raises(Corrupted, match=r"bad.h5 is corrupted: its structure makes the HDF5 library crash"):
            pellucid.open(f"{tmp_path / name}:/data")


def test_one_object_of_a_file(tmp_path: Path) -> None:
    """What is wrong with another object does not matter, and is not looked for."""
    path = write_crashing_chunks(tmp_path / "bad.h5")
    with h5py.File(path, "r+") as file:
        file["entry/other"] = np.full((3, 3, 3), 7, np.uint8)
    with pellucid.open(f"{path}:/entry/other") as volume:
        assert volume.value_range == (7, 7)
    with pytest.raises(Corrupted, match="makes the HDF5 library crash"):
        pellucid.open(f"{path}:/entry/data")


def test_the_memory_of_the_owner_does_not_count(tmp_path: Path) -> None:
    held = np.ones(structure_check.MAX_BYTES, np.uint8)
    pellucid.open(write_whole(tmp_path / "a.h5")).close()
    assert held[-1] == 1


def test_many_chunks_are_counted_when_they_are_read(tmp_path: Path) -> None:
    whole = write_whole(tmp_path / "whole.h5", chunk=1)
    with pellucid.open(whole) as volume:
        np.testing.assert_array_equal(volume.read(), np.ones((22, 22, 22), np.uint8))
    bad = write_crashing_chunks(tmp_path / "bad.h5", chunk=1)
    with pellucid.open(bad) as volume, pytest.raises(Corrupted, match="crash"):
        volume.read()


def test_the_time_limit_of_opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structure_check, "OBJECT_S", 600)
    path = write_endless_texts(tmp_path / "bad.h5")
    with settings.use(settings.load(open_timeout_s=1)), pytest.raises(Unreadable, match="took longer than 1 s"):
        pellucid.open(path)


@pytest.mark.parametrize("command", ["info BAD", "reconstruct BAD -o OUT", "convert BAD OUT"])
def test_commands_end(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = {"BAD": str(write_crashing_group(tmp_path / "bad.h5")), "OUT": str(tmp_path / "out.h5")}
    assert main([names.get(word, word) for word in command.split()]) == 1
    assert "its structure makes the HDF5 library crash" in capsys.readouterr().err


def test_a_changed_file_is_checked_again(tmp_path: Path) -> None:
    path = write_crashing_group(tmp_path / "a.h5")
    with pytest.raises(Corrupted):
        pellucid.open(path)
    path.unlink()
    pellucid.open(write_whole(path, chunk=5)).close()


def test_one_process_serves_one_file_after_another(tmp_path: Path) -> None:
    for number in range(3):
        pellucid.open(write_whole(tmp_path / f"{number}.h5")).close()
    (process,) = structure_check.idle_processes()
    assert process.is_usable()
    process.end()  # As if it had been killed: the next file starts another.
    pellucid.open(write_whole(tmp_path / "next.h5")).close()
    (other,) = structure_check.idle_processes()
    assert other is not process and other.is_usable()


def test_without_a_process_files_are_opened_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    with pellucid.open(write_whole(tmp_path / "a.h5")) as volume:
        assert volume.shape == (22, 22, 22)


OWNER = """
import os, signal, sys
import pellucid
from pellucid.formats.hdf5 import structure_check
pellucid.open(sys.argv[1]).close()
(process,) = structure_check.idle_processes()
if not (forked := os.fork()):
    pellucid.open(sys.argv[2]).close()
    (own,) = structure_check.idle_processes()
    os._exit(0 if own.pid != process.pid and own.owner == os.getpid() else 1)
_, status = os.waitpid(forked, 0)
assert status == 0 and process.is_usable()
print(process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_forked_process_has_its_own_and_it_ends_with_its_owner(tmp_path: Path) -> None:
    paths = [str(write_whole(tmp_path / name)) for name in ("a.h5", "b.h5")]
    ended = subprocess.run([sys.executable, "-c", OWNER, *paths], capture_output=True, text=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    wait_until(lambda: not Path(f"/proc/{int(ended.stdout)}/exe").exists())


CAUGHT_OWNER = """
import os, signal, sys, threading, time
import pellucid
from pellucid import settings
from pellucid.formats.hdf5 import structure_check
structure_check.OBJECT_S, structure_check.SPARE_S = 600, int(sys.argv[3])
def check():
    with settings.use(settings.load(open_timeout_s=1 if sys.argv[2] == "killed" else 600)):
        pellucid.open(sys.argv[1])
threading.Thread(target=check, daemon=True).start()
while not structure_check._busy:
    time.sleep(0.01)
print(next(iter(structure_check._busy)).pid, flush=True)
if sys.argv[2] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("end", "spare_s"), [("killed", 0), ("ended", 600)])
def test_a_process_that_is_caught_ends_with_its_owner(end: str, spare_s: int, tmp_path: Path) -> None:
    command = [sys.executable, "-c", CAUGHT_OWNER, str(write_endless_texts(tmp_path / "a.h5")), end, str(spare_s)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == (-signal.SIGKILL if end == "killed" else 0), ended.stderr
    wait_until(lambda: not Path(f"/proc/{int(ended.stdout)}/exe").exists())


def test_nothing_is_left_of_a_process_that_was_stopped(tmp_path: Path) -> None:
    process = structure_check.ReaderProcess(structure_check.library_path() or "")
    with pytest.raises(ProcessLookupError):
        process.end()
        os.kill(process.pid, 0)
