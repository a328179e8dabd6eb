"""The same for many files: one at a time on one machine, kept by whichever agent is there, ended together."""

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from pellucid.agent.batches import BatchWish
from pellucid.errors import InvalidInput
from pellucid.volume.sample import sample
from tests.agent.processes import AgentProcess, agent
from tests.waiting import wait_until

CONVERT = ("convert", "{file}", "{folder}/{stem}.zarr")


def test_a_task_for_each_file() -> None:
    tasks = BatchWish(("/a/x.tif", "/b/y.ome.tif"), (*CONVERT, "--level=0"), "/", gpus=1).tasks
    assert [task.arguments for task in tasks] == [
        ("convert", "/a/x.tif", "/a/x.zarr", "--level=0"),
        ("convert", "/b/y.ome.tif", "/b/y.zarr", "--level=0"),
    ]
    assert tasks[0].title == "convert x.tif x.zarr --level=0" and tasks[0].gpus == 1


@pytest.mark.parametrize(
    ("files", "arguments", "fault"),
    [
        ((), CONVERT, "1 to 1000 files"),
        (("/a",) * 2, CONVERT, "would do the same"),
        (("/a", "/b"), ("view", "{file}"), "cannot run as a task"),
    ],
)
def test_what_is_no_batch_is_refused(files: tuple[str, ...], arguments: tuple[str, ...], fault: str) -> None:
    with pytest.raises(InvalidInput, match=fault):
        _ = BatchWish(files, arguments, "/").tasks


def phases(running: AgentProcess) -> Counter[str]:
    return Counter(one["state"]["phase"] for one in running.ask("GET", "/api/jobs"))


def test_fifty_run_one_after_the_other_whoever_looks_after_them(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    os.mkfifo(tmp_path / "gate.npy")  # Whoever reads it waits.
    np.save(tmp_path / "ball.npy", sample(8))
    files = [str(tmp_path / "gate.npy"), *(str(tmp_path / f"{number:02}.npy") for number in range(49))]
    with agent(tmp_path / "state") as running:
        wish = {"files": files, "arguments": CONVERT, "folder": str(tmp_path)}
        told = running.ask("POST", "/api/batches", json=wish)
        assert {one["batch"] for one in told} == {told[0]["id"]} and len(told) == 50
        wait_until(lambda: phases(running) == {"running": 1, "queued": 49})
        running.kill()
        running.start()
        wait_until(lambda: phases(running) == {"running": 1, "queued": 49})
        first, last = told[0]["id"], told[-1]["id"]
        assert running.until(last, "queued")["state"]["reason"] == "Others of its batch run first."
        running.cancel(first)
        running.until(first, "ended")
        wait_until(lambda: phases(running)["failed"] >= 1)  # Its turn came; there is no such file.
        running.ask("DELETE", f"/api/batches/{first}")
        wait_until(lambda: phases(running)["ended"] + phases(running)["failed"] == 50)
        assert running.client.delete("/api/batches/none").status_code == 404
        refused = wish | {"overrides": {"scheduler": "pbs"}}
        assert running.client.post("/api/batches", json=refused).status_code == 400
        assert len(running.ask("GET", "/api/jobs")) == 50
