"""Viewers on a real Slurm: waiting, starting while no agent is there, reached by TLS, gone without an agent."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.agent.processes import AgentProcess, agent, shown_by_processes
from tests.slurm_cluster import SlurmCluster
from tests.waiting import wait_until

SITE = """
scheduler = "slurm"
partition = "main"
time_limit_minutes = 10
poll_s = 0.3
may_override = ["partition"]
[node]
gpus = 2
gpu_memory = "40GiB"
memory = "7GiB"
"""


@pytest.fixture
def running(slurm: SlurmCluster, tmp_path: Path) -> Iterator[AgentProcess]:
    with agent(tmp_path, SITE, **slurm.environment) as started:
        yield started


def _waits(state: dict[str, Any]) -> bool:
    """For a GPU, until a time that is known. Slurm gives another reason until it has looked at a job."""
    return state["phase"] == "queued" and state["reason"] == "Resources" and state["expected_start"] is not None


def test_one_runs_one_waits_and_starts_while_no_agent_is_there(
    running: AgentProcess, slurm: SlurmCluster, tmp_path: Path
) -> None:
    held = _held(slurm, tmp_path, gpus=1)
    first, second = running.view(gpus=1, memory_bytes=2**29), running.view(gpus=1, memory_bytes=2**29)
    running.until(first, "running")
    wait_until(lambda: _waits(running.ask("GET", f"/api/jobs/{second}")["state"]))
    assert running.ask("GET", f"/api/jobs/{second}")["state"]["place"] == 1
    running.kill()
    slurm.command("scancel", held)
    wait_until((running.place(second) / "address.json").exists)
    running.start()
    for id in (first, second):
        told = running.until(id, "running")
        about = httpx.get(running.base + told["path"].replace("?", "api/about?")).json()
        assert about["capability"] == "own"
        assert told["state"]["node"] == "localhost"
    _no_secret_shows(running, slurm, first)
    _another_certificate_is_not_believed(running, first, second)
    running.cancel(first)
    assert running.until(first, "ended")["state"]["reason"] == "It was stopped."
    slurm.command("scancel", "--name", f"pellucid-{second}")
    assert running.until(second, "ended")["state"]["reason"] == "It was cancelled."


def _no_secret_shows(running: AgentProcess, slurm: SlurmCluster, id: str) -> None:
    token = running.until(id, "running")["path"].partition("?token=")[2]
    key = (running.place(id) / "key.pem").read_text().splitlines()[1]
    number = slurm.command("squeue", "--noheader", "--name", f"pellucid-{id}", "--format=%i").strip()
    for seen in (slurm.command("scontrol", "write", "batch_script", number, "-"), shown_by_processes()):
        assert id in seen and token not in seen and key not in seen and running.token not in seen


def _another_certificate_is_not_believed(running: AgentProcess, first: str, second: str) -> None:
    """Where a viewer's record has the certificate of another, nobody is talked to."""
    record = running.place(second) / "address.json"
    right = record.read_text()
    path = running.until(second, "running")["path"].replace("?", "api/about?")
    address = json.loads(right) | {"certificate": (running.place(first) / "certificate.pem").read_text()}
    record.write_text(json.dumps(address))
    assert httpx.get(running.base + path).status_code == 502
    record.write_text(right)
    assert httpx.get(running.base + path).status_code == 200


def test_what_cannot_be_is_refused_before_it_is_queued(running: AgentProcess, slurm: SlurmCluster) -> None:
    def refusal(**wish: object) -> str:
        answer = running.client.post("/api/instances", json=wish)
        assert answer.status_code in (400, 403)
        return str(answer.json()["what"])

    assert refusal(gpus=3) == "3 GPUs are asked for, and a node has 2."
    assert "needs 29.1 GiB of memory and 7.0 GiB" in refusal(shape=[1500, 1500, 1500], dtype="float64")
    assert refusal(overrides={"account": "x"}) == "This site does not let you choose account."
    assert "invalid partition" in refusal(overrides={"partition": "moon"})
    assert running.ask("GET", "/api/jobs") == []
    assert list((running.folder / "agent/jobs").iterdir()) == []


def test_an_absent_controller_means_unknown(running: AgentProcess, slurm: SlurmCluster, tmp_path: Path) -> None:
    held = _held(slurm, tmp_path, gpus=2)
    id = running.run(tmp_path, "convert", "a", "b", gpus=1)
    running.until(id, "queued")
    slurm.stop_controller()
    try:
        state = running.until(id, "unknown")["state"]
        assert state["last"] == "queued" and "Unable to contact slurm controller" in state["reason"]
    finally:
        slurm.start_controller()
    running.until(id, "queued")
    running.cancel(id)
    assert running.until(id, "ended")["state"]["reason"] == "It was stopped."
    slurm.command("scancel", held)


def _held(slurm: SlurmCluster, folder: Path, gpus: int) -> str:
    """A job of somebody else's that keeps GPUs; its number."""
    (folder / "hold.sh").write_text("#!/bin/bash\nsleep 600\n")
    options = ("--parsable", f"--gpus={gpus}", "--time=5", "--output=/dev/null")
    return slurm.command("sbatch", *options, str(folder / "hold.sh")).strip()
