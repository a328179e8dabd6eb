"""Jobs on Slurm, submitted as the person who asks.

Here: SlurmScheduler.
Not here: the batch script (script), what squeue's lines mean (squeue).

A job is found by its name, which has our id, not by Slurm's number: so it is found also when whoever submitted it died
before the number could be written down, and when the number was given to another job since.
"""

import getpass
import os
import subprocess
from collections.abc import Iterable

from pellucid.errors import InvalidInput, PellucidError, SchedulerUnreachable
from pellucid.jobs import squeue
from pellucid.jobs.job import LOG, SCRIPT, Job, Submitted, exit_code, write_private
from pellucid.jobs.local import ended_with
from pellucid.jobs.script import NAME, batch_script
from pellucid.jobs.site import Site
from pellucid.jobs.states import State, last_lines

PATIENCE_S = 30.0
# Times as seconds since 1970: in Slurm's own format they would have no time zone.
CLOCK = {"SLURM_TIME_FORMAT": "%s"}
UNREACHABLE = ("unable to contact", "connect failure", "socket timed out", "communication connection", "zero bytes")


class SlurmScheduler:
    """Keeps nothing: what there is to know, Slurm and the jobs' folders know."""

    def submit(self, job: Job, site: Site) -> str:
        text = batch_script(job, site)
        write_private(job.folder / SCRIPT, text)
        return _run("sbatch", "--parsable", given=text).strip().partition(";")[0]

    def states(self, jobs: Iterable[Submitted]) -> dict[str, State]:
        try:
            everybody = squeue.parse(_run("squeue", "--noheader", "--states=all", f"--format={squeue.FORMAT}"))
        except PellucidError as error:  # Whatever the reason: not to know is not to be gone.
            return {job.id: State("unknown", error.what) for job in jobs}
        by_name = {line.name: line for line in everybody}
        return {job.id: _state(job, by_name.get(NAME.format(id=job.id)), everybody) for job in jobs}

    def cancel(self, job: Submitted, is_urgent: bool = False) -> None:
        name = NAME.format(id=job.id)
        _run("scancel", f"--user={getpass.getuser()}", f"--name={name}")


def _state(job: Submitted, line: squeue.Line | None, everybody: list[squeue.Line]) -> State:
    if line is None:
        return _forgotten(job)
    state = squeue.state_of(line, everybody)
    code = exit_code(job.folder)
    if state.phase == "failed" and code is not None:
        return ended_with(job, code)
    if state.phase == "failed":
        return State("failed", state.reason, node=state.node, log=last_lines(job.folder / LOG))
    return state


def _forgotten(job: Submitted) -> State:
    """Slurm forgets a job some minutes after its end; what it left behind says how it ended."""
    code = exit_code(job.folder)
    if code is not None:
        return ended_with(job, code)
    if not job.handle:
        return State("failed", "It was never submitted.")
    return State("lost", "Slurm does not know it any more.", log=last_lines(job.folder / LOG))


def _run(*command: str, given: str | None = None) -> str:
    """What a command of Slurm's prints. Its refusals are for the person who asked."""
    try:
        done = subprocess.run(
            command, input=given, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
            env={**os.environ, **CLOCK}, stdin=subprocess.DEVNULL if given is None else None,
        )  # fmt: skip
    except FileNotFoundError as error:
        do = "Install Slurm's client commands here, or set scheduler to local in the site file."
        raise InvalidInput(f"There is no {command[0]} on this machine.", do=do) from error
    except subprocess.TimeoutExpired as error:
        raise SchedulerUnreachable("Slurm", f"{command[0]} gave no answer within {PATIENCE_S:.0f} s") from error
    if done.returncode == 0:
        return done.stdout
    said = done.stderr.strip()
    if any(word in said.lower() for word in UNREACHABLE):
        raise SchedulerUnreachable("Slurm", said)
    do = "Ask for less or for something else, or look at what the site has with sinfo."
    raise InvalidInput(f"Slurm refused: {_sentence(said)}.", do=do)


def _sentence(said: str) -> str:
    """What Slurm said, without the names of its programs.

    >>> _sentence("sbatch: error: Batch job submission failed: Requested node configuration is not available")
    'Batch job submission failed: Requested node configuration is not available'
    """
    lines = [line.partition("error: ")[2] or line for line in said.splitlines()]
    return "; ".join(line.strip() for line in lines).rstrip(".") or "it gave no reason"
