"""Jobs as processes of this machine. They outlive the program that started them.

Here: LocalScheduler.
Not here: telling processes apart (process_identity), the script (batch_script).
"""

import os
import signal
import subprocess
from collections.abc import Iterable
from contextlib import suppress

from pellucid.jobs.batch_script import TERMINATED, batch_script
from pellucid.jobs.job import LOG, SCRIPT, STARTED, WAITING, Job, SubmittedJob, exit_code
from pellucid.jobs.job_state import JobState, last_lines
from pellucid.jobs.private_files import write_private
from pellucid.jobs.process_identity import ProcessId
from pellucid.jobs.site import Site

INHERITED = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "TZ")


class LocalScheduler:
    """There is no queue: every job starts at once, or when it is its turn among those that were started with it."""

    def __init__(self) -> None:
        self._children: list[subprocess.Popen[bytes]] = []

    def submit(self, job: Job, site: Site) -> str:
        script = job.folder / SCRIPT
        write_private(script, batch_script(job, site))
        if job.serial_lock is not None:  # Until its script takes this away, it waits.
            write_private(job.folder / WAITING, "")
        log = os.open(job.folder / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        environment = {name: os.environ[name] for name in INHERITED if name in os.environ}
        try:
            # A session of its own: no terminal, and no Ctrl-C, reaches it.
            child = subprocess.Popen(
                ["/bin/bash", str(script)], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, env=environment,
            )  # fmt: skip
        finally:
            os.close(log)
        self._children.append(child)
        return str(ProcessId.of(child.pid))

    def states(self, jobs: Iterable[SubmittedJob]) -> dict[str, JobState]:
        # Those that ended are collected, or their numbers would stay taken.
        self._children = [child for child in self._children if child.poll() is None]
        return {job.id: _state(job) for job in jobs}

    def cancel(self, job: SubmittedJob, is_urgent: bool = False) -> None:
        process = _process(job)
        if process is not None and process.is_here and process.is_alive:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL if is_urgent else signal.SIGTERM)


def _state(job: SubmittedJob) -> JobState:
    code = exit_code(job.folder)
    if code is not None:
        return ended_with(job, code)
    process = _process(job)
    if process is None:
        return JobState("failed", "Never started.", log=last_lines(job.folder / LOG))
    if not process.is_here:
        return JobState("unknown", f"Running on {process.host}.", node=process.host, last="running")
    if process.is_alive:
        is_waiting = (job.folder / WAITING).exists()
        return (
            JobState("queued", "Waiting for other tasks of the batch.")
            if is_waiting
            else JobState("running", node=process.host)
        )
    code = exit_code(job.folder)  # It may have come to its end since the first look.
    return JobState("failed", "Killed.", log=last_lines(job.folder / LOG)) if code is None else ended_with(job, code)


def ended_with(job: SubmittedJob, code: int) -> JobState:
    """The state of a job whose command ended in order."""
    if code in (0, TERMINATED):
        return JobState("ended", "Finished." if code == 0 else "Cancelled.")
    return JobState("failed", f"Failed with exit code {code}.", log=last_lines(job.folder / LOG))


def _process(job: SubmittedJob) -> ProcessId | None:
    """By its handle; where that was never written down, by what the script wrote."""
    if not job.handle:
        return ProcessId.written(job.folder / STARTED)
    try:
        return ProcessId.parse(job.handle)
    except ValueError:
        return None
