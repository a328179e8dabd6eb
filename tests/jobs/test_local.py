"""Processes of this machine: found, watched and ended, also by somebody who did not start them."""

import os
import signal
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pellucid.jobs.job import Job, SubmittedJob
from pellucid.jobs.job_state import JobState, last_lines
from pellucid.jobs.local import LocalScheduler
from pellucid.jobs.private_files import load_json, private_folder, read_dataclass, read_json, write_json
from pellucid.jobs.process_identity import ProcessId
from pellucid.jobs.site import Site
from pellucid.jobs.task_progress import TaskError
from tests.jobs.conftest import Start
from tests.suite_report import ROOT
from tests.waiting import wait_until

SITE = Site()


def test_a_job_runs_and_ends(start: Start) -> None:
    job = start(LocalScheduler(), SITE)
    job.until_begun()
    assert job.state == JobState("running", node=ProcessId.this().host)
    job.let_go()
    assert job.until("ended") == JobState("ended", "Finished.")


def test_a_job_that_fails_shows_the_end_of_its_log(start: Start) -> None:
    command = ("/bin/sh", "-c", "for i in $(seq 60); do echo line $i; done; exit 7")
    job = start(LocalScheduler(), SITE, command=command)
    assert job.until("failed") == JobState(
        "failed", "Failed with exit code 7.", log=tuple(f"line {i}" for i in range(11, 61))
    )


def test_somebody_else_sees_and_ends_it(start: Start) -> None:
    job = start(LocalScheduler(), SITE)
    job.until_begun()
    other = LocalScheduler()
    without_handle = replace(job.submitted, handle="")
    assert other.states([without_handle])[job.submitted.id].phase == "running"
    other.cancel(without_handle)
    assert job.until("ended").reason == "Cancelled."


def test_one_that_does_not_listen_is_made_to_end(start: Start) -> None:
    command = ("/bin/sh", "-c", "trap '' TERM; echo begun; read -r code <gate")
    job = start(LocalScheduler(), SITE, command=command)
    job.until_begun()
    job.cancel()
    job.cancel(is_urgent=True)
    assert job.until("failed").reason == "Killed."


def test_a_later_process_with_its_number_is_not_taken_for_it(tmp_path: Path) -> None:
    this = ProcessId.this()
    later = SubmittedJob("x", str(replace(this, birth=this.birth - 1)), tmp_path)
    assert LocalScheduler().states([later])["x"].phase == "failed"
    LocalScheduler().cancel(later, is_urgent=True)  # This process would not survive it.


def test_one_on_another_machine_is_not_known(tmp_path: Path) -> None:
    elsewhere = SubmittedJob("x", "login-2/1/1", tmp_path)
    assert LocalScheduler().states([elsewhere])["x"] == JobState(
        "unknown", "Running on login-2.", node="login-2", last="running"
    )


def test_it_outlives_who_started_it(tmp_path: Path) -> None:
    folder = private_folder(tmp_path / "job")
    os.mkfifo(folder / "gate")
    source = f"""
import os, signal
from pathlib import Path
from pellucid.jobs.job import Job
from pellucid.jobs.local import LocalScheduler
from pellucid.jobs.site import Site
job = Job("a", ("/bin/sh", "-c", "echo begun; read -r code <gate; exit $code"), Path({str(folder)!r}))
LocalScheduler().submit(job, Site())
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", source], env={"PYTHONPATH": str(ROOT / "src")}, check=False)
    assert done.returncode == -signal.SIGKILL
    job, scheduler = SubmittedJob("a", "", folder), LocalScheduler()
    wait_until(lambda: scheduler.states([job])["a"].phase == "running")
    (folder / "gate").write_text("0\n")
    wait_until(lambda: scheduler.states([job])["a"].phase == "ended")


def test_what_it_leaves_is_for_its_owner_alone(start: Start) -> None:
    job = start(LocalScheduler(), SITE)
    job.until_begun()
    job.let_go()
    job.until("ended")
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode) & 0o077 for path in job.folder.iterdir() if path.name != "gate"
    }
    assert modes == dict.fromkeys(("log.txt", "script.sh", "started", "exit"), 0)


def test_a_file_that_others_could_write_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    write_json(path, {"url": "a"})
    assert read_json(path) == {"url": "a"}
    path.chmod(0o666)
    assert read_json(path) is None
    path.write_text("[1]")
    assert read_json(path) is None and read_json(tmp_path / "none.json") is None


def test_a_dataclass_is_read_where_its_fields_fit(tmp_path: Path) -> None:
    path = tmp_path / "error.json"
    write_json(path, {"kind": "NotFound", "what": "a", "remedy": "b"})
    assert read_dataclass(TaskError, path) == TaskError("NotFound", "a", "b")
    for content in ({"kind": "NotFound"}, {"kind": "NotFound", "what": 1, "remedy": "b"}, {"other": "a"}):
        write_json(path, content)
        assert read_dataclass(TaskError, path) is None
    assert read_dataclass(TaskError, tmp_path / "none.json") is None
    with pytest.raises(OSError, match="directory"):
        read_dataclass(TaskError, tmp_path, load_json)


def test_a_job_that_was_never_started(tmp_path: Path) -> None:
    assert LocalScheduler().states([SubmittedJob("a", "", tmp_path)])["a"] == JobState("failed", "Never started.")
    assert last_lines(tmp_path / "log.txt") == ()
    assert Job("a", (), tmp_path).resources.gpus == 0


def test_of_those_with_one_turn_one_runs(start: Start, tmp_path: Path) -> None:
    turn = tmp_path / "turn"
    first, second, third = (start(LocalScheduler(), SITE, turn=turn) for _ in range(3))
    jobs = [first, second, third]
    wait_until(lambda: all((job.folder / "started").exists() for job in jobs))
    wait_until(lambda: sorted(job.state.phase for job in jobs) == ["queued", "queued", "running"])
    runs = next(job for job in jobs if job.state.phase == "running")
    waits, ends = (job for job in jobs if job is not runs)
    ends.cancel()
    assert ends.until("ended").reason == "Cancelled."
    runs.until_begun()
    runs.let_go()
    runs.until("ended")
    waits.until_begun()
    waits.let_go(3)
    assert waits.until("failed").reason == "Failed with exit code 3."
