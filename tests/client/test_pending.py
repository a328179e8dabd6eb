"""Viewers through the agent: asked for, waited for, found, ended while they wait."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pellucid
from pellucid.client.job_viewers import AgentViewer, JobViewer, PendingViewer
from pellucid.errors import InvalidInput, JobEnded, TransferTooLarge
from pellucid.transport import client
from pellucid.volume.sample_volume import sample
from tests.slurm_cluster import SlurmCluster
from tests.suite_report import ROOT
from tests.waiting import wait_until

SLURM = """
scheduler = "slurm"
partition = "main"
poll_s = 0.3
may_override = ["time_limit_minutes"]
[node]
gpus = 2
gpu_memory = "4GiB"
memory = "7GiB"
"""


def test_a_viewer_is_asked_for_waited_for_found_and_ended(state_folder: Path) -> None:
    pending = pellucid.start(device="cpu", gpus=0, name="mine", wait=False)
    assert pending.state.phase == "starting" and pending.expected_start is None
    viewer = pending.wait()
    assert isinstance(viewer, JobViewer) and str(viewer.state.phase) == "running"
    viewer.render_volume(sample(16))
    assert viewer.screenshot(32, 24).shape == (24, 32, 4)
    (found,) = pellucid.instances()
    assert isinstance(found, AgentViewer) and found.is_alive and found.address == viewer.address
    assert pellucid.connect(found.url).device == "cpu"
    viewer.shutdown()
    assert str(viewer.state.phase) == "ended"
    assert pellucid.instances() == []
    with pytest.raises(JobEnded, match=r"mine did not start: "):
        pending.wait()


def test_a_viewer_that_cannot_be_says_why(state_folder: Path) -> None:
    with pytest.raises(JobEnded, match="The device 'cuda:77' is not available"):
        pellucid.start(device="cuda:77", scheduler="local")


def test_gpus_follow_from_the_file_that_is_shown(state_folder: Path, slurm: SlurmCluster) -> None:
    (state_folder / "site.toml").write_text(SLURM)
    np.lib.format.open_memmap(state_folder / "large.npy", "w+", np.uint8, (1024, 1024, 2048)).flush()  # A hole.
    pending = pellucid.start(device="cpu", source=str(state_folder / "large.npy"), gpus="auto", wait=False)
    assert (pending.resources.gpus, pending.resources.memory_bytes) == (2, 6 * 2**30)
    pending.shutdown()
    pending.wait_until_ended()


def test_programs_that_start_at_once_share_one_agent(state_folder: Path) -> None:
    program = "from pellucid.client.agent_client import AgentClient; print(AgentClient.find_or_start().address)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    programs = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(3)
    ]
    text = {one.communicate()[0] for one in programs}
    assert len(text) == 1 and re.fullmatch(r"http://[0-9a-f]{16}\.localhost:\d+/\n", text.pop())


def test_without_an_agent_none_is_started_to_list_nothing(state_folder: Path) -> None:
    assert pellucid.instances() == []
    assert not (state_folder / "agent").exists()


def test_arrays_go_straight_to_the_node(
    state_folder: Path, slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    (state_folder / "site.toml").write_text(SLURM)
    monkeypatch.setattr(client, "machine", lambda: "")
    with pellucid.start(device="cpu", gpus=0, shape=(16, 16, 16), dtype="uint16") as viewer:
        # Another machine cannot enter the viewer's Unix socket; here that has to be pretended.
        assert isinstance(viewer, JobViewer)
        viewer._lanes.same_host = None
        array = sample(16)
        viewer.render_volume(array)
        assert viewer._lanes.address.startswith("tls://")
        assert viewer.last_transfer is not None and viewer.last_transfer.lane == "tcp"
        np.testing.assert_array_equal(viewer.retrieve_volume(), array)
        with pytest.raises(TransferTooLarge, match=r"accepts at most 8\.0 KiB"):
            viewer.render_volume(sample(17))


def test_a_viewer_is_ended_while_it_waits(state_folder: Path, slurm: SlurmCluster) -> None:
    (state_folder / "site.toml").write_text(SLURM)
    slurm.command("sbatch", "--gpus=2", "--time=5", "--output=/dev/null", "--wrap=sleep 600", "--job-name=held")
    pending = pellucid.start(shape=(1024, 1024, 1024), dtype="uint16", time_limit_minutes=5, wait=False)
    assert (pending.resources.gpus, pending.resources.memory_bytes) == (2, 6 * 2**30)
    wait_until(lambda: pending.expected_start and pending.state.reason == "Resources")
    assert pending.state.phase == "queued"
    with pytest.raises(TimeoutError, match="is queued"):
        pending.wait(timeout_s=0.1)
    (found,) = pellucid.instances()
    assert isinstance(found, AgentViewer) and found.url == found.address == "" and found.state.phase == "queued"
    found.pending.shutdown()
    pending.wait_until_ended()
    assert pending.state.reason == "It was stopped."
    slurm.command("scancel", "--name=held")
    with pytest.raises(InvalidInput, match="3 GPUs were requested"):
        pellucid.start(gpus=3)


def test_one_queues_behind_two_others_and_starts_when_one_is_gone(state_folder: Path, slurm: SlurmCluster) -> None:
    (state_folder / "site.toml").write_text(SLURM)

    def ask(name: str) -> PendingViewer:
        return pellucid.start(device="cpu", gpus=1, memory=2**29, name=name, time_limit_minutes=5, wait=False)

    first, second, third = (ask(name) for name in ("first", "second", "third"))
    for one in (first, second):
        one.wait()
    wait_until(lambda: third.expected_start and third.state.reason == "Resources")
    assert third.state.place == 1 and third.state.phase == "queued"
    first.shutdown()
    with third.wait() as viewer:
        viewer.render_volume(sample(16))
        image = viewer.screenshot(48, 32)
        assert image.shape == (32, 48, 4) and len(np.unique(image[..., :3].reshape(-1, 3), axis=0)) > 10
        assert viewer.state.node == "localhost" and viewer.state.ends_at is not None
    assert str(third.state.phase) == "ended"
    second.shutdown()
    second.wait_until_ended()
