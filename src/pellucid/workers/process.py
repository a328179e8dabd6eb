"""One Worker process, seen from its supervisor.

Here: WorkerProcess: started, spoken to, watched, ended.
Not here: replacing one that was lost (supervisor), what it does (main).
"""

import logging
import os
import signal
import socket
import subprocess
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pellucid.errors import PellucidError
from pellucid.python_processes import module_command
from pellucid.rendering.scene import Scene
from pellucid.workers.channel import MessageChannel
from pellucid.workers.protocol.messages import from_message, to_message
from pellucid.workers.protocol.replies import Heartbeat, Ready, Stage
from pellucid.workers.protocol.requests import Draw, Request

FAULTS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT)
"""What a process dies of that did something wrong itself."""
SHUTDOWN_TIMEOUT_S = 2.0
log = logging.getLogger(__name__)

OnAnswer = Callable[[Any, int | None], None]


@dataclass(frozen=True)
class Deadlines:
    """For how long, in seconds, a Worker may give no sign of life.

    start: until it has its device. silence: no message at all. shading, drawing, loading, compiling, computing: no
    progress in that. Light is worked out for a whole volume at once, which takes a CPU its time; users' code gets less.
    """

    start: float = 120.0
    silence: float = 15.0
    shading: float = 20.0
    drawing: float = 600.0
    loading: float = 600.0
    compiling: float = 600.0
    computing: float = 600.0

    def of(self, stage: Stage) -> float:
        return float("inf") if stage == "idle" else float(getattr(self, stage))


@dataclass(frozen=True)
class ExitReason:
    """How a process ended. is_fault: by what it was doing, so that doing it again would end it again. scenes: those of
    the snapshots that it still owed."""

    why: str
    is_fault: bool
    scenes: tuple[Scene, ...] = ()


@dataclass(frozen=True)
class WorkerCommand:
    """How a Worker is started. service: of its role, as "module:Class"; empty for the role "render"."""

    device: str | None
    service: str = ""

    def words(self, descriptor: int) -> list[str]:
        """The command line. descriptor: the Worker's end of the channel."""
        device = [self.device] if self.device else []
        if not self.service:
            return module_command("pellucid.workers.main", str(descriptor), *device)
        return module_command("pellucid.workers.role_main", str(descriptor), self.service, *device)


class WorkerProcess:
    """on_answer and on_end are called from a thread of this object; on_end once, at the very last."""

    def __init__(
        self, start: WorkerCommand, on_answer: OnAnswer, on_end: Callable[[ExitReason], None], deadlines: Deadlines
    ) -> None:
        ours, theirs = socket.socketpair()
        descriptor = theirs.fileno()
        command = start.words(descriptor)
        # A session of its own: Ctrl-C in the terminal is for the supervisor, which then ends the Worker in order.
        self._process = subprocess.Popen(
            command, pass_fds=[descriptor], stdin=subprocess.DEVNULL, start_new_session=True
        )
        theirs.close()
        self._line, self._deadlines = MessageChannel(ours), deadlines
        self._on_answer, self._on_end = on_answer, on_end
        self._ending: ExitReason | None = None
        self._outbox: deque[tuple[Request, int | None]] = deque()
        self._filled = threading.Condition()
        self._is_over = False
        self._listening = threading.Thread(target=self._listen, name="pellucid-worker-in", daemon=True)
        self._speaking = threading.Thread(target=self._speak, name="pellucid-worker-out", daemon=True)

    @property
    def pid(self) -> int:
        return self._process.pid

    def start(self) -> None:
        self._listening.start()
        self._speaking.start()

    def send(self, command: Request, descriptor: int | None = None) -> None:
        """Never waits. Of Draws that were not sent yet only the latest is."""
        with self._filled:
            if isinstance(command, Draw):
                self._outbox = deque(text for text in self._outbox if not isinstance(text[0], Draw))
            self._outbox.append((command, descriptor))
            self._filled.notify()

    def kill(self, ending: ExitReason | None = None) -> None:
        """With the processes that it has started."""
        self._ending = self._ending or ending
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()

    def close(self) -> None:
        """End it in order, and wait for that."""
        self._line.close()
        try:
            self._process.wait(SHUTDOWN_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._process.wait()
        if threading.current_thread() is not self._listening:
            self._listening.join()
        self._speaking.join()

    def _speak(self) -> None:
        while True:
            with self._filled:
                self._filled.wait_for(lambda: self._outbox or self._is_over)
                if self._is_over:
                    return
                command, descriptor = self._outbox.popleft()
            try:
                self._line.send(to_message(command), descriptor)
            except OSError:  # The listening thread notices too, and says so.
                return

    def _listen(self) -> None:
        timeout_s, stage = self._deadlines.start, "idle"
        try:
            while True:
                message, descriptor = self._line.receive(timeout_s)
                answer = from_message(message)
                if isinstance(answer, Ready):
                    timeout_s = self._deadlines.silence
                if isinstance(answer, Heartbeat):
                    self._check(answer)
                if not isinstance(answer, Heartbeat) or answer.stage != stage:
                    self._on_answer(answer, descriptor)
                stage = answer.stage if isinstance(answer, Heartbeat) else stage
        except TimeoutError:
            self.kill(ExitReason("it stopped responding", is_fault=True))
        except (EOFError, OSError):
            pass
        except (KeyError, ValueError, TypeError, PellucidError):
            log.exception("a Worker sent an invalid message")
            self.kill(ExitReason("it sent an invalid message", is_fault=True))
        finally:
            self._finish()

    def _check(self, alive: Heartbeat) -> None:
        if alive.silence_s > self._deadlines.of(alive.stage):
            self.kill(ExitReason(f"it hung in {alive.stage} for {alive.silence_s:.0f} s", is_fault=True))

    def _finish(self) -> None:
        with self._filled:
            self._is_over = True
            self._filled.notify()
        self._line.close()
        try:
            code = self._process.wait(SHUTDOWN_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        self._on_end(self._ending or exit_reason(code))


def exit_reason(code: int) -> ExitReason:
    """Why a process ended. code: as Popen has it."""
    if code >= 0:
        return ExitReason(f"it exited with code {code}", is_fault=False)
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    if -code == signal.SIGKILL:
        return ExitReason("it was killed; the machine may have run out of memory", is_fault=False)
    return ExitReason(f"it crashed ({name})", is_fault=-code in FAULTS)
