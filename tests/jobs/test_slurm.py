"""Against a real Slurm: queue, cancel, limits, refusals, an absent controller."""

from dataclasses import replace
from pathlib import Path

import pytest

from pellucid.errors import InvalidInput, SchedulerUnreachable
from pellucid.jobs.job import SubmittedJob
from pellucid.jobs.job_state import JobState
from pellucid.jobs.resources import Resources
from pellucid.jobs.site import Site
from pellucid.jobs.slurm import SlurmScheduler
from tests.jobs.conftest import Start
from tests.slurm_cluster import SlurmCluster
from tests.waiting import wait_until

SITE = Site("slurm", "main", time_limit_minutes=10)
GPU = Resources(gpus=1, memory_bytes=100 * 2**20)


@pytest.fixture(autouse=True)
def _on_slurm(slurm: SlurmCluster) -> None:
    """Every test here."""


def test_a_third_job_waits_with_a_reason_and_a_time_and_starts_when_there_is_room(start: Start) -> None:
    scheduler = SlurmScheduler()
    first, second, third = (start(scheduler, SITE, GPU) for _ in range(3))
    running = first.until("running")
    assert running.node == "localhost" and running.ends_at is not None
    second.until("running")
    wait_until(lambda: third.state.expected_start is not None and third.state.reason == "Resources")
    assert (third.state.phase, third.state.place) == ("queued", 1)
    assert abs((third.state.expected_start or 0) - running.ends_at) < 10
    first.cancel()
    assert first.until("ended").reason == "Cancelled."
    third.until("running")
    for job in (second, third):
        job.until_begun()
        job.let_go()
        assert job.until("ended").reason == "Finished."


def test_a_waiting_job_is_cancelled(start: Start, slurm: SlurmCluster) -> None:
    slurm.command("scontrol", "update", "nodename=localhost", "state=drain", "reason=test")
    try:
        job = start(SlurmScheduler(), SITE)
        assert job.until("queued").place == 1
        wait_until(
            lambda: "Drained" in job.state.reason or "DOWN" in job.state.reason or "Resources" in job.state.reason
        )
        job.cancel()
        assert job.until("ended").reason == "Cancelled."
    finally:
        slurm.command("scontrol", "update", "nodename=localhost", "state=resume")


def test_what_can_never_run_is_refused_in_slurms_words(start: Start) -> None:
    with pytest.raises(InvalidInput, match="Requested node configuration is not available"):
        start(SlurmScheduler(), SITE, Resources(gpus=9))
    with pytest.raises(InvalidInput, match="invalid partition"):
        start(SlurmScheduler(), replace(SITE, partition="moon"))


def test_a_job_that_fails_shows_its_log(start: Start) -> None:
    job = start(SlurmScheduler(), SITE, command=("/bin/sh", "-c", "echo no such scan; exit 5"))
    assert job.until("failed") == JobState("failed", "Failed with exit code 5.", log=("no such scan",))


def test_it_is_found_without_its_number_and_its_script_is_spooled_without_surprise(
    start: Start, slurm: SlurmCluster
) -> None:
    job = start(SlurmScheduler(), SITE)
    job.until("running")
    spooled = slurm.command("scontrol", "write", "batch_script", job.submitted.handle, "-")
    assert spooled.strip() == (job.folder / "script.sh").read_text().strip()
    known = replace(job.submitted, handle="")
    assert SlurmScheduler().states([known])[known.id].phase == "running"
    SlurmScheduler().cancel(known)
    job.until("ended")


def submit_as_another_user(slurm: SlurmCluster, name: str, *options: str) -> str:
    """A job that waits for ever, of nobody's; its number."""
    words = ("--parsable", f"--job-name={name}", "--chdir=/", "--output=/dev/null", "--hold", *options)
    return slurm.command("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sbatch", *words, "--wrap=true")


def test_another_users_job_of_the_same_name_is_neither_seen_nor_stopped(start: Start, slurm: SlurmCluster) -> None:
    scheduler = SlurmScheduler()
    job = start(scheduler, SITE)
    job.until("running")
    other = submit_as_another_user(slurm, f"pellucid-{job.submitted.id}").strip()
    unnumbered = replace(job.submitted, handle="")
    for known in (job.submitted, unnumbered):
        assert scheduler.states([known])[known.id].phase == "running"
    scheduler.cancel(unnumbered)
    job.until("ended")
    assert slurm.command("squeue", "--noheader", f"--jobs={other}", "--format=%T").strip() == "PENDING"


def test_another_users_name_cannot_forge_a_line(start: Start, slurm: SlurmCluster) -> None:
    scheduler = SlurmScheduler()
    slurm.command("scontrol", "update", "nodename=localhost", "state=drain", "reason=test")
    try:
        job = start(scheduler, SITE)
        handle, name = job.submitted.handle, f"pellucid-{job.submitted.id}"
        forged = "\x1f".join([handle, name, "COMPLETED", "None", "0", "0", "elsewhere", "0", "main"])
        submit_as_another_user(slurm, f"x\n{forged}\n{forged}\n")
        assert job.state.phase == "queued"
    finally:
        slurm.command("scontrol", "update", "nodename=localhost", "state=resume")


def test_a_number_that_is_now_another_job_is_not_taken_for_this_one(start: Start) -> None:
    scheduler = SlurmScheduler()
    first, second = start(scheduler, SITE), start(scheduler, SITE)
    second.until("running")
    reused = replace(first.submitted, handle=second.submitted.handle)
    assert scheduler.states([reused])[reused.id].phase == "lost"
    scheduler.cancel(reused)
    assert second.state.phase == "running"


def test_stopping_what_has_ended_or_is_forgotten_is_no_error(start: Start, tmp_path: Path) -> None:
    scheduler = SlurmScheduler()
    job = start(scheduler, SITE, command=("/bin/true",))
    job.until("ended")
    job.cancel()
    scheduler.cancel(SubmittedJob("gone", "999999", tmp_path))
    scheduler.cancel(SubmittedJob("gone", "", tmp_path))
    assert job.state.phase == "ended"


def test_an_absent_controller_means_unknown_and_nothing_is_lost(start: Start, slurm: SlurmCluster) -> None:
    job = start(SlurmScheduler(), SITE)
    job.until_begun()
    slurm.stop_controller()
    try:
        state = job.state
        assert state.phase == "unknown" and "Unable to contact slurm controller" in state.reason
        with pytest.raises(SchedulerUnreachable, match="Unable to contact slurm controller"):
            start(SlurmScheduler(), SITE)
        with pytest.raises(SchedulerUnreachable):
            job.cancel()
    finally:
        slurm.start_controller()
    job.until("running")
    job.let_go()
    job.until("ended")


def test_what_slurm_forgot(tmp_path: Path) -> None:
    scheduler = SlurmScheduler()
    assert scheduler.states([SubmittedJob("gone", "999999", tmp_path)])["gone"].phase == "lost"
    assert scheduler.states([SubmittedJob("gone", "", tmp_path)])["gone"].reason == "Never submitted."
    (tmp_path / "exit").write_text("0\n")
    assert scheduler.states([SubmittedJob("gone", "999999", tmp_path)])["gone"].phase == "ended"
