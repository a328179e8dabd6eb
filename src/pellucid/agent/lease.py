"""Which agent it is, where a home folder is shared by several machines.

Here: Lease: taken by one, renewed, taken over when its holder is gone.
Not here: what the holder does (main).

The file also says where the agent is and how to get in: only its owner can read it.
"""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from uuid import uuid4

from pellucid.errors import InvalidInput
from pellucid.jobs.job import private_folder, read_json, write_json
from pellucid.jobs.processes import Process
from pellucid.rendering.documents import build

FILE = "agent.json"
LASTS_S = 60.0
RENEWED_EVERY_S = 15.0


@dataclass(frozen=True)
class Holder:
    """The agent that has the lease. url: with its token. renewed_at: seconds since 1970."""

    process: str
    renewed_at: float
    url: str = field(default="", repr=False)

    @property
    def host(self) -> str:
        return Process.parse(self.process).host

    def is_gone(self, now: float) -> bool:
        """On this machine that can be seen; of another one, only that it has not been heard of for long."""
        process = Process.parse(self.process)
        return not process.is_alive if process.is_here else now - self.renewed_at > LASTS_S


def holder(folder: Path, file: str = FILE) -> Holder | None:
    """Who has the lease, gone or not."""
    content = read_json(folder / file)
    try:
        found: Holder | None = None if content is None else build(Holder, content, FILE)
        if found is not None:
            Process.parse(found.process)
    except (InvalidInput, ValueError):
        return None
    return found


class Lease:
    """The right to keep the records in a folder."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._folder, self._clock = private_folder(folder), clock
        self._process = str(Process.this())

    def take(self) -> None:
        """Refused while somebody else has it."""
        self._refuse_if_held(holder(self._folder))
        self._clear_away()
        mine = self._folder / f".{uuid4().hex}.new"
        write_json(mine, asdict(Holder(self._process, self._clock())))
        try:
            os.link(mine, self._folder / FILE)  # Of several that find it free, one succeeds.
        except FileExistsError as error:
            raise InvalidInput("Another agent was started at this moment.", do="Use that one.") from error
        finally:
            mine.unlink(missing_ok=True)

    def _clear_away(self) -> None:
        """Move away what a dead holder left; what turns out to be a living one's, taken since the look, is put back."""
        moved = self._folder / f".{uuid4().hex}.old"
        try:
            (self._folder / FILE).rename(moved)
        except FileNotFoundError:
            return
        try:
            self._refuse_if_held(holder(self._folder, moved.name))
        except InvalidInput:
            with suppress(FileExistsError):
                os.link(moved, self._folder / FILE)
            raise
        finally:
            moved.unlink(missing_ok=True)

    def _refuse_if_held(self, before: Holder | None) -> None:
        if before is not None and not before.is_gone(self._clock()):
            do = f"Use that one, or end it there: process {Process.parse(before.process).pid}."
            raise InvalidInput(f"Your agent runs already, on {before.host}.", do=do)

    @property
    def is_held(self) -> bool:
        has = holder(self._folder)
        return has is not None and has.process == self._process

    def renew(self, url: str) -> bool:
        """Whether it is still held; whoever has lost it must not write any more."""
        if not self.is_held:
            return False
        write_json(self._folder / FILE, asdict(Holder(self._process, self._clock(), url)))
        return True

    def give_back(self) -> None:
        if self.is_held:
            (self._folder / FILE).unlink(missing_ok=True)
