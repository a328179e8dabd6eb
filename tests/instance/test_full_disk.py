"""A disk that is full where a viewer writes: the answer says so, with what to do, and nothing is left half written."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from pellucid.instance.scene import saved_states
from pellucid.instance.server import Instance
from pellucid.volume.sample_volume import sample
from tests.instance.loopback import http, running
from tests.small_disk import fill, small_disk
from tests.waiting import TIMEOUT_S, wait_until


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    """One whose temporary files find little room."""
    folder = tmp_path_factory.mktemp("data")
    np.save(folder / "ball.npy", sample(64))
    with (
        running(str(folder / "ball.npy"), folder) as started,
        small_disk(started.session.tasks.folder, "64k"),
    ):
        yield started


@pytest.fixture
def disk(instance: Instance) -> Path:
    return instance.session.tasks.folder


def ended(client: httpx.Client, route: str, **request: object) -> dict[str, Any]:
    """How a task came to its end."""
    task = client.post(route, json=request).json()["task"]

    def status() -> dict[str, Any]:
        reply: dict[str, Any] = client.get(f"/api/tasks/{task}").json()
        return reply

    wait_until(lambda: status()["state"] != "running", TIMEOUT_S)
    return status()


def test_an_upload(instance: Instance, disk: Path) -> None:
    with http(instance) as client:
        answer = client.put("/api/upload", params={"name": "scan.tif"}, content=bytes(2**20))
    assert answer.status_code == 507
    assert answer.json()["what"] == "The disk is full: scan.tif could not be written."
    assert "Free some space" in answer.json()["remedy"]
    assert list((disk / "uploads").iterdir()) == []


@pytest.mark.parametrize("format", ["tiff", "nrrd", "zarr"])
def test_an_export(instance: Instance, format: str) -> None:
    with http(instance) as client:
        reply = ended(client, "/api/exports", layer=0, format=format)
    assert reply["state"] == "stopped" and "disk is full" in reply["what"], reply


def test_a_movie(instance: Instance, disk: Path) -> None:
    filler = fill(disk)
    try:
        with http(instance) as client:
            reply = ended(client, "/api/movies", seconds=1, frames_per_second=2, width=320, height=240)
    finally:
        filler.unlink()
    assert reply["state"] == "stopped" and "disk is full" in reply["what"], reply


def test_a_link(instance: Instance, disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved_states, "states_folder", lambda: disk / "states")
    (disk / "states").mkdir()
    filler = fill(disk)
    try:
        with http(instance) as client:
            answer = client.post("/api/links")
    finally:
        filler.unlink()
    assert answer.status_code == 507 and "disk is full" in answer.json()["what"]
    assert list((disk / "states").iterdir()) == []
