"""One agent at a time, also where two machines share a home."""

import json
import stat
from pathlib import Path

import pytest

from pellucid.agent import lease as lease_module
from pellucid.agent.lease import LASTS_S, Lease, holder
from pellucid.errors import InvalidInput
from pellucid.jobs.job import write_json
from pellucid.jobs.processes import Process


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def written_by(folder: Path, process: str, renewed_at: float) -> None:
    write_json(folder / "agent.json", {"process": process, "renewed_at": renewed_at, "url": ""})


def test_it_is_taken_renewed_and_given_back(tmp_path: Path) -> None:
    lease = Lease(tmp_path)
    lease.take()
    assert lease.renew("http://127.0.0.1:1/?token=secret")
    found = holder(tmp_path)
    assert found is not None and found.process == str(Process.this()) and "secret" not in repr(found)
    assert stat.S_IMODE((tmp_path / "agent.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700
    lease.give_back()
    assert [path.name for path in tmp_path.iterdir()] == []


def test_a_living_agent_of_this_machine_keeps_it(tmp_path: Path) -> None:
    Lease(tmp_path).take()
    with pytest.raises(InvalidInput, match="Your agent runs already"):
        Lease(tmp_path).take()


def test_a_dead_one_of_this_machine_loses_it_at_once(tmp_path: Path) -> None:
    this = Process.this()
    written_by(tmp_path, f"{this.host}/{this.pid}/{this.birth - 1}", 10**12)
    Lease(tmp_path).take()
    assert holder(tmp_path) is not None and Lease(tmp_path).is_held


def test_one_of_another_machine_loses_it_only_after_a_while(tmp_path: Path) -> None:
    clock = Clock()
    written_by(tmp_path, "login-2/5/6", clock.now)
    clock.now += LASTS_S
    with pytest.raises(InvalidInput, match="on login-2"):
        Lease(tmp_path, clock).take()
    clock.now += 1
    Lease(tmp_path, clock).take()


def test_whoever_lost_it_learns_so_and_takes_nothing_back(tmp_path: Path) -> None:
    lease = Lease(tmp_path)
    lease.take()
    written_by(tmp_path, "login-2/5/6", 10**12)
    assert not lease.renew("http://127.0.0.1:1/")
    lease.give_back()
    assert json.loads((tmp_path / "agent.json").read_text())["process"] == "login-2/5/6"


def test_what_makes_no_sense_is_nobodys(tmp_path: Path) -> None:
    write_json(tmp_path / "agent.json", {"process": "?", "renewed_at": 1.0})
    assert holder(tmp_path) is None
    Lease(tmp_path).take()


def test_one_that_was_taken_since_the_look_is_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = lease_module.holder

    def look_then_lose(folder: Path, file: str = "agent.json") -> lease_module.Holder | None:
        if file == "agent.json" and not (folder / file).exists():
            written_by(folder, "login-2/5/6", 10**12)  # Somebody else takes it right after this look.
            return None
        return looked(folder, file)

    monkeypatch.setattr(lease_module, "holder", look_then_lose)
    with pytest.raises(InvalidInput, match="on login-2"):
        Lease(tmp_path).take()
    assert [path.name for path in tmp_path.iterdir()] == ["agent.json"]
    assert json.loads((tmp_path / "agent.json").read_text())["process"] == "login-2/5/6"
