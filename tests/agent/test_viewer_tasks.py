"""Tasks that a viewer asks its agent for, through files."""

import json
from pathlib import Path

import pytest

from pellucid.agent.jobs.requests import Overrides, ViewerRequest
from pellucid.agent.jobs.supervisor import JobSupervisor
from pellucid.agent.jobs.viewer_tasks import ViewerTask, ViewerTasks, take_requests
from pellucid.errors import InvalidInput, NotFound
from pellucid.formats.local_files import VARIABLE
from pellucid.instance.tasks.runner import CommandRequest
from pellucid.jobs.job import Job
from pellucid.jobs.job_state import JobState
from pellucid.jobs.site import Site
from tests.agent.fake_scheduler import FakeScheduler

SITE = Site("slurm", poll_s=0.0)
COMMAND = CommandRequest("Reconstructing a", ("reconstruct", "/a.h5"), {"--recipe": '{"recipe": {}}'}, ("/data",))


@pytest.fixture
def supervisor(scheduler: FakeScheduler, tmp_path: Path) -> JobSupervisor:
    supervisor = JobSupervisor(tmp_path, SITE)
    supervisor.start(ViewerRequest(gpus=2, memory_bytes=7, cores=3))
    return supervisor


@pytest.fixture
def viewer(supervisor: JobSupervisor, tmp_path: Path) -> ViewerTasks:
    (record,) = supervisor.records
    return ViewerTasks(tmp_path / record.id, is_here=False, overrides=Overrides())


def task_job(scheduler: FakeScheduler, task: ViewerTask) -> Job:
    return next(job for job in scheduler.jobs if job.id == task.id)


def test_a_request_becomes_a_job_with_the_viewers_resources(
    supervisor: JobSupervisor, viewer: ViewerTasks, scheduler: FakeScheduler, tmp_path: Path
) -> None:
    task = viewer.submit(COMMAND)
    assert task.look().state is None
    for _ in range(2):  # It is started once.
        take_requests(supervisor, tmp_path)
    job = task_job(scheduler, task)
    assert (job.resources.gpus, job.resources.memory_bytes, job.resources.cores) == (2, 7, 3)
    assert job.command[2] == f'{VARIABLE}=["/data"]'
    command = job.command[job.command.index("pellucid") + 1 :]
    assert command[:3] == ("reconstruct", "/a.h5", "--recipe")
    recipe = Path(command[3])
    assert (recipe.read_text(), recipe.stat().st_mode & 0o077) == ('{"recipe": {}}', 0)
    assert len(scheduler.jobs) == 2
    supervisor.poll()
    assert task.look().state == JobState("queued", "Priority", place=3)
    assert task.log == tmp_path / task.id / "log.txt"


def test_an_agent_that_ended_before_it_removed_a_request_starts_it_once(
    supervisor: JobSupervisor, viewer: ViewerTasks, scheduler: FakeScheduler, tmp_path: Path
) -> None:
    task = viewer.submit(COMMAND)
    written = (task.folder / f"{task.id}.request").read_text()
    take_requests(supervisor, tmp_path)
    (task.folder / f"{task.id}.request").write_text(written)
    take_requests(JobSupervisor(tmp_path, SITE), tmp_path)
    assert [job.id for job in scheduler.jobs].count(task.id) == 1
    assert not (task.folder / f"{task.id}.request").exists()


def test_a_task_is_cancelled(
    supervisor: JobSupervisor, viewer: ViewerTasks, scheduler: FakeScheduler, tmp_path: Path
) -> None:
    running, waiting = viewer.submit(COMMAND), viewer.submit(COMMAND)
    waiting.cancel()
    take_requests(supervisor, tmp_path)
    running.cancel()
    take_requests(supervisor, tmp_path)
    assert scheduler.cancelled == [(running.id, False)]
    with pytest.raises(NotFound):
        supervisor.get(waiting.id)
    assert waiting.look().state is None


def test_a_refusal_reaches_the_viewer(
    supervisor: JobSupervisor, viewer: ViewerTasks, scheduler: FakeScheduler, tmp_path: Path
) -> None:
    scheduler.refusal = InvalidInput("Slurm rejected the job: no such partition.", remedy="Request less.")
    refused, malformed = viewer.submit(COMMAND), viewer.submit(COMMAND)
    (malformed.folder / f"{malformed.id}.request").write_text(json.dumps({"arguments": ["doctor"], "folder": "/"}))
    take_requests(supervisor, tmp_path)
    seen = refused.look()
    assert seen.is_over and type(seen.refusal) is InvalidInput
    assert (seen.refusal.what, seen.refusal.remedy) == ("Slurm rejected the job: no such partition.", "Request less.")
    assert "doctor" in str(malformed.look().refusal)


def test_progress_and_end_are_read_from_the_record(
    supervisor: JobSupervisor, viewer: ViewerTasks, scheduler: FakeScheduler, tmp_path: Path
) -> None:
    task = viewer.submit(COMMAND)
    take_requests(supervisor, tmp_path)
    progress = {"name": "Reconstructing", "fraction": 0.25, "text": "", "result": "", "error": None}
    (tmp_path / task.id / "progress.json").write_text(json.dumps(progress))
    scheduler.known[task.id] = JobState("running")
    supervisor.poll()
    seen = task.look()
    assert seen.progress is not None and seen.progress.fraction == 0.25 and not seen.is_over
    scheduler.known[task.id] = JobState("ended")
    supervisor.poll()
    assert task.look().is_over
