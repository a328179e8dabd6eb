"""One agent at a time, also where two machines share a home."""

import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from pellucid.agent import lease as lease_module
from pellucid.agent.lease import LASTS_S, AgentElsewhere, AgentRunning, Lease, holder
from pellucid.jobs.private_files import write_json
from pellucid.jobs.process_identity import ProcessId


class Time:
    """A clock that only waiting moves. on_wait: what happens elsewhere meanwhile."""

    def __init__(self, on_wait: Callable[[float], None] = lambda now: None, start: float = 0.0) -> None:
        self.now, self._on_wait = start, on_wait

    def clock(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self._on_wait(self.now)


def lease_by(time: Time, folder: Path) -> Lease:
    return Lease(folder, time.clock, time.wait)


def written_by(folder: Path, process: str, count: int = 1) -> None:
    write_json(folder / "agent.json", {"process": process, "count": count, "url": ""})


def test_it_is_taken_renewed_and_given_back(tmp_path: Path) -> None:
    lease = Lease(tmp_path)
    lease.acquire()
    assert lease.renew("http://127.0.0.1:1/", "secret")
    found = holder(tmp_path)
    assert found is not None and found.process == str(ProcessId.this()) and "secret" not in repr(found)
    assert stat.S_IMODE((tmp_path / "agent.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700
    lease.release()
    assert [path.name for path in tmp_path.iterdir()] == []


def test_a_living_agent_of_this_machine_keeps_it(tmp_path: Path) -> None:
    Lease(tmp_path).acquire()
    with pytest.raises(AgentRunning, match="Your agent is already running"):
        Lease(tmp_path).acquire()


def test_a_dead_one_of_this_machine_loses_it_at_once(tmp_path: Path) -> None:
    this = ProcessId.this()
    written_by(tmp_path, f"{this.host}/{this.pid}/{this.birth - 1}")
    Lease(tmp_path).acquire()
    assert holder(tmp_path) is not None and Lease(tmp_path).is_held


@pytest.mark.parametrize("start", [0.0, -1e9, 1e12])
def test_one_of_another_machine_loses_it_after_a_minute_in_which_it_does_not_count(
    tmp_path: Path, start: float
) -> None:
    time = Time(start=start)  # Whatever this machine's clock says: only the difference matters.
    written_by(tmp_path, "login-2/5/6")
    lease = lease_by(time, tmp_path)
    lease.acquire()
    assert lease.is_held and LASTS_S <= time.now - start <= LASTS_S + 1


def test_one_of_another_machine_that_counts_keeps_it(tmp_path: Path) -> None:
    def count_once(now: float) -> None:
        if now == 14.0:
            written_by(tmp_path, "login-2/5/6", 2)

    time = Time(count_once)
    written_by(tmp_path, "login-2/5/6", 1)
    with pytest.raises(AgentElsewhere, match="Your agent runs on login-2"):
        lease_by(time, tmp_path).acquire()
    assert time.now == 14.0
    assert json.loads((tmp_path / "agent.json").read_text())["count"] == 2


def test_one_that_is_given_back_while_it_is_watched_is_taken_at_once(tmp_path: Path) -> None:
    time = Time(lambda _: (tmp_path / "agent.json").unlink(missing_ok=True))
    written_by(tmp_path, "login-2/5/6")
    lease = lease_by(time, tmp_path)
    lease.acquire()
    assert lease.is_held and time.now <= 2.0


def test_each_renewal_counts_and_no_time_is_written_down(tmp_path: Path) -> None:
    lease = Lease(tmp_path)
    lease.acquire()
    counts = []
    for _ in range(3):
        lease.renew("http://127.0.0.1:1/")
        content = json.loads((tmp_path / "agent.json").read_text())
        counts.append(content["count"])
        assert set(content) == {"process", "count", "url", "token"}
    assert counts == sorted(set(counts)) and len(counts) == 3


def test_whoever_lost_it_learns_so_and_takes_nothing_back(tmp_path: Path) -> None:
    lease = Lease(tmp_path)
    lease.acquire()
    written_by(tmp_path, "login-2/5/6")
    assert not lease.renew("http://127.0.0.1:1/")
    lease.release()
    assert json.loads((tmp_path / "agent.json").read_text())["process"] == "login-2/5/6"


def test_a_lease_that_cannot_be_read_is_not_lost_and_not_free(tmp_path: Path) -> None:
    lease, file, aside = Lease(tmp_path), tmp_path / "agent.json", tmp_path / "aside"
    lease.acquire()
    file.rename(aside)
    file.symlink_to(file)  # The operating system refuses to open it, as it does without descriptors.
    with pytest.raises(OSError, match="symbolic links"):
        lease.renew("http://127.0.0.1:1/")
    with pytest.raises(OSError, match="symbolic links"):
        Lease(tmp_path).acquire()
    lease.release()
    assert file.is_symlink()
    aside.replace(file)
    assert lease.renew("http://127.0.0.1:1/")


def test_what_makes_no_sense_is_nobodys(tmp_path: Path) -> None:
    write_json(tmp_path / "agent.json", {"process": "?", "count": 1})
    assert holder(tmp_path) is None
    Lease(tmp_path).acquire()


def test_one_that_was_taken_since_the_look_is_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = lease_module.holder

    def look_then_lose(folder: Path, file: str = "agent.json") -> lease_module.LeaseHolder | None:
        if file == "agent.json" and not (folder / file).exists():
            written_by(folder, "login-2/5/6")  # Somebody else takes it right after this look.
            return None
        return looked(folder, file)

    monkeypatch.setattr(lease_module, "holder", look_then_lose)
    with pytest.raises(AgentRunning, match="at the same time"):
        Lease(tmp_path).acquire()
    assert [path.name for path in tmp_path.iterdir()] == ["agent.json"]
    assert json.loads((tmp_path / "agent.json").read_text())["process"] == "login-2/5/6"
