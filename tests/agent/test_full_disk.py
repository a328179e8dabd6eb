"""A disk that is full where the agent writes."""

from pathlib import Path

from tests.agent.processes import agent
from tests.small_disk import fill, small_disk


def test_what_cannot_be_written_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "256k") as disk:
        for name in ("state", "data"):
            (disk / name).mkdir()
        with agent(disk / "state", f'roots = ["{disk}/data"]') as running:
            filler = fill(disk)
            started = running.client.post("/api/instances", json={"device": "cpu"})
            request = {"folder": str(disk / "data"), "name": "new.bin"}
            sent = running.client.put("/api/files/content", params=request, content=bytes(2**20))
            assert running.ask("GET", "/api/jobs") == []
            filler.unlink()
            for answer in (started, sent):
                assert answer.status_code == 507, answer.text
                assert "The disk is full" in answer.json()["what"] and "Free some space" in answer.json()["remedy"]
            assert list((disk / "state/agent/jobs").iterdir()) == list((disk / "data").iterdir()) == []
