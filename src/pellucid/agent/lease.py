"""The lease: which agent is the active one, if several machines share a home folder.

Here: Lease: taken by one, renewed, taken over when its holder is gone.
Not here: what the holder does (main).

No times are written down or compared: the clocks of two machines differ. The holder counts up in the file. An agent on
another machine that wants the lease watches the file for a while by its own clock, and takes the lease only where the
count stands still. The file also says where the agent is and how to get in: only its owner can read it.
"""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal
from uuid import uuid4

from pellucid.errors import InvalidInput
from pellucid.jobs.private_files import load_json, private_folder, read_dataclass, write_json
from pellucid.jobs.process_identity import ProcessId

FILE = "agent.json"
LASTS_S = 60.0
RENEWED_EVERY_S = 15.0
POLL_S = 1.0
StartState = Literal["ready", "running", "elsewhere", "failed"]
"""How starting an agent ended: the first line that it sends to the program that started it."""


class AgentRunning(InvalidInput):
    """The user's agent runs on this machine already, or another program is starting it."""


class AgentElsewhere(InvalidInput):
    """The user's agent runs on another machine."""


@dataclass(frozen=True)
class LeaseHolder:
    """The agent that has the lease. count: grows as long as it lives. url: of its page. token: the owner's, for
    programs; another at every start."""

    process: str
    count: int
    url: str = ""
    token: str = field(default="", repr=False)

    @property
    def host(self) -> str:
        return ProcessId.parse(self.process).host

    @property
    def is_here(self) -> bool:
        return ProcessId.parse(self.process).is_here

    @property
    def is_alive(self) -> bool:
        """Only known of one on this machine."""
        return ProcessId.parse(self.process).is_alive


def holder(folder: Path, file: str = FILE) -> LeaseHolder | None:
    """Who has the lease, gone or not. A file that cannot be read now is an OSError: its lease may well be held."""
    found = read_dataclass(LeaseHolder, folder / file, load_json)
    try:
        if found is not None:
            ProcessId.parse(found.process)
    except ValueError:
        return None
    return found


class Lease:
    """The right to keep the records in a folder. clock, wait: of this machine alone, and only while it watches."""

    def __init__(
        self,
        folder: Path,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self._folder, self._clock, self._wait = private_folder(folder), clock, wait
        self._process = str(ProcessId.this())
        self._count = 0

    def acquire(self) -> None:
        """Refused while another agent has it. Where that is on another machine, finding out takes up to LASTS_S."""
        before = holder(self._folder)
        if before is not None:
            self._refuse_if_alive(before)
        self._clear_away(before)
        mine = self._folder / f".{uuid4().hex}.new"
        try:
            write_json(mine, asdict(LeaseHolder(self._process, self._count)))
            os.link(mine, self._folder / FILE)  # Of several that find it free, one succeeds.
        except FileExistsError as error:
            raise _taken_meanwhile() from error
        finally:
            mine.unlink(missing_ok=True)

    def _refuse_if_alive(self, before: LeaseHolder) -> None:
        if before.is_here and before.is_alive:
            remedy = f"Use it, or stop it there: process {ProcessId.parse(before.process).pid}."
            raise AgentRunning(f"Your agent is already running on {before.host}.", remedy=remedy)
        after = None if before.is_here else self._watched(before)
        if after is not None and after != before:
            remedy = "Use that machine, or stop the agent there; it also exits when nothing runs."
            raise AgentElsewhere(f"Your agent runs on {after.host}.", remedy=remedy)

    def _watched(self, before: LeaseHolder) -> LeaseHolder | None:
        """What the file says when it changes; what it said before where it does not."""
        deadline = self._clock() + LASTS_S
        while (now := holder(self._folder)) == before and self._clock() < deadline:
            self._wait(POLL_S)
        return now

    def _clear_away(self, dead: LeaseHolder | None) -> None:
        """Move away what a dead holder left; what turns out to be a living one's, taken since the look, is put back."""
        moved = self._folder / f".{uuid4().hex}.old"
        try:
            (self._folder / FILE).rename(moved)
        except FileNotFoundError:
            return
        try:
            if holder(self._folder, moved.name) != dead:
                with suppress(FileExistsError):
                    os.link(moved, self._folder / FILE)
                raise _taken_meanwhile()
        finally:
            moved.unlink(missing_ok=True)

    @property
    def is_held(self) -> bool:
        has = holder(self._folder)
        return has is not None and has.process == self._process

    def renew(self, url: str, token: str = "") -> bool:
        """Whether it is still held; an agent that has lost it must not write."""
        if not self.is_held:
            return False
        self._count += 1
        write_json(self._folder / FILE, asdict(LeaseHolder(self._process, self._count, url, token)))
        return True

    def release(self) -> None:
        with suppress(OSError):  # What cannot be read is left: the process that it names is gone soon.
            if self.is_held:
                (self._folder / FILE).unlink(missing_ok=True)


def _taken_meanwhile() -> AgentRunning:
    return AgentRunning("Another agent started at the same time.", remedy="Use the other agent.")
