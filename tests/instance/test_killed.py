"""A viewer that is killed, or asked to end while it starts, leaves neither processes nor folders."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from pellucid.client.connection import Connection
from pellucid.instance.lifecycle import scratch_folders
from pellucid.workers.channel import MessageChannel
from tests.suite_report import ROOT
from tests.tomo.small_scan import PIXEL_UM, write_scan
from tests.waiting import TIMEOUT_S, wait_until

# Ends a program by SIGTERM at the moment at which a function has done its work.
ENDED_AT = """
import importlib, os, signal, sys
module, _, path = sys.argv.pop(1).partition(":")
*names, last = path.split(".")
owner = importlib.import_module(module)
for name in names:
    owner = getattr(owner, name)
before = getattr(owner, last)

def and_end(*arguments, **named):
    result = before(*arguments, **named)
    os.kill(os.getpid(), signal.SIGTERM)
    return result

setattr(owner, last, and_end)
program = importlib.import_module(sys.argv.pop(1))
sys.exit(program.main())
"""


@dataclass(frozen=True)
class Place:
    """Where a viewer keeps its files, and how its processes are known: by a word in their environment."""

    folder: Path
    mark: str

    @property
    def environment(self) -> dict[str, str]:
        (self.folder / "tmp").mkdir(exist_ok=True)
        return {
            **os.environ,
            "PYTHONPATH": str(ROOT / "src"),
            "TMPDIR": str(self.folder / "tmp"),
            "PELLUCID_STATE_FOLDER": str(self.folder / "state"),
            "TEST_MARK": self.mark,
        }

    def start(self, *words: str, pass_fds: tuple[int, ...] = ()) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, *words], env=self.environment, text=True, pass_fds=pass_fds,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def processes(self, word: str = "") -> list[int]:
        """Those that run, of which a word is in the command line."""
        found = []
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                has_mark = f"TEST_MARK={self.mark}".encode() in (path / "environ").read_bytes().split(b"\0")
                if has_mark and word.encode() in (path / "cmdline").read_bytes():
                    found.append(int(path.name))
        return found

    def expect_nothing(self) -> None:
        wait_until(lambda: not self.processes(), TIMEOUT_S)
        assert list((self.folder / "tmp").iterdir()) == []


@pytest.fixture
def place() -> Iterator[Place]:
    # With a short path: those of sockets may not be long.
    folder = Path(tempfile.mkdtemp(prefix="killed-"))
    place = Place(folder, uuid4().hex)
    yield place
    for pid in place.processes():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    shutil.rmtree(folder)


def test_a_killed_viewer_leaves_no_reconstruction_and_no_folder(place: Place) -> None:
    scan = write_scan(place.folder / "scan.h5", rows=6)
    viewer = place.start("-m", "pellucid", "view", "--no-browser", "--device", "cpu", "--root", str(place.folder))
    assert viewer.stdout is not None
    connection = Connection(viewer.stdout.readline().strip())
    headers = {"Authorization": f"Bearer {connection.bearer}"}
    with httpx.Client(base_url=connection.address, headers=headers, timeout=TIMEOUT_S) as client:
        options = {"pixel_size_um": PIXEL_UM}
        recipe = client.post("/api/scans/describe", json={"path": str(scan), "options": options}).json()["recipe"]
        target = place.folder / "volume.zarr"
        request = {"path": str(scan), "options": options, "recipe": recipe, "output": str(target), "is_watched": False}
        answer = client.post("/api/reconstructions", json=request)
        assert answer.status_code == 200, answer.text
    wait_until(lambda: place.processes("reconstruct"), TIMEOUT_S)
    (running,) = place.processes("reconstruct")
    os.kill(running, signal.SIGSTOP)  # So that it does not come to its end before the viewer does.
    assert list((place.folder / "tmp").iterdir()) != []
    viewer.kill()
    viewer.communicate()
    os.kill(running, signal.SIGCONT)
    place.expect_nothing()
    assert not target.exists()


@pytest.mark.parametrize(
    "moment",
    [
        "pellucid.instance.tasks.tasks:scratch_folder",
        "pellucid.instance.server:Session.__init__",
        "pellucid.workers.supervisor:SupervisedWorker.start",
        "pellucid.instance.arrays.local_socket:LocalSocketServer.__init__",
        "pellucid.instance.lifecycle.viewer_records:write",
        "pellucid.instance.server:Instance.__init__",
    ],
)
def test_a_viewer_that_is_asked_to_end_while_it_starts_leaves_nothing(place: Place, moment: str) -> None:
    words = ("view", "--no-browser", "--device", "cpu")
    ended = place.start("-c", ENDED_AT, moment, "pellucid.cli.main", *words)
    text, complained = ended.communicate(timeout=TIMEOUT_S)
    assert (ended.returncode, text) == (0, ""), complained
    place.expect_nothing()
    assert list(place.folder.glob("state/instances/*.json")) == []


@pytest.mark.parametrize(
    "moment", ["pellucid.workers.supervisor:SupervisedWorker.start", "pellucid.instance.server:Instance.__init__"]
)
def test_nor_does_one_that_a_program_started(place: Place, moment: str) -> None:
    ours, theirs = socket.socketpair()
    with closing(MessageChannel(ours)) as line, theirs:
        words = (moment, "pellucid.instance.process", str(theirs.fileno()))
        ended = place.start("-c", ENDED_AT, *words, pass_fds=(theirs.fileno(),))
        line.send({"device": "cpu"})
        ended.communicate(timeout=TIMEOUT_S)
    assert ended.returncode == 0
    place.expect_nothing()


def test_one_that_is_to_stay_and_cannot_be_written_down_is_refused(place: Place) -> None:
    (place.folder / "state").write_text("in the way of the folder")
    ours, theirs = socket.socketpair()
    with closing(MessageChannel(ours)) as line, theirs:
        started = place.start("-m", "pellucid.instance.process", str(theirs.fileno()), pass_fds=(theirs.fileno(),))
        line.send({"device": "cpu", "parent": 0})
        answer, _ = line.receive(TIMEOUT_S)
    started.communicate(timeout=TIMEOUT_S)
    assert started.returncode == 2 and "could not be saved" in answer["what"]
    place.expect_nothing()


def test_a_viewer_of_the_agent_whose_address_cannot_be_written_is_stopped(place: Place) -> None:
    request = {
        "device": "cpu", "roots": [], "idle_timeout_s": 60.0, "max_bytes": 0, "is_remote": False, "minutes": 0,
        "source": None, "state": "", "overrides": {},
    }  # fmt: skip
    job = place.folder / "job"
    (job / "address.json").mkdir(parents=True)
    (job / "request.json").write_text(json.dumps(request))
    viewer = place.start("-m", "pellucid.agent.jobs.viewer_main", str(job))
    _, complained = viewer.communicate(timeout=TIMEOUT_S)
    assert viewer.returncode == 2 and "The operating system could not access" in complained
    place.expect_nothing()


def test_what_a_killed_process_left_without_its_shell_is_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(scratch_folders._State, "roots", {})
    for name in ("pellucid-left", "pellucid-young", "other"):
        (tmp_path / name).mkdir()
    for name in ("pellucid-left", "other"):
        (tmp_path / name / "lock").write_text("")
    used = scratch_folders.scratch_folder()
    monkeypatch.setattr(scratch_folders._State, "roots", {})
    scratch_folders.scratch_folder()  # As of another process: the first one's lock is held.
    assert used.is_dir() and used.stat().st_mode & 0o077 == 0
    assert {path.name for path in tmp_path.iterdir()} >= {"other", "pellucid-young", used.parent.name}
    assert not (tmp_path / "pellucid-left").exists()
