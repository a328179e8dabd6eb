"""Values that JSON can hold and nothing else: refused, not stored; and files that only do harm."""

import os
from pathlib import Path

import pytest

from pellucid.agent.files.listing import UserFiles
from pellucid.agent.jobs.requests import TaskRequest, ViewerRequest
from pellucid.dataclass_json import check_storable
from pellucid.errors import InvalidInput
from pellucid.instance.server import Instance
from tests.damaged_files import write_hostile_files
from tests.instance.loopback import http

LONG = "9" * 400


@pytest.mark.parametrize(
    "value",
    [f'{{"path": ["time"], "value": {LONG}}}', '{"path": ["volumes", 0, "source"], "value": "\\ud800"}',
     f'{{"path": ["volumes", 0, "labels"], "value": {{"highlight": {LONG}}}}}'],
)  # fmt: skip
def test_a_scene_takes_no_odd_values(instance: Instance, value: str) -> None:
    with http(instance) as client:
        before = client.get("/api/scene").json()["revision"]
        answer = client.patch("/api/scene", content=f'{{"changes": [{value}]}}')
        assert answer.status_code in (400, 422), answer.text
        assert client.get("/api/scene").json()["revision"] == before


@pytest.mark.parametrize("value", [10**400, -(2**63) - 1, "\ud800", {"a": [1, (2, "\udfff")]}])
def test_what_cannot_be_stored_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput, match="the request"):
        check_storable(value, "the request")


def test_the_agent_takes_no_odd_values() -> None:
    with pytest.raises(InvalidInput, match="64 bits"):
        ViewerRequest(cores=10**400)
    with pytest.raises(InvalidInput, match="UTF-8"):
        TaskRequest(("convert", "\ud800"), "/tmp")


def test_a_name_that_is_not_utf_8_does_not_hide_its_folder(instance: Instance, folder: Path) -> None:
    bad = os.fsencode(folder) + b"/bad\xff.npy"
    with open(bad, "wb") as file:  # noqa: PTH123
        file.write(b"x")
    try:
        with http(instance) as client:
            listed = client.get("/api/files", params={"folder": str(folder)}).json()
            found = client.get("/api/files", params={"folder": str(folder), "search": "bad"}).json()
        agents = UserFiles((str(folder),)).list_folder(str(folder))
    finally:
        os.unlink(bad)  # noqa: PTH108
    for names in ([one["name"] for one in listed["entries"]], [one["name"] for one in found["entries"]]):
        assert "bad\\xff.npy" in names
    assert "bad\\xff.npy" in [entry.name for entry in agents.entries]
    assert "ball.npy" in [entry["name"] for entry in listed["entries"]]


def test_hostile_files_keep_nothing_else_from_opening(instance: Instance, folder: Path, source: str) -> None:
    """More of them than the Worker has threads; it is neither lost nor caught."""
    restarts = instance.session.worker.restarts
    hostile = folder / "hostile"
    paths = write_hostile_files(hostile)
    for number in range(6):
        os.mkfifo(hostile / f"pipe{number}.nrrd")
    try:
        with http(instance) as client:
            for path in (*paths, *hostile.glob("pipe*")):
                facts = client.get("/api/files/info", params={"path": str(path)})
                loaded = client.post("/api/load", json={"path": str(path)})
                assert facts.status_code == 200 and loaded.status_code in (200, 400, 404), loaded.text
                assert not any(ord(letter) < 32 for letter in facts.json()["problem"])
            assert client.post("/api/load", json={"path": source}).status_code == 200
    finally:
        for path in hostile.iterdir():
            path.unlink()
        hostile.rmdir()
    assert instance.session.worker.restarts == restarts
