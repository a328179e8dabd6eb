"""What follows from how Slurm's commands end, whatever words they have for it."""

import os
from pathlib import Path

import pytest

from pellucid.errors import InvalidInput, SchedulerUnreachable
from pellucid.jobs.job import SubmittedJob
from pellucid.jobs.slurm import SlurmScheduler
from pellucid.jobs.squeue import SEPARATOR


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of Slurm's commands: scancel fails in words that are not known here."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    _command(tmp_path, "scancel", f'echo "$@" > {tmp_path}/cancelled; echo "scancel: error: nein" >&2; exit 1')
    _command(tmp_path, "scontrol", "exit 0")
    return tmp_path


def _command(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def _list(folder: Path, *states: str) -> None:
    rows = [SEPARATOR.join(["7", "pellucid-a", state, "None", "0", "0", "", "1", "main"]) for state in states]
    _command(folder, "squeue", "\n".join(f"echo '{row}'" for row in rows) or "exit 0")


@pytest.mark.parametrize("states", [(), ("COMPLETED",), ("COMPLETING",), ("FAILED",)])
def test_cancelling_what_is_over_is_no_error(commands: Path, states: tuple[str, ...]) -> None:
    _list(commands, *states)
    SlurmScheduler().cancel(SubmittedJob("a", "7", commands))
    assert (commands / "cancelled").read_text() == f"--user={os.geteuid()} --name=pellucid-a 7\n"


@pytest.mark.parametrize("state", ["RUNNING", "PENDING"])
def test_what_slurm_does_not_cancel_is_reported(commands: Path, state: str) -> None:
    _list(commands, state)
    with pytest.raises(InvalidInput, match=r"Slurm rejected the job: nein\."):
        SlurmScheduler().cancel(SubmittedJob("a", "7", commands))


def test_a_controller_that_does_not_answer_a_ping_is_unreachable(commands: Path) -> None:
    _command(commands, "scontrol", "exit 1")
    with pytest.raises(SchedulerUnreachable, match="nein"):
        SlurmScheduler().cancel(SubmittedJob("a", "7", commands))
