"""Jobs on Slurm, submitted as the user who requests them.

Here: SlurmScheduler.
Not here: the batch script (batch_script), what squeue's lines mean (squeue).

A job is one of this user's, with the number that Slurm gave it and the name that has our id: Slurm uses numbers again,
and any user may give a job any name. Where the number was never written down, because the process that submitted the
job died, user and name have to do.
"""

import os
import subprocess
from collections.abc import Iterable

from pellucid.errors import InvalidInput, PellucidError, SchedulerUnreachable
from pellucid.jobs import squeue
from pellucid.jobs.batch_script import NAME, batch_script
from pellucid.jobs.job import LOG, SCRIPT, Job, SubmittedJob, exit_code
from pellucid.jobs.job_state import JobState, last_lines
from pellucid.jobs.local import ended_with
from pellucid.jobs.private_files import write_private
from pellucid.jobs.site import Site

TIMEOUT_S = 30.0
# Times as seconds since 1970: in Slurm's own format they would have no time zone.
CLOCK = {"SLURM_TIME_FORMAT": "%s"}


class SlurmScheduler:
    """Keeps nothing: what there is to know, Slurm and the jobs' folders know."""

    def submit(self, job: Job, site: Site) -> str:
        text = batch_script(job, site)
        write_private(job.folder / SCRIPT, text)
        return _run("sbatch", "--parsable", given=text).strip().partition(";")[0]

    def states(self, jobs: Iterable[SubmittedJob]) -> dict[str, JobState]:
        jobs = list(jobs)
        try:
            own = _listed(squeue.FORMAT, f"--user={os.geteuid()}")
            found = {job.id: _line(job, own) for job in jobs}
            has_waiting = any(line is not None and squeue.is_waiting(line) for line in found.values())
            all_jobs = _listed(squeue.FORMAT_WITHOUT_NAMES) if has_waiting else []
        except PellucidError as error:  # Whatever the reason: not to know is not to be gone.
            return {job.id: JobState("unknown", error.what) for job in jobs}
        return {job.id: _state(job, found[job.id], all_jobs) for job in jobs}

    def cancel(self, job: SubmittedJob, is_urgent: bool = False) -> None:
        # All three have to match. Without a number, every job of this user by this name.
        number = (job.handle,) if job.handle else ()
        try:
            _run("scancel", f"--user={os.geteuid()}", f"--name={NAME.format(id=job.id)}", *number)
        except InvalidInput:
            line = _line(job, _listed(squeue.FORMAT, f"--user={os.geteuid()}"))
            if line is not None and not squeue.is_over(line):
                raise


def _listed(format: str, *choice: str) -> list[squeue.SqueueRow]:
    return squeue.parse(_run("squeue", "--noheader", "--states=all", f"--format={format}", *choice))


def _line(job: SubmittedJob, own: list[squeue.SqueueRow]) -> squeue.SqueueRow | None:
    """The line of a job, among those of this user."""
    named = [line for line in own if line.name == NAME.format(id=job.id)]
    return next((line for line in named if not job.handle or line.id == job.handle), None)


def _state(job: SubmittedJob, line: squeue.SqueueRow | None, all_jobs: list[squeue.SqueueRow]) -> JobState:
    if line is None:
        return _forgotten(job)
    state = squeue.state_of(line, all_jobs)
    code = exit_code(job.folder)
    if state.phase == "failed" and code is not None:
        return ended_with(job, code)
    if state.phase == "failed":
        return JobState("failed", state.reason, node=state.node, log=last_lines(job.folder / LOG))
    return state


def _forgotten(job: SubmittedJob) -> JobState:
    """Slurm forgets a job some minutes after its end; what it left behind says how it ended."""
    code = exit_code(job.folder)
    if code is not None:
        return ended_with(job, code)
    if not job.handle:
        return JobState("failed", "Never submitted.")
    return JobState("lost", "No longer known to Slurm.", log=last_lines(job.folder / LOG))


def _run(*command: str, given: str | None = None) -> str:
    """What a command of Slurm's prints. Its refusals are for the user who asked.

    Every failure has the same exit code, and words for users: whether the controller responds is asked separately.
    """
    done = _completed(*command, given=given)
    if done.returncode == 0:
        return done.stdout
    text = done.stderr.strip()
    if _completed("scontrol", "ping").returncode != 0:
        raise SchedulerUnreachable("Slurm", text)
    remedy = "Request less, or list the resources of the site with sinfo."
    raise InvalidInput(f"Slurm rejected the job: {_sentence(text)}.", remedy=remedy)


def _completed(*command: str, given: str | None = None) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(
            command, input=given, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
            env={**os.environ, **CLOCK}, stdin=subprocess.DEVNULL if given is None else None,
        )  # fmt: skip
    except FileNotFoundError as error:
        remedy = "Install Slurm's client commands here, or set scheduler to local in the site file."
        raise InvalidInput(f"The command {command[0]} was not found.", remedy=remedy) from error
    except subprocess.TimeoutExpired as error:
        raise SchedulerUnreachable("Slurm", f"{command[0]} did not respond within {TIMEOUT_S:.0f} s") from error


def _sentence(text: str) -> str:
    """What Slurm said, without the names of its programs.

    >>> _sentence("sbatch: error: Batch job submission failed: Requested node configuration is not available")
    'Batch job submission failed: Requested node configuration is not available'
    """
    lines = [line.partition("error: ")[2] or line for line in text.splitlines()]
    return "; ".join(line.strip() for line in lines).rstrip(".") or "it gave no reason"
