"""Viewers and tasks on this machine, through a real agent that is killed on the way."""

import getpass
import json
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from pellucid.instance.access.proofs import sign
from pellucid.instance.protocol.shared_types import VERSION
from pellucid.volume.sample_volume import sample
from tests.agent.processes import AgentProcess, agent, shown_by_processes
from tests.waiting import TIMEOUT_S, wait_until


@pytest.fixture(scope="module")
def scans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scans")
    np.save(folder / "ball.npy", sample(24))
    return folder


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentProcess]:
    with agent(tmp_path_factory.mktemp("state")) as started:
        yield started


@pytest.fixture(scope="module")
def viewer(running: AgentProcess, scans: Path) -> str:
    """A viewer that has survived the end of its agent."""
    id = running.view(source=str(scans / "ball.npy"), roots=[str(scans)], name="a ball")
    running.until(id, "running")
    before = running.base, running.token
    running.kill()
    running.start()
    assert not {running.base, running.token} & set(before)  # Nothing of the old one is worth anything.
    return id


def test_a_restarted_agent_finds_its_viewer(running: AgentProcess, viewer: str) -> None:
    reply = running.until(viewer, "running")
    assert (reply["name"], reply["kind"], reply["state"]["reason"]) == ("a ball", "viewer", "")
    assert [one["id"] for one in running.ask("GET", "/api/jobs") if one["kind"] == "viewer"] == [viewer]


def test_the_viewer_draws_behind_the_door(running: AgentProcess, viewer: str) -> None:
    running.until(viewer, "running")
    opened = running.session(viewer)
    base = opened["address"]
    request: dict[str, str | int] = {"width": 32, "height": 24, "format": "raw"}
    headers = {"Pellucid-Session": opened["token"]}
    pixels = httpx.get(f"{base}api/screenshot", params=request, headers=headers, timeout=120).content
    image = np.frombuffer(pixels, np.uint8).reshape(24, 32, 4)
    assert len(np.unique(image[..., :3].reshape(-1, 3), axis=0)) > 10
    page = httpx.get(base)
    assert page.status_code == 200 and "<html" in page.text
    assert httpx.get(base.rstrip("/")).headers["location"] == f"/i/{viewer}/"


def test_a_web_socket_goes_through(running: AgentProcess, viewer: str) -> None:
    opened = running.session(viewer)
    with connect(f"{opened['address'].replace('http', 'ws', 1)}ws", max_size=None) as line:
        line.send(json.dumps({"type": "prove", "session": opened["session"], "nonce": "mine"}))
        text = json.loads(line.recv(timeout=120))
        words = ("mine", text["nonce"], opened["address"])
        assert text["proof"] == sign(opened["key"], "server", *words)
        hello = {"type": "hello", "version": VERSION, "width": 64, "height": 48}
        line.send(json.dumps(hello | {"proof": sign(opened["key"], "page", *words)}))
        assert json.loads(line.recv(timeout=120))["type"] == "welcome"


def test_nobody_gets_in_without_access(running: AgentProcess, viewer: str) -> None:
    address = json.loads((running.place(viewer) / "address.json").read_text())
    base = f"{running.base}i/{viewer}/"
    for path in ("api/jobs", "api/about", f"api/jobs/{viewer}", f"api/jobs/{viewer}/log", "metrics", "api/files"):
        for given in ({}, {"Authorization": f"Bearer {address['token']}"}, {"Cookie": f"token={running.token}"}):
            assert httpx.get(running.base + path, headers=given).status_code == 403, path
        assert httpx.get(running.base + path, params={"token": running.token}).status_code == 403, path
    assert httpx.delete(f"{running.base}api/jobs/{viewer}").status_code == 403
    stated = f"{address['token']} a-run {base} own"  # What only the agent may say.
    for token in (running.token, address["token"]):  # The viewer's own is for its own port.
        for given in ({"Authorization": f"Bearer {token}"}, {"Pellucid-Agent": stated}, {"Pellucid-Session": token}):
            assert httpx.get(f"{base}api/volume", headers=given).status_code == 403
    with pytest.raises(InvalidStatus, match="403"):
        connect(f"{base.replace('http', 'ws', 1)}ws", origin=Origin("http://elsewhere.example"))


def test_what_came_through_one_agent_works_through_no_other_way(running: AgentProcess, viewer: str) -> None:
    opened, unused = running.session(viewer), running.link(viewer)
    code = unused.partition("#code=")[2]
    port = json.loads((running.place(viewer) / "address.json").read_text())["port"]
    direct = f"http://127.0.0.1:{port}/"
    mine = {"Pellucid-Session": opened["token"]}
    assert httpx.get(f"{opened['address']}api/scene", headers=mine).status_code == 200
    assert httpx.get(f"{direct}api/scene", headers=mine).status_code == 403
    for body in ({"code": code}, {"resume": opened["token"]}):
        refused = httpx.post(f"{direct}api/session", json={"address": opened["address"], **body})
        assert refused.status_code == 403
    running.kill()
    running.start()
    running.until(viewer, "running")
    base = f"{running.base}i/{viewer}/"
    assert httpx.get(f"{base}api/scene", headers=mine).status_code == 403
    for body in ({"code": code}, {"resume": opened["token"]}):
        assert httpx.post(f"{base}api/session", json={"address": base, **body}).status_code == 403


def test_no_secret_can_be_seen_from_outside(running: AgentProcess, viewer: str) -> None:
    token = json.loads((running.place(viewer) / "address.json").read_text())["token"]
    shown = shown_by_processes()
    assert viewer in shown  # Its process is among them.
    assert token not in shown and running.token not in shown
    assert token not in (running.place(viewer) / "script.sh").read_text()
    folder = running.folder / "agent"
    open_to_others = [path for path in folder.rglob("*") if stat.S_IMODE(path.stat().st_mode) & 0o077]
    assert [str(path) for path in open_to_others] == []


def test_an_agent_is_small(running: AgentProcess, viewer: str) -> None:
    status = Path(f"/proc/{running.process.pid}/status").read_text()
    kib = int(status.partition("VmRSS:")[2].split()[0])
    assert kib < 100 * 1024


def test_there_is_one_agent(running: AgentProcess, viewer: str) -> None:
    with pytest.raises(AssertionError, match=r"running\\nYour agent is already running"):
        AgentProcess(running.folder).start()


def test_a_task_converts_and_its_progress_is_kept(running: AgentProcess, scans: Path) -> None:
    id = running.run(scans, "convert", "ball.npy", "ball.zarr")
    reply = running.until(id, "ended")
    assert reply["state"]["reason"] == "Finished."
    assert reply["progress"]["fraction"] == 1.0
    assert (scans / "ball.zarr").exists()


def test_a_task_that_fails_says_why(running: AgentProcess, scans: Path) -> None:
    id = running.run(scans, "convert", "none.npy", "none.zarr")
    state = running.until(id, "failed")["state"]
    assert state["reason"] == "Failed with exit code 1."
    assert "does not exist" in state["log"][0]
    assert "does not exist" in running.client.get(f"/api/jobs/{id}/log").text


def test_what_makes_no_sense_is_refused(running: AgentProcess) -> None:
    refused = running.client.post("/api/tasks", json={"arguments": ["view", "x"], "folder": "/"})
    assert refused.status_code == 400 and "cannot run as a task" in refused.json()["what"]
    refused = running.client.post("/api/instances", json={"overrides": {"scheduler": "pbs"}})
    assert refused.status_code == 400 and "Choose from: local, slurm" in refused.json()["remedy"]
    assert running.client.post("/api/instances", json={"gpus": "many"}).status_code == 422
    assert running.client.get("/api/jobs/0123456789").status_code == 404
    assert running.client.get("/i/0123456789/").status_code == 404


def test_a_viewer_that_ended_is_closed(running: AgentProcess, viewer: str) -> None:
    opened = running.session(viewer)
    running.cancel(viewer)
    assert running.until(viewer, "ended")["state"]["reason"] == "It was stopped."
    headers = {"Pellucid-Session": opened["token"]}
    assert httpx.get(f"{opened['address']}api/about", headers=headers).status_code == 404
    refused = running.client.post(f"/api/jobs/{viewer}/open")
    assert refused.status_code == 400 and refused.json()["remedy"] == "Open a running viewer."
    noted = [json.loads(line) for line in (running.folder / "agent/audit.jsonl").read_text().splitlines()]
    assert {"starting", "running", "ending", "ended", "failed"} <= {one["what"] for one in noted}
    last = next(one for one in reversed(noted) if one["id"] == viewer)
    assert (last["what"], last["why"], last["name"]) == ("ended", "It was stopped.", "a ball")
    assert (last["who"], last["node"], last["kind"]) == (getpass.getuser(), socket.gethostname(), "viewer")
    measured = running.client.get("/metrics").text
    assert 'pellucid_jobs{kind="viewer",phase="ended"} 1' in measured
    assert 'pellucid_scheduler_unanswered_total{scheduler="local"} 0' in measured


def test_one_that_nobody_opens_ends_also_where_no_agent_is(running: AgentProcess) -> None:
    id = running.view(gpus=0, idle_timeout_s=2.0)
    running.kill()
    wait_until((running.place(id) / "exit").exists, TIMEOUT_S)
    running.start()
    assert running.until(id, "ended")["state"]["reason"] == "It was idle for 2 s."


def test_a_viewer_takes_what_it_was_started_for_and_no_more(running: AgentProcess) -> None:
    id = running.view(shape=[16, 16, 16], dtype="uint8", gpus=0)
    running.until(id, "running")
    opened = running.session(id)
    base, bearer = opened["address"], {"Authorization": f"Bearer {opened['token']}"}
    offer = {"shape": [16, 16, 16], "dtype": "|u1", "spacing": [1, 1, 1], "unit": "", "name": "a", "how": "replace"}
    assert httpx.post(f"{base}api/arrays", json=offer, headers=bearer).status_code == 200
    refused = httpx.post(f"{base}api/arrays", json=offer | {"shape": [17, 16, 16]}, headers=bearer)
    assert refused.status_code == 400 and "accepts at most 4.0 KiB" in refused.json()["what"]
    running.cancel(id)
    running.until(id, "ended")
