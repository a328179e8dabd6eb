"""A viewer that asks for more GPUs than a node has: a Slurm of two nodes here, and Device Workers on both."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest

from pellucid.volume.sample_volume import sample
from tests.agent.processes import AgentProcess, agent
from tests.slurm_cluster import SlurmCluster, can_run, started
from tests.waiting import TIMEOUT_S, wait_until

SITE = """
scheduler = "slurm"
partition = "main"
time_limit_minutes = 10
max_nodes = 2
poll_s = 0.3
[node]
gpus = 2
gpu_memory = "40GiB"
memory = "7GiB"
"""


@pytest.fixture(scope="module")
def two_nodes() -> Iterator[SlurmCluster]:
    if not can_run():
        pytest.skip("needs Slurm")
    with started("first", "second") as cluster:
        yield cluster


@pytest.fixture
def running(two_nodes: SlurmCluster, tmp_path: Path) -> Iterator[AgentProcess]:
    with agent(tmp_path, SITE, **two_nodes.environment) as started_agent:
        yield started_agent
    two_nodes.clear()


def test_workers_of_both_nodes_draw(running: AgentProcess, two_nodes: SlurmCluster, tmp_path: Path) -> None:
    np.save(tmp_path / "volume.npy", np.ascontiguousarray(sample(40)))
    id = running.view(gpus=3, memory_bytes=2**30, source=str(tmp_path / "volume.npy"))
    job = running.until(id, "running")
    assert (job["resources"]["gpus"], job["resources"]["nodes"]) == (4, 2)  # As many on each.
    opened = running.session(id)
    with httpx.Client(headers={"Pellucid-Session": opened["token"]}, timeout=TIMEOUT_S) as client:
        assert client.get(f"{opened['address']}api/about").json()["device"] == "4 Device Workers"
        image = client.get(f"{opened['address']}api/screenshot?width=96&height=96&format=raw").content
        assert np.frombuffer(image, np.uint8).reshape(96, 96, 4)[..., :3].std() > 5
    records = list((tmp_path / "cluster").glob("*/step/worker-*.json"))
    expected = [f"worker-{node}-{slot}" for node in ("first", "second") for slot in (0, 1)]
    assert sorted(path.stem for path in records) == expected
    running.cancel(id)
    running.until(id, "ended")
    wait_until(lambda: not two_nodes.command("squeue", "--noheader").strip())


def test_more_than_a_viewer_may_have_is_refused(running: AgentProcess) -> None:
    answer = running.client.post("/api/instances", json={"gpus": 5, "memory_bytes": 2**30})
    assert answer.json()["what"] == "5 GPUs were requested, but a node has 2, and a viewer may have 2 nodes."
    task = {"arguments": ["convert", "a", "b"], "folder": "/", "gpus": 3}
    answer = running.client.post("/api/tasks", json=task)
    assert answer.json()["what"].startswith("3 GPUs were requested, but a node has 2")
