"""Everything that one person has running, kept.

Here: Keeper: starts, watches and ends instances and tasks, and never loses one.
Not here: files (records), schedulers (jobs), who asks (app).

Methods may take seconds where a scheduler does; any thread may call them.
"""

import logging
import secrets
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from pellucid.agent import environment
from pellucid.agent.records import PROGRESS, REASON, SAVED, TURN, Address, Progress, Record, Shelf
from pellucid.agent.wishes import TaskWish, ViewerWish, Wish
from pellucid.errors import NotFound, PellucidError
from pellucid.jobs.job import LOG, Job
from pellucid.jobs.scheduler import Scheduler, make_scheduler
from pellucid.jobs.site import Site
from pellucid.jobs.states import State, last_lines

log = logging.getLogger(__name__)
LOCAL_POLL_S = 0.1
ENDING_S = 10.0
"""For ending in order; afterwards a job is made to."""
EAGER_S = 15.0
KEPT_S = 7 * 24 * 3600.0
MOST_LINES = 10_000
Kind = TypeVar("Kind")


@dataclass
class Asked:
    """How a scheduler has answered. seconds: what its last answer took."""

    count: int = 0
    unanswered: int = 0
    seconds: float = 0.0

    def note(self, seconds: float, is_answered: bool) -> None:
        self.count, self.unanswered, self.seconds = self.count + 1, self.unanswered + (not is_answered), seconds


class Keeper:
    """folder: where the records are. on_change: called from any thread when a state is another than before."""

    def __init__(
        self,
        folder: Path,
        site: Site,
        on_change: Callable[[Record], None] = lambda _: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.site = site
        self._shelf, self._on_change, self._clock = Shelf(folder), on_change, clock
        self._records = {record.id: record for record in self._shelf.all()}
        self._schedulers: dict[str, Scheduler] = {}
        self._asked_at: dict[str, float] = {}
        self.asked: dict[str, Asked] = {}
        self._final: dict[str, Any] = {}
        self._lock = threading.RLock()
        self._polling = threading.Lock()

    # Starting and ending

    def start(self, wish: Wish, id: str = "", batch: str = "") -> Record:
        """Start it, now or when there is room. What is refused leaves nothing behind."""
        site = wish.overrides.of(self.site)
        record = Record(
            id or secrets.token_hex(5), "viewer" if isinstance(wish, ViewerWish) else "task", wish.title,
            self._clock(), site.scheduler, wish.resources(site), batch=batch,
        )  # fmt: skip
        nbytes = wish.nbytes if isinstance(wish, ViewerWish) else 0
        decided = {"is_remote": site.scheduler != "local", "minutes": record.resources.minutes, "most_bytes": nbytes}
        self._shelf.create(record, asdict(wish) | decided)
        job = Job(
            record.id, _command(wish, self._shelf.place(record.id)), self._shelf.place(record.id), record.resources,
            environment.for_jobs(), self._turn(record),
        )  # fmt: skip
        try:
            handle = self._scheduler(site.scheduler).submit(job, site)
        except BaseException:
            self._shelf.forget(record.id)
            raise
        state = State("queued") if site.scheduler != "local" else record.state
        with self._lock:  # Before this, no poll looks at it.
            self._keep(replace(record, handle=handle, state=state))
            return self._records[record.id]

    def start_batch(self, wishes: Sequence[TaskWish]) -> list[Record]:
        """One task for each; all of them or none. It is called what its first task is."""
        if len(wishes) == 1:
            return [self.start(wishes[0])]
        batch, started = secrets.token_hex(5), list[Record]()
        try:
            for wish in wishes:
                started.append(self.start(wish, "" if started else batch, batch))
        except PellucidError:
            for record in started:
                self.cancel(record.id)
            raise
        return started

    def cancel_batch(self, batch: str) -> list[Record]:
        """The last ones first: what is cancelled makes room for the next."""
        members = [record for record in self.records if record.batch == batch]
        if not members:
            raise NotFound(f"the batch {batch}")
        for record in reversed(members):
            self.cancel(record.id)
        return [self.get(record.id) for record in members]

    def _turn(self, record: Record) -> Path | None:
        """On one machine the tasks of a batch run one after the other: each of them takes all cores."""
        return self._shelf.place(record.batch) / TURN if record.batch and record.scheduler == "local" else None

    def cancel(self, id: str) -> None:
        """End it, whatever it is doing; nothing happens where it has ended."""
        record = self.get(id)
        if record.state.is_over:
            return
        self._scheduler(record.scheduler).cancel(self._shelf.submitted(record))
        with self._lock:
            record = self._records[id]
            at = record.cancelled_at or self._clock()
            self._keep(replace(record, cancelled_at=at, state=replace(record.state, phase="ending", reason="")))

    # Looking

    def get(self, id: str) -> Record:
        if id not in self._records:
            raise NotFound(f"the instance or task {id}")
        return self._records[id]

    @property
    def records(self) -> list[Record]:
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

    def address(self, id: str) -> Address | None:
        """Where a viewer is; None before it listens, and after its end."""
        return None if self.get(id).state.is_over else self._shelf.address(id)

    def used_at(self) -> float:
        """When somebody last did something in one of the viewers, in seconds since 1970; 0 where nobody has."""
        running = (record.id for record in self.records if record.kind == "viewer" and not record.state.is_over)
        return max((self._shelf.used_at(id) for id in running), default=0.0)

    def progress(self, id: str) -> Progress | None:
        return self._last(id, self._shelf.progress)

    def saved(self, id: str) -> str:
        """The name of the scene that a viewer saved before the end of its time; "" where it did not."""
        return self._last(id, lambda id: self._shelf.word(id, SAVED))

    def _last(self, id: str, read: Callable[[str], Kind]) -> Kind:
        """What is over does not change any more: a page that looks every second must not read it again and again."""
        if not self.get(id).state.is_over:
            return read(id)
        if id not in self._final:
            self._final[id] = read(id)
        kept: Kind = self._final[id]
        return kept

    def lines(self, id: str) -> tuple[str, ...]:
        return last_lines(self._shelf.place(self.get(id).id) / LOG, MOST_LINES)

    # Watching

    def poll(self) -> None:
        """Look at everything that is not over. One question to a scheduler serves all of its jobs."""
        with self._polling:
            for name in {record.scheduler for record in self.records if not record.state.is_over}:
                now = self._clock()
                every_s = LOCAL_POLL_S if name == "local" else self.site.poll_s
                if now - self._asked_at.get(name, 0.0) >= every_s:
                    self._asked_at[name] = now
                    self._ask(name)
            self._notice_addresses()
            self._forget_old()

    def _ask(self, name: str) -> None:
        watched = [one for one in self.records if one.scheduler == name and not one.state.is_over]
        began = time.perf_counter()
        states = self._scheduler(name).states([self._shelf.submitted(record) for record in watched])
        is_answered = any(state.phase != "unknown" for state in states.values())
        self.asked.setdefault(name, Asked()).note(time.perf_counter() - began, is_answered)
        for record in watched:
            self._take_in(record, states[record.id])
            self._hurry(self._records[record.id])

    def _take_in(self, seen: Record, state: State) -> None:
        with self._lock:
            record = self._records[seen.id]
            if record.handle != seen.handle or record.cancelled_at != seen.cancelled_at:
                return  # It was started or cancelled since: the next look is the first after that.
            state = self._with_reason(record, state)
            self._keep(replace(record, state=derived(record, state, self._shelf.address(record.id) is not None)))

    def _with_reason(self, record: Record, state: State) -> State:
        """Why a viewer ended in order, it knows better than a scheduler."""
        said = self._shelf.word(record.id, REASON) if state.phase == "ended" else ""
        return replace(state, reason=said) if said else state

    def _hurry(self, record: Record) -> None:
        """What was asked to end, and does not, is made to."""
        is_late = record.cancelled_at and self._clock() - record.cancelled_at >= ENDING_S
        if record.state.is_over or not is_late:
            return
        try:
            self._scheduler(record.scheduler).cancel(self._shelf.submitted(record), is_urgent=True)
        except PellucidError as error:
            log.warning("%s could not be ended: %s", record.name, error)

    def _notice_addresses(self) -> None:
        """A viewer that has written its address runs, whatever a scheduler will say of it later."""
        for record in self.records:
            is_coming = record.kind == "viewer" and record.state.phase in ("queued", "starting")
            if is_coming and not record.cancelled_at and self._shelf.address(record.id) is not None:
                with self._lock:
                    self._keep(replace(record, state=replace(record.state, phase="running", reason="", place=None)))

    def _forget_old(self) -> None:
        for record in self.records:
            if record.state.is_over and self._clock() - record.ended_at > KEPT_S:
                with self._lock:
                    del self._records[record.id]
                    self._final.pop(record.id, None)
                self._shelf.forget(record.id)

    def _keep(self, record: Record) -> None:
        """Write it down where something changed."""
        before = self._records.get(record.id)
        if record == before:
            return
        if record.state.is_over and not record.ended_at:
            record = replace(record, ended_at=self._clock())
        self._shelf.write(record)
        self._records[record.id] = record
        self._on_change(record)

    def _scheduler(self, name: str) -> Scheduler:
        if name not in self._schedulers:
            self._schedulers[name] = make_scheduler(name)
        return self._schedulers[name]


def derived(record: Record, job: State, has_address: bool) -> State:
    """The state of an instance or task, from that of its job and from what it has written."""
    before = record.state
    if job.phase == "unknown":
        return replace(job, last=before.last if before.phase == "unknown" else before.phase)
    if job.is_over:
        if record.cancelled_at and job.phase != "lost":
            return State("ended", "It was stopped.")
        return replace(job, last=before.phase) if job.phase == "lost" else job
    if record.cancelled_at:
        return replace(job, phase="ending", reason="")
    return _of_viewer(job, has_address) if record.kind == "viewer" else job


def _of_viewer(job: State, has_address: bool) -> State:
    """A viewer runs when it listens: its job begins before that, and a scheduler may say so only afterwards."""
    if has_address and job.phase in ("queued", "starting", "running"):
        return replace(job, phase="running", place=None)
    return replace(job, phase="starting") if job.phase == "running" else job


def _command(wish: Wish, place: Path) -> tuple[str, ...]:
    """What runs in the job. Everything else it reads from its folder: arguments can be read by others."""
    if isinstance(wish, TaskWish):
        chdir = ("/usr/bin/env", f"--chdir={wish.folder}")
        return (*chdir, sys.executable, "-m", "pellucid", *wish.arguments, "--progress-file", str(place / PROGRESS))
    return (sys.executable, "-m", "pellucid.agent.launched", str(place))
