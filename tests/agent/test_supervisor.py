"""What follows from what a scheduler says, and what survives the end of an agent."""

import errno
import json
from dataclasses import replace
from pathlib import Path

import pytest

from pellucid.agent.audit import Audit
from pellucid.agent.jobs.records import JobRecord, RecordStore
from pellucid.agent.jobs.requests import TaskRequest, ViewerRequest
from pellucid.agent.jobs.supervisor import KEPT_S, SHUTDOWN_TIMEOUT_S, JobSupervisor, effective_state
from pellucid.errors import InvalidInput, NotFound, SchedulerUnreachable
from pellucid.jobs.job import Job, SubmittedJob
from pellucid.jobs.job_state import JobState
from pellucid.jobs.private_files import write_json
from pellucid.jobs.resources import Resources
from pellucid.jobs.site import Site
from tests.agent.fake_scheduler import FakeScheduler
from tests.clock import Clock

SITE = Site("slurm", poll_s=0.0)
VIEWER = JobRecord("0123456789", "viewer", "v", 0.0, "slurm", Resources(), "7", JobState("queued"))


@pytest.mark.parametrize(
    ("job", "has_address", "phase", "last"),
    [
        (JobState("queued", "Resources", 2), False, "queued", ""),
        (JobState("running"), False, "starting", ""),
        (JobState("running"), True, "running", ""),
        (JobState("queued"), True, "running", ""),
        (JobState("unknown", "no answer"), True, "unknown", "queued"),
        (JobState("failed", "Failed with exit code 1."), True, "failed", ""),
        (JobState("lost"), False, "lost", "queued"),
    ],
)
def test_the_state_of_a_viewer(job: JobState, has_address: bool, phase: str, last: str) -> None:
    state = effective_state(VIEWER, job, has_address)
    assert (state.phase, state.last) == (phase, last)


def test_what_was_known_before_stays_known_while_nothing_is() -> None:
    unsure = replace(VIEWER, state=JobState("unknown", last="running"))
    assert effective_state(unsure, JobState("unknown", "still no answer"), False).last == "running"


def test_what_was_stopped_ends_by_that() -> None:
    stopped = replace(VIEWER, cancelled_at=5.0)
    assert effective_state(stopped, JobState("running"), True).phase == "ending"
    assert effective_state(stopped, JobState("failed", "Killed."), True) == JobState("ended", "It was stopped.")


def test_what_was_stopped_and_has_ended_is_over_before_the_scheduler_says_so(
    scheduler: FakeScheduler, tmp_path: Path
) -> None:
    supervisor = JobSupervisor(tmp_path, Site("slurm", poll_s=60.0))
    id = supervisor.start(ViewerRequest()).id
    scheduler.known[id] = JobState("running", node="n1")
    supervisor.poll()
    supervisor.cancel(id)
    (tmp_path / id / "exit").write_text("143\n")
    supervisor.poll()
    assert scheduler.questions == 1
    assert supervisor.get(id).state == JobState("ended", "It was stopped.", node="n1")


def test_another_agent_finds_everything(scheduler: FakeScheduler, tmp_path: Path) -> None:
    first = JobSupervisor(tmp_path, SITE)
    ids = [first.start(ViewerRequest(name=name)).id for name in ("queued", "starting", "running", "gone")]
    scheduler.known |= dict(
        zip(
            ids,
            [JobState("queued", "Resources"), JobState("running"), JobState("running"), JobState("lost")],
            strict=True,
        )
    )
    write_json(tmp_path / ids[2] / "address.json", {"host": "n1", "port": 1, "token": "a secret", "certificate": ""})
    second = JobSupervisor(tmp_path, SITE)
    second.poll()
    assert [second.get(id).state.phase for id in ids] == ["queued", "starting", "running", "lost"]
    assert scheduler.questions == 1
    assert second.get(ids[3]).state.last == "queued"
    address = second.address(ids[2])
    assert address is not None and address.host == "n1" and "a secret" not in repr(address)


def test_one_whose_number_was_never_written_down_is_asked_for_all_the_same(
    scheduler: FakeScheduler, tmp_path: Path
) -> None:
    RecordStore(tmp_path).create(replace(VIEWER, handle=""), {})
    scheduler.known[VIEWER.id] = JobState("running")
    supervisor = JobSupervisor(tmp_path, SITE)
    supervisor.poll()
    assert supervisor.get(VIEWER.id).state.phase == "starting"


def test_what_is_refused_leaves_nothing(scheduler: FakeScheduler, tmp_path: Path) -> None:
    scheduler.refusal = InvalidInput("Slurm rejected the job: no.", remedy="Ask for less.")
    supervisor = JobSupervisor(tmp_path, SITE)
    with pytest.raises(InvalidInput, match="Slurm rejected"):
        supervisor.start(ViewerRequest())
    assert list(tmp_path.iterdir()) == [] and supervisor.records == []
    with pytest.raises(NotFound):
        supervisor.cancel("none")


class FullDisk:
    """Records cannot be written while is_full; what a job's folder holds otherwise can."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_full = False
        write = RecordStore.write

        def refuse(store: RecordStore, record: JobRecord) -> None:
            if self.is_full:
                raise OSError(errno.ENOSPC, "No space left on device")
            write(store, record)

        monkeypatch.setattr(RecordStore, "write", refuse)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> FullDisk:
    return FullDisk(monkeypatch)


def test_a_viewer_whose_number_cannot_be_written_down_is_stopped(
    scheduler: FakeScheduler, disk: FullDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervisor = JobSupervisor(tmp_path, SITE)
    submit = scheduler.submit

    def submit_and_fill(job: Job, site: Site) -> str:
        disk.is_full = True
        return submit(job, site)

    monkeypatch.setattr(scheduler, "submit", submit_and_fill)
    with pytest.raises(OSError, match="No space left"):
        supervisor.start(ViewerRequest())
    (job,) = scheduler.jobs
    assert scheduler.cancelled == [(job.id, True)]
    assert supervisor.records == [] and list(tmp_path.iterdir()) == []


def test_one_that_cannot_be_stopped_either_stays_listed(
    scheduler: FakeScheduler, disk: FullDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervisor = JobSupervisor(tmp_path, SITE)
    submit = scheduler.submit

    def submit_and_fail(job: Job, site: Site) -> str:
        disk.is_full = True
        return submit(job, site)

    def refuse(job: SubmittedJob, is_urgent: bool = False) -> None:
        raise SchedulerUnreachable("Slurm", "no answer")

    monkeypatch.setattr(scheduler, "submit", submit_and_fail)
    monkeypatch.setattr(scheduler, "cancel", refuse)
    with pytest.raises(OSError, match="No space left"):
        supervisor.start(ViewerRequest())
    (record,) = supervisor.records
    assert record.handle == "1"
    disk.is_full = False
    supervisor.poll()
    assert [one.handle for one in JobSupervisor(tmp_path, SITE).records] == ["1"]


def test_a_record_that_cannot_be_made_leaves_nothing(scheduler: FakeScheduler, disk: FullDisk, tmp_path: Path) -> None:
    disk.is_full = True
    supervisor = JobSupervisor(tmp_path, SITE)
    with pytest.raises(OSError, match="No space left"):
        supervisor.start(ViewerRequest())
    assert scheduler.jobs == [] and supervisor.records == [] and list(tmp_path.iterdir()) == []


def test_on_a_full_disk_everything_is_still_watched_and_stopped_and_written_later(
    scheduler: FakeScheduler, disk: FullDisk, tmp_path: Path
) -> None:
    seen: list[str] = []
    supervisor = JobSupervisor(tmp_path, SITE, lambda record: seen.append(f"{record.name} {record.state.phase}"))
    ids = [supervisor.start(ViewerRequest(name=name)).id for name in ("a", "b")]
    disk.is_full = True
    scheduler.known |= {ids[0]: JobState("running", node="n1"), ids[1]: JobState("failed", "Failed with exit code 1.")}
    supervisor.poll()
    supervisor.cancel(ids[0])
    assert [supervisor.get(id).state.phase for id in ids] == ["ending", "failed"]
    assert scheduler.cancelled == [(ids[0], False)]
    assert seen[-3:] == ["a starting", "b failed", "a ending"]
    disk.is_full = False
    supervisor.poll()
    assert {one.name: one.state.phase for one in JobSupervisor(tmp_path, SITE).records} == {
        "a": "ending",
        "b": "failed",
    }


@pytest.mark.parametrize(
    "content",
    ['{"id": ' + "[" * 100_000 + "]" * 100_000 + "}", '{"a": ' * 50 + "1" + "}" * 50, '{"id": 1e999}', '{"id": NaN}'],
    ids=["very deep", "deep", "infinite", "not a number"],
)
def test_a_damaged_record_does_not_stop_the_agent(scheduler: FakeScheduler, tmp_path: Path, content: str) -> None:
    first = JobSupervisor(tmp_path, SITE)
    ids = [first.start(ViewerRequest()).id for _ in range(3)]
    (tmp_path / ids[0] / "record.json").write_text(content)
    for name in ("address.json", "progress.json", "saved.json", "reason.json"):
        (tmp_path / ids[1] / name).write_text(content)
    scheduler.known |= {ids[1]: JobState("ended"), ids[2]: JobState("running")}
    second = JobSupervisor(tmp_path, SITE)
    second.poll()
    assert {record.id: record.state.phase for record in second.records} == {ids[1]: "ended", ids[2]: "starting"}


def test_a_number_too_large_for_a_time_is_a_damaged_record(scheduler: FakeScheduler, tmp_path: Path) -> None:
    id = JobSupervisor(tmp_path, SITE).start(ViewerRequest()).id
    path = tmp_path / id / "record.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"created_at": 10**400}))
    assert JobSupervisor(tmp_path, SITE).records == []


def test_the_audit_of_a_full_disk_is_written_later(tmp_path: Path) -> None:
    (tmp_path / "audit").mkdir()
    audit = Audit(tmp_path / "audit" / "audit.jsonl")
    (tmp_path / "audit").rename(tmp_path / "away")
    audit.note(VIEWER)
    (tmp_path / "away").rename(tmp_path / "audit")
    audit.note(replace(VIEWER, state=JobState("running")))
    lines = (tmp_path / "audit" / "audit.jsonl").read_text().splitlines()
    assert [json.loads(line)["what"] for line in lines] == ["queued", "running"]


def test_what_does_not_end_is_made_to(scheduler: FakeScheduler, tmp_path: Path) -> None:
    clock = Clock()
    supervisor = JobSupervisor(tmp_path, SITE, clock=clock)
    id = supervisor.start(ViewerRequest()).id
    scheduler.known[id] = JobState("running")
    supervisor.cancel(id)
    supervisor.poll()
    assert supervisor.get(id).state.phase == "ending"
    clock.now += SHUTDOWN_TIMEOUT_S
    supervisor.poll()
    assert scheduler.cancelled == [(id, False), (id, True)]
    scheduler.known[id] = JobState("ended", "Cancelled.")
    supervisor.poll()
    supervisor.cancel(id)
    assert supervisor.get(id).state == JobState("ended", "It was stopped.") and len(scheduler.cancelled) == 2


def test_what_is_over_is_kept_for_a_week(scheduler: FakeScheduler, tmp_path: Path) -> None:
    clock = Clock()
    supervisor = JobSupervisor(tmp_path, SITE, clock=clock)
    id = supervisor.start(ViewerRequest()).id
    scheduler.known[id] = JobState("ended", "Finished.")
    supervisor.poll()
    clock.now += KEPT_S
    supervisor.poll()
    assert [record.id for record in supervisor.records] == [id]
    clock.now += 1
    supervisor.poll()
    assert supervisor.records == [] and list(tmp_path.iterdir()) == []


def test_a_hundred_that_wait_do_not_slow_the_next(scheduler: FakeScheduler, tmp_path: Path) -> None:
    supervisor = JobSupervisor(tmp_path, SITE)
    for _ in range(120):
        supervisor.start(ViewerRequest())
    supervisor.poll()
    assert scheduler.questions == 1
    assert {record.state.place for record in supervisor.records} == {3}
    assert supervisor.start(ViewerRequest()).state.phase == "queued"


def test_a_task_runs_in_its_folder_and_says_nothing_of_itself_in_its_script(
    scheduler: FakeScheduler, tmp_path: Path
) -> None:
    supervisor = JobSupervisor(tmp_path, SITE)
    record = supervisor.start(TaskRequest(("convert", "a.npy", "b.zarr"), "/data/my scans"))
    (job,) = scheduler.jobs
    assert job.command[:2] == ("/usr/bin/env", "--chdir=/data/my scans")
    assert job.command[3:8] == ("-P", "-m", "pellucid", "convert", "a.npy")
    assert job.command[-1] == str(tmp_path / record.id / "progress.json")
    assert record.name == "convert a.npy b.zarr"
