"""All viewers and tasks of one user: started, watched, stopped.

Here: JobSupervisor: starts, watches and ends instances and tasks, and never loses one.
Not here: files (records), schedulers (jobs), who asks (app).

Methods may take seconds where a scheduler does; any thread may call them.
"""

import logging
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

from pellucid.agent.jobs import environment
from pellucid.agent.jobs.records import PROGRESS, REASON, TURN, JobOutputs, JobRecord, RecordStore, ViewerAddress
from pellucid.agent.jobs.requests import JobRequest, TaskRequest, ViewerJobOptions, ViewerRequest
from pellucid.agent.jobs.schedulers import Schedulers
from pellucid.errors import NotFound, PellucidError
from pellucid.formats.local_files import VARIABLE, limit_text
from pellucid.jobs.job import Job, exit_code
from pellucid.jobs.job_state import JobState
from pellucid.jobs.site import Site
from pellucid.python_processes import module_command

log = logging.getLogger(__name__)
SHUTDOWN_TIMEOUT_S = 10.0
"""For ending in order; afterwards a job is made to."""
EAGER_S = 15.0
KEPT_S = 7 * 24 * 3600.0


class JobSupervisor:
    """folder: where the records are. on_change: called from any thread when a state is another than before."""

    def __init__(
        self,
        folder: Path,
        site: Site,
        on_change: Callable[[JobRecord], None] = lambda _: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.site = site
        self._store, self._on_change, self._clock = RecordStore(folder), on_change, clock
        self._records = {record.id: record for record in self._store.all()}
        self.outputs = JobOutputs(self._store)
        self.schedulers = Schedulers(site.poll_s, clock)
        self._lock = threading.RLock()
        self._polling = threading.Lock()

    # Starting and ending

    def start(self, request: JobRequest, id: str = "", batch: str = "") -> JobRecord:
        """Start it, now or when there is room. What is refused leaves nothing behind."""
        site = request.overrides.apply_to(self.site)
        record = JobRecord(
            id or secrets.token_hex(5), "viewer" if isinstance(request, ViewerRequest) else "task", request.title,
            self._clock(), site.scheduler, request.resources(site), batch=batch, scan=request.scan,
        )  # fmt: skip
        content: JobRequest | ViewerJobOptions = request
        if isinstance(request, ViewerRequest):
            content = ViewerJobOptions.of(request, site, record.resources.minutes)
        job = Job(
            record.id,
            _command(request, self._store.folder_of(record.id)),
            self._store.folder_of(record.id),
            record.resources,
            environment.job_environment(),
            self._turn(record),
        )
        try:
            self._store.create(record, asdict(content))
            handle = self.schedulers.of(site.scheduler).submit(job, site)
        except BaseException:
            self._store.forget(record.id)
            raise
        state = JobState("queued") if site.scheduler != "local" else record.state
        return self._begin(replace(record, handle=handle, state=state))

    def _begin(self, record: JobRecord) -> JobRecord:
        """Keep what was just submitted. What cannot be written down is stopped, or no agent would find it again."""
        try:
            self._store.write(record)
        except OSError:
            try:
                self.schedulers.of(record.scheduler).cancel(self._store.submitted(record), is_urgent=True)
                self._store.forget(record.id)
            except PellucidError:  # It runs, and is listed: the record without its number is there.
                with self._lock:
                    self._keep(record)
            raise
        with self._lock:  # Before this, no poll looks at it.
            self._keep(record)
            return self._records[record.id]

    def _turn(self, record: JobRecord) -> Path | None:
        """On one machine the tasks of a batch run one after the other: each of them takes all cores."""
        return self._store.folder_of(record.batch) / TURN if record.batch and record.scheduler == "local" else None

    def cancel(self, id: str) -> None:
        """End it, whatever it is doing; nothing happens where it has ended."""
        record = self.get(id)
        if record.state.is_over:
            return
        self.schedulers.of(record.scheduler).cancel(self._store.submitted(record))
        with self._lock:
            record = self._records[id]
            at = record.cancelled_at or self._clock()
            self._keep(replace(record, cancelled_at=at, state=replace(record.state, phase="ending", reason="")))

    # Looking

    def get(self, id: str) -> JobRecord:
        if id not in self._records:
            raise NotFound(f"The viewer or task {id}")
        return self._records[id]

    @property
    def records(self) -> list[JobRecord]:
        """The oldest first."""
        with self._lock:
            return sorted(self._records.values(), key=lambda record: record.created_at)

    @property
    def is_busy(self) -> bool:
        return any(not record.state.is_over for record in self.records)

    @property
    def is_starting(self) -> bool:
        """Whether something is about to run, so that looking often pays."""
        now = self._clock()
        return any(
            record.state.phase in ("starting", "ending") or now - record.created_at < EAGER_S
            for record in self.records
            if not record.state.is_over
        )

    def address(self, id: str) -> ViewerAddress | None:
        """Where a viewer is; None before it listens, and after its end."""
        state = self.get(id).state
        return None if state.is_over or state.phase == "queued" else self._store.address(id)

    def used_at(self) -> float:
        """When one of the viewers was last used, in seconds since 1970; 0 if never."""
        running = (record.id for record in self.records if record.kind == "viewer" and not record.state.is_over)
        return max((self._store.used_at(id) for id in running), default=0.0)

    # Watching

    def poll(self) -> None:
        """Look at everything that is not over. One question to a scheduler serves all of its jobs."""
        with self._polling:
            for name in {record.scheduler for record in self.records if not record.state.is_over}:
                if self.schedulers.is_due(name):
                    self._ask(name)
            self._notice_addresses()
            self._notice_ends()
            self._forget_old()
            with self._lock:
                self._store.write_again()

    def _ask(self, name: str) -> None:
        watched = [one for one in self.records if one.scheduler == name and not one.state.is_over]
        states = self.schedulers.states(name, [self._store.submitted(record) for record in watched])
        for record in watched:
            self._take_in(record, states[record.id])
            self._hurry(self._records[record.id])

    def _take_in(self, seen: JobRecord, state: JobState) -> None:
        with self._lock:
            record = self._records[seen.id]
            if record.handle != seen.handle or record.cancelled_at != seen.cancelled_at:
                return  # It was started or cancelled since: the next look is the first after that.
            state = effective_state(
                record, self._with_reason(record, state), self._store.address(record.id) is not None
            )
            # Where it was is worth knowing when it is over, too.
            self._keep(replace(record, state=replace(state, node=state.node or record.state.node)))

    def _with_reason(self, record: JobRecord, state: JobState) -> JobState:
        """Why a viewer ended in order, it knows better than a scheduler."""
        text = self._store.read_text(record.id, REASON) if state.phase == "ended" else ""
        return replace(state, reason=text) if text else state

    def _hurry(self, record: JobRecord) -> None:
        """What was asked to end, and does not, is made to."""
        is_late = record.cancelled_at and self._clock() - record.cancelled_at >= SHUTDOWN_TIMEOUT_S
        if record.state.is_over or not is_late:
            return
        try:
            self.schedulers.of(record.scheduler).cancel(self._store.submitted(record), is_urgent=True)
        except PellucidError as error:
            log.warning("Could not stop %s: %s", record.name, error)

    def _notice_addresses(self) -> None:
        """A viewer that has written its address runs, whatever the scheduler reports later.

        One that has waited for long is not looked for: before it starts, the scheduler says so.
        """
        young = self._clock() - EAGER_S
        for record in self.records:
            may_be = record.state.phase == "starting" or (record.state.phase == "queued" and record.created_at > young)
            may_be = may_be and record.kind == "viewer" and not record.cancelled_at
            if may_be and self._store.address(record.id) is not None:
                with self._lock:
                    self._keep(replace(record, state=replace(record.state, phase="running", reason="", place=None)))

    def _notice_ends(self) -> None:
        """What was stopped, and has written its exit code, is over: a scheduler asked seldom reports it late."""
        for record in self.records:
            is_stopped = record.cancelled_at and record.state.phase == "ending"
            if is_stopped and exit_code(self._store.folder_of(record.id)) is not None:
                self._take_in(record, JobState("ended"))

    def _forget_old(self) -> None:
        for record in self.records:
            if record.state.is_over and self._clock() - record.ended_at > KEPT_S:
                with self._lock:
                    del self._records[record.id]
                    self.outputs.forget(record.id)
                self._store.forget(record.id)

    def _keep(self, record: JobRecord) -> None:
        """Write it down where something changed."""
        before = self._records.get(record.id)
        if record == before:
            return
        if record.state.is_over and not record.ended_at:
            record = replace(record, ended_at=self._clock())
        self._records[record.id] = record
        self._store.write_or_later(record)
        self._on_change(record)


def effective_state(record: JobRecord, job: JobState, has_address: bool) -> JobState:
    """The state of an instance or task, from that of its job and from what it has written."""
    before = record.state
    if job.phase == "unknown":
        return replace(job, last=before.last if before.phase == "unknown" else before.phase)
    if job.is_over:
        if record.cancelled_at and job.phase != "lost":
            return JobState("ended", "It was stopped.")
        return replace(job, last=before.phase) if job.phase == "lost" else job
    if record.cancelled_at:
        return replace(job, phase="ending", reason="")
    return _of_viewer(job, has_address) if record.kind == "viewer" else job


def _of_viewer(job: JobState, has_address: bool) -> JobState:
    """A viewer runs when it listens: its job begins before that, and a scheduler may say so only afterwards."""
    if has_address and job.phase in ("queued", "starting", "running"):
        return replace(job, phase="running", place=None)
    return replace(job, phase="starting") if job.phase == "running" else job


def _command(request: JobRequest, place: Path) -> tuple[str, ...]:
    """What runs in the job. Everything else it reads from its folder: arguments can be read by others."""
    if isinstance(request, TaskRequest):
        limit = (f"{VARIABLE}={limit_text(request.readable)}",) if request.readable else ()
        chdir = ("/usr/bin/env", f"--chdir={request.folder}", *limit)
        return (*chdir, *module_command("pellucid", *request.arguments, "--progress-file", str(place / PROGRESS)))
    return tuple(module_command("pellucid.agent.jobs.viewer_main", str(place)))
