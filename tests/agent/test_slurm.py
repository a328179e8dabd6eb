"""Viewers on a real Slurm: waiting, starting while no agent is there, reached by TLS, gone without an agent."""

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from pellucid.jobs.process_identity import ProcessId
from pellucid.volume.sample_volume import sample
from tests.agent.processes import AgentProcess, agent, shown_by_processes
from tests.slurm_cluster import SlurmCluster
from tests.waiting import wait_until

SITE = """
scheduler = "slurm"
partition = "main"
time_limit_minutes = 10
poll_s = 0.3
may_override = ["partition", "time_limit_minutes"]
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
        reply = running.until(id, "running")
        opened = running.session(id)
        headers = {"Pellucid-Session": opened["token"]}
        assert httpx.get(f"{opened['address']}api/about", headers=headers).json()["capability"] == "own"
        assert reply["state"]["node"] == "localhost"
    _no_secret_shows(running, slurm, first)
    _another_certificate_is_not_believed(running, first, second)
    running.cancel(first)
    assert running.until(first, "ended")["state"]["reason"] == "It was stopped."
    slurm.command("scancel", "--name", f"pellucid-{second}")
    assert running.until(second, "ended")["state"]["reason"] == "Cancelled."


def _no_secret_shows(running: AgentProcess, slurm: SlurmCluster, id: str) -> None:
    token = json.loads((running.place(id) / "address.json").read_text())["token"]
    key = (running.place(id) / "key.pem").read_text().splitlines()[1]
    number = slurm.command("squeue", "--noheader", "--name", f"pellucid-{id}", "--format=%i").strip()
    for seen in (slurm.command("scontrol", "write", "batch_script", number, "-"), shown_by_processes()):
        assert id in seen and token not in seen and key not in seen and running.token not in seen


def _another_certificate_is_not_believed(running: AgentProcess, first: str, second: str) -> None:
    """Where a viewer's record has the certificate of another, nobody is talked to."""
    record = running.place(second) / "address.json"
    right = record.read_text()
    path = running.until(second, "running")["path"]
    address = json.loads(right) | {"certificate": (running.place(first) / "certificate.pem").read_text()}
    record.write_text(json.dumps(address))
    assert httpx.get(running.base + path).status_code == 502
    record.write_text(right)
    assert httpx.get(running.base + path).status_code == 200


def test_what_cannot_be_is_refused_before_it_is_queued(running: AgentProcess, slurm: SlurmCluster) -> None:
    def refusal(**request: object) -> str:
        answer = running.client.post("/api/instances", json=request)
        assert answer.status_code in (400, 403)
        return str(answer.json()["what"])

    assert refusal(gpus=3) == "3 GPUs were requested, but a node has 2."
    assert "29.1 GiB needed, 7.0 GiB available" in refusal(shape=[1500, 1500, 1500], dtype="float64")
    assert refusal(overrides={"account": "x"}) == "This site does not allow choosing account."
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


class Gate:
    """A saved state that a viewer waits for: it stays in its start until somebody writes it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "gate.json"
        os.mkfifo(self.path)

    def open(self, state: str) -> None:
        threading.Thread(target=self.path.write_text, args=(state,), daemon=True).start()


def _state_of(running: AgentProcess, id: str) -> str:
    """What a viewer shows, as it can be saved."""
    running.until(id, "running")
    opened = running.session(id)
    return httpx.get(f"{opened['address']}api/state", headers={"Pellucid-Session": opened["token"]}).text


def test_one_queued_one_starting_and_one_running_survive_the_end_of_the_agent(
    running: AgentProcess, slurm: SlurmCluster, tmp_path: Path
) -> None:
    gate, small = Gate(tmp_path), {"gpus": 1, "memory_bytes": 2**29}
    runs = running.view(**small, name="runs")
    shown = _state_of(running, runs)
    starts = running.view(**small, name="starts", state=str(gate.path))
    running.until(starts, "starting")
    waits = running.view(**small, name="waits")
    wait_until(lambda: _waits(running.ask("GET", f"/api/jobs/{waits}")["state"]))
    running.kill()
    running.start()
    reply = {one["name"]: one["state"]["phase"] for one in running.ask("GET", "/api/jobs")}
    assert reply == {"runs": "running", "starts": "starting", "waits": "queued"}
    gate.open(shown)
    running.until(starts, "running")
    running.cancel(runs)
    running.until(waits, "running")
    assert json.loads(_state_of(running, starts))["scene"] == json.loads(shown)["scene"]


def test_one_that_is_killed_before_it_reported_has_failed(running: AgentProcess, tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    id = running.view(gpus=0, memory_bytes=2**29, state=str(gate.path))
    running.until(id, "starting")
    started = running.place(id) / "started"
    wait_until(started.exists)
    process = ProcessId.written(started)
    assert process is not None
    os.killpg(process.pid, signal.SIGKILL)
    state = running.until(id, "failed")["state"]
    assert state["reason"] == "The command failed." and state["node"] == "localhost"


def test_a_drained_node_is_the_reason_to_wait(running: AgentProcess, slurm: SlurmCluster) -> None:
    slurm.command("scontrol", "update", "nodename=localhost", "state=drain", "reason=test")
    try:
        id = running.view(gpus=0, memory_bytes=2**29)
        wait_until(lambda: "DRAINED" in running.ask("GET", f"/api/jobs/{id}")["state"]["reason"].upper())
        assert running.ask("GET", f"/api/jobs/{id}")["state"]["phase"] == "queued"
    finally:
        slurm.command("scontrol", "update", "nodename=localhost", "state=resume")
    running.until(id, "running")


def test_a_hundred_wait_while_the_time_of_one_runs_out(
    running: AgentProcess, slurm: SlurmCluster, tmp_path: Path
) -> None:
    np.save(tmp_path / "ball.npy", sample(16))
    request = {"gpus": 0, "memory_bytes": 2**29, "source": str(tmp_path / "ball.npy"), "roots": [str(tmp_path)]}
    ends = running.view(**request, overrides={"time_limit_minutes": 1})
    shown = json.loads(_state_of(running, ends))["scene"]
    wait_until(lambda: running.ask("GET", f"/api/jobs/{ends}")["saved"])
    number = slurm.command("squeue", "--noheader", "--name", f"pellucid-{ends}", "--format=%i").strip()
    # Slurm counts in minutes; the end itself can be moved nearer, and is enforced within half a minute.
    soon = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() + 1))
    slurm.command("scontrol", "update", f"jobid={number}", f"endtime={soon}")
    _many_that_wait_are_counted_and_end(running, slurm, tmp_path)
    reply = running.until(ends, "ended")
    assert reply["state"]["reason"] == "Reached its time limit."
    assert "DUE TO TIME LIMIT" in running.client.get(f"/api/jobs/{ends}/log").text
    after = running.view(gpus=0, memory_bytes=2**29, state=reply["saved"], roots=[str(tmp_path)])
    assert json.loads(_state_of(running, after))["scene"] == shown


def _many_that_wait_are_counted_and_end(running: AgentProcess, slurm: SlurmCluster, folder: Path) -> None:
    _held(slurm, folder, gpus=2)
    waiting = [running.view(gpus=1, memory_bytes=2**28) for _ in range(40)]
    last = running.view(gpus=1, memory_bytes=2**28)
    wait_until(lambda: running.ask("GET", f"/api/jobs/{last}")["state"]["place"] == 41)
    slurm.command("scancel", "--user=root", "--state=PENDING")
    for id in (*waiting, last):
        running.until(id, "ended")


def _held(slurm: SlurmCluster, folder: Path, gpus: int) -> str:
    """A job of somebody else's that keeps GPUs; its number."""
    (folder / "hold.sh").write_text("#!/bin/bash\nsleep 600\n")
    options = ("--parsable", f"--gpus={gpus}", "--time=5", "--output=/dev/null")
    return slurm.command("sbatch", *options, str(folder / "hold.sh")).strip()
