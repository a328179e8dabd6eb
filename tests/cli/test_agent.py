"""Commands for what outlives them: start, list, open, run, logs, stop."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest

import pellucid
from pellucid import settings
from pellucid.cli.main import main
from pellucid.jobs.process_identity import ProcessId
from pellucid.volume.sample_volume import sample
from tests.agent.processes import end_everything
from tests.waiting import wait_until


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A person of whom nothing runs yet, in a folder with a scan; their agent is ended at the end."""
    folder = tmp_path / "state"
    monkeypatch.setenv("PELLUCID_STATE_FOLDER", str(folder))
    monkeypatch.setenv("PELLUCID_SITE_FILE", str(tmp_path / "site.toml"))
    made = tmp_path / ("made" * 30)  # No Unix socket could be in a folder with such a path.
    made.mkdir()
    monkeypatch.setenv("TMPDIR", str(made))
    monkeypatch.chdir(tmp_path)
    np.save(tmp_path / "ball.npy", sample(16))
    with settings.use(settings.load()):
        yield folder
        end_everything(folder)


def text(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == 0
    return capsys.readouterr().out


def test_a_viewer_is_started_listed_opened_and_stopped(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert text(capsys, "list") == "Nothing is running.\n"
    assert main(["stop", "abc"]) == 1
    assert "Nothing is running." in capsys.readouterr().err
    url = text(capsys, "start", "ball.npy", "--gpus", "0", "--device", "cpu").strip()
    assert pellucid.connect(url).device == "cpu"
    line = text(capsys, "list")
    id = line.split()[0]
    assert line.split() == [id, "viewer", "running", "ball"]
    fresh = text(capsys, "open", id[:4], "--no-browser").strip()
    assert fresh.partition("#")[0] == url.partition("#")[0] and fresh != url
    assert pellucid.connect(fresh).device == "cpu"
    address, _, code = text(capsys, "open", "--no-browser").strip().partition("#code=")
    for status in (200, 403):  # The agent's page opens once, too.
        request = {"code": code, "address": address}
        assert httpx.post(f"{address}api/session", json=request).status_code == status
    assert '"kind": "viewer"' in text(capsys, "show", id) and "token" not in text(capsys, "show", id)
    assert text(capsys, "stop", id).split()[2] == "ended"
    assert text(capsys, "list") == "Nothing is running.\n"
    assert "It was stopped" in text(capsys, "list", "--all")


def test_a_task_runs_and_is_waited_for(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = text(capsys, "run", "--wait", "--", "convert", "ball.npy", "ball.zarr")
    assert done.split()[1:3] == ["task", "ended"] and Path("ball.zarr").exists()
    assert main(["run", "--wait", "--", "convert", "none.npy", "none.zarr"]) == 1
    failed = capsys.readouterr().out.split()[0]
    assert "does not exist" in text(capsys, "logs", failed)
    assert main(["run", "--", "view", "ball.npy"]) == 1
    assert "cannot run as a task" in capsys.readouterr().err


def test_what_a_killed_agent_has_started_is_listed_and_stopped(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text(capsys, "start", "ball.npy", "--gpus", "0", "--device", "cpu")
    line = text(capsys, "list").split()
    agent = ProcessId.parse(json.loads((state / "agent/agent.json").read_text())["process"])
    os.kill(agent.pid, signal.SIGKILL)
    wait_until(lambda: not agent.is_alive)
    assert text(capsys, "list").split() == line
    assert text(capsys, "stop", line[0]).split()[2] == "ended"


def test_a_batch_runs_for_each_file(state: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save("disc.npy", sample(12))
    done = text(capsys, "run", "--wait", "--each", "ball.npy", "disc.npy", "--", "convert", "{file}", "{stem}.zarr")
    assert [line.split()[2] for line in done.splitlines()] == ["ended", "ended"]
    assert Path("ball.zarr").exists() and Path("disc.zarr").exists()
