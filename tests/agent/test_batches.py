"""The same for many files: one at a time on one machine, kept by whichever agent is there, ended together."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from pellucid.agent.jobs.batches import BatchRequest
from pellucid.errors import InvalidInput
from tests.agent.processes import AgentProcess, agent
from tests.waiting import TIMEOUT_S, wait_until

CONVERT = ("convert", "{file}", "{folder}/{stem}.zarr")


def test_a_task_for_each_file() -> None:
    tasks = BatchRequest(("/a/x.tif", "/b/y.ome.tif"), (*CONVERT, "--level=0"), "/", gpus=1).tasks
    assert [task.arguments for task in tasks] == [
        ("convert", "/a/x.tif", "/a/x.zarr", "--level=0"),
        ("convert", "/b/y.ome.tif", "/b/y.zarr", "--level=0"),
    ]
    assert tasks[0].title == "convert x.tif x.zarr --level=0" and tasks[0].gpus == 1


@pytest.mark.parametrize(
    ("files", "arguments", "fault"),
    [
        ((), CONVERT, "1 to 1000 files"),
        (("/a",) * 2, CONVERT, "would write the same output"),
        (("/a", "/b"), ("view", "{file}"), "cannot run as a task"),
    ],
)
def test_what_is_no_batch_is_refused(files: tuple[str, ...], arguments: tuple[str, ...], fault: str) -> None:
    with pytest.raises(InvalidInput, match=fault):
        _ = BatchRequest(files, arguments, "/").tasks


def phases(running: AgentProcess) -> Counter[str]:
    """As they are on record: asking the agent again and again would only slow it."""
    records = (running.folder / "agent/jobs").glob("*/record.json")
    return Counter(json.loads(record.read_text())["state"]["phase"] for record in records)


def test_fifty_run_one_after_the_other_whoever_looks_after_them(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    os.mkfifo(tmp_path / "gate")  # Every task waits for the recipe that it is to read from here.
    arguments = ("reconstruct", "{file}", "-o", "{folder}/{stem}.zarr", "--recipe", str(tmp_path / "gate"))
    files = [str(tmp_path / f"{number:02}.h5") for number in range(50)]
    with agent(tmp_path / "state") as running:
        request = {"files": files, "arguments": arguments, "folder": str(tmp_path)}
        reply = running.ask("POST", "/api/batches", json=request)
        assert {one["batch"] for one in reply} == {reply[0]["id"]} and len(reply) == 50
        wait_until(lambda: phases(running) == {"running": 1, "queued": 49}, TIMEOUT_S)
        running.kill()
        running.start()
        wait_until(lambda: phases(running) == {"running": 1, "queued": 49}, TIMEOUT_S)
        jobs = running.ask("GET", "/api/jobs")
        waiting = {one["state"]["reason"] for one in jobs if one["state"]["phase"] == "queued"}
        assert waiting == {"Waiting for other tasks of the batch."}
        running.cancel(next(one["id"] for one in jobs if one["state"]["phase"] == "running"))
        wait_until(lambda: phases(running) == {"ended": 1, "running": 1, "queued": 48}, TIMEOUT_S)
        running.ask("DELETE", f"/api/batches/{reply[0]['batch']}")
        wait_until(lambda: phases(running) == {"ended": 50}, TIMEOUT_S)
        assert running.client.delete("/api/batches/none").status_code == 404
        refused = request | {"overrides": {"scheduler": "pbs"}}
        assert running.client.post("/api/batches", json=refused).status_code == 400
        assert len(running.ask("GET", "/api/jobs")) == 50
