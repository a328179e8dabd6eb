"""A Worker's end of the channel, whatever its role: requests come in, replies and announcements go out.

Here: WorkerService, which hands every request to the thread that handles it; RequestHandler; signs of life; serve().
Not here: what each role handles (main, compute, user_code), the other end (process).

The first thread only listens. It ends the process when the channel does, whatever the others are caught in: a kernel
that never ends cannot be ended otherwise.
"""

import logging
import os
import select
import socket
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pellucid import progress
from pellucid.errors import InvalidInput, PellucidError
from pellucid.formats.protocol import Voxels
from pellucid.formats.shared_memory import SharedArray
from pellucid.formats.system_errors import CLOSED, FULL, system_error
from pellucid.printable import PrintableFormatter
from pellucid.workers.channel import MessageChannel
from pellucid.workers.protocol import messages, replies
from pellucid.workers.protocol.announcements import Announcement

HEARTBEAT_S = 0.5
LISTENER = "listener"
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ReceivedRequest:
    """A request with what came along. descriptor: of shared memory. cancel: set when no one waits any more."""

    content: Any
    descriptor: int | None
    cancel: threading.Event


@dataclass(frozen=True)
class RequestHandler:
    """How requests of one type are handled. thread: "listener", which must not wait for anything, or one of the
    service's. handle: is given the service. guest_thread: of those that are for a guest, if it is another."""

    thread: str
    handle: Callable[[Any, ReceivedRequest], object]
    is_cancellable: bool = False
    guest_thread: str = ""

    def thread_of(self, content: Any) -> str:
        return self.guest_thread if self.guest_thread and content.is_for_guest else self.thread


class WorkerService:
    """Receives requests, and replies from the thread that has handled each.

    handlers: by type of request. threads: how many each pool has, by its name.
    """

    handlers: ClassVar[Mapping[type[Any], RequestHandler]] = {}
    threads: ClassVar[Mapping[str, int]] = {}

    def __init__(self, channel: MessageChannel) -> None:
        self._line = channel
        self._pools = {
            name: ThreadPoolExecutor(threads, thread_name_prefix=f"pellucid-{name}")
            for name, threads in self.threads.items()
        }
        self._cancels: dict[int, threading.Event] = {}
        self._busy, self._sign_at, self._counting = 0, time.monotonic(), threading.Lock()

    # What roles differ in

    @property
    def device_name(self) -> str:
        return "cpu"

    def start(self) -> None:
        """Further threads; the supervisor knows that the service is ready."""

    @property
    def stage(self) -> tuple[replies.Stage, float]:
        """What is being done, and for how many seconds nothing moved."""
        return ("computing", time.monotonic() - self._sign_at) if self._busy else ("idle", 0.0)

    def touch(self) -> None:
        """Something moves: work that takes long calls this, or reports progress."""
        self._sign_at = time.monotonic()

    # Messages

    def run(self) -> None:
        """Until the channel ends."""
        self.send_reply(replies.Ready(self.device_name))
        self.start()
        threading.Thread(target=self._heartbeat_loop, name="pellucid-heartbeat", daemon=True).start()
        while True:
            message, descriptor = self._line.receive()
            self._dispatch(message, descriptor)

    def send_reply(self, answer: Any, descriptor: int | None = None) -> None:
        try:
            self._line.send(messages.to_message(answer), descriptor)
        except ConnectionError:  # The supervisor is gone: the thread that listens is about to notice too.
            os._exit(0)

    def send_array(self, answer: Any, array: Voxels) -> None:
        """A reply with an array in shared memory."""
        with SharedArray.create(array.shape, array.dtype) as shared:
            np.copyto(shared.array, array)
            self.send_reply(answer, shared.descriptor)

    def announce(self, announcement: Announcement, descriptor: int | None = None) -> None:
        """What this Worker produced or changed, without having been asked for it now."""
        self.touch()
        self.send_reply(announcement, descriptor)

    def failed(self, error: Exception, *, number: int = -1, request: int = -1) -> None:
        reply = _as_pellucid_error(error)
        line = getattr(error, "line", 0)
        self.send_reply(replies.Failed(number, request, type(reply).__name__, reply.what, reply.remedy, line))

    def report(self, update: progress.Update) -> None:
        """Progress of anything that this process does."""
        self.touch()
        reply = replies.ProgressReported(
            self.exporting, update.task, update.name, update.done, update.total, update.unit, update.seconds_left,
            update.is_finished, update.is_stopped,
        )  # fmt: skip
        self.send_reply(reply)

    @property
    def exporting(self) -> int:
        """The number of the request that progress belongs to, or -1."""
        return -1

    def note(self, _text: str) -> None:
        self.touch()

    def _heartbeat_loop(self) -> None:
        pause = threading.Event()
        while not pause.wait(HEARTBEAT_S):
            stage, silence_s = self.stage
            self.send_reply(replies.Heartbeat(stage, silence_s))

    def _dispatch(self, message: dict[str, Any], descriptor: int | None) -> None:
        """Every request is handled, or answered with an error."""
        try:
            content = messages.from_message(message)
            handler = self.handlers.get(type(content))
            if handler is None:
                raise InvalidInput(f"A Worker does not handle {message['kind']!r}.", remedy="Send one of its requests.")
        except InvalidInput as error:
            if descriptor is not None:
                os.close(descriptor)
            number = message.get("content", {}).get("request")
            self.failed(error, request=number if type(number) is int else -1)
            return
        cancel = threading.Event()
        if handler.is_cancellable:
            self._cancels[content.request] = cancel
        received = ReceivedRequest(content, descriptor, cancel)
        self._run_on(
            handler.thread_of(content), lambda: self._answering(content, lambda: handler.handle(self, received))
        )

    def _run_on(self, thread: str, work: Callable[[], None]) -> None:
        if thread == LISTENER:
            work()
        else:
            self._pools[thread].submit(self._counted, work)

    def _counted(self, work: Callable[[], None]) -> None:
        self._begin(1)
        try:
            work()
        finally:
            self._begin(-1)

    def _begin(self, count: int) -> None:
        with self._counting:
            self._busy += count
            self._sign_at = time.monotonic()  # Not touch(): in the role "render" other threads are watched.

    def _answering(self, command: Any, work: Callable[[], object]) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001  # The edge of a thread: the error is sent, and the Worker continues.
            self.failed(error, number=getattr(command, "number", -1), request=getattr(command, "request", -1))
        finally:
            if self.handlers[type(command)].is_cancellable:
                del self._cancels[command.request]

    def cancel(self, request: int) -> None:
        if request in self._cancels:
            self._cancels[request].set()


def _as_pellucid_error(error: Exception) -> PellucidError:
    """An error of ours as it is; others as something that a user can act on."""
    if isinstance(error, PellucidError):
        return error
    if isinstance(error, MemoryError):
        return InvalidInput("Not enough memory for this request.", remedy="Open a coarser level, or crop the volume.")
    if isinstance(error, OSError) and error.errno in (*FULL, *CLOSED):
        return system_error(error)
    log.exception("something failed", exc_info=error)
    what = f"Internal error: {type(error).__name__}: {error}."
    return InvalidInput(what, remedy="Change the view or the settings; see the terminal for details.")


def _end_with(descriptor: int) -> None:
    """End when the other end of the channel is gone, also while the device is still being prepared."""
    watch = select.poll()
    watch.register(descriptor, select.POLLRDHUP)
    watch.poll()
    os._exit(0)


def serve(descriptor: int, make_service: Callable[[MessageChannel], WorkerService]) -> None:
    """Run a service in this process. Exit codes: 0 when the channel ended, 2 when the device is not there."""
    connection = socket.socket(fileno=descriptor)
    threading.Thread(target=_end_with, args=(descriptor,), name="pellucid-end", daemon=True).start()
    channel = MessageChannel(connection)
    handler = logging.StreamHandler()
    handler.setFormatter(PrintableFormatter("pellucid worker: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    try:
        service = make_service(channel)
    except PellucidError as error:
        channel.send(messages.to_message(replies.Failed(-1, -1, type(error).__name__, error.what, error.remedy)))
        os._exit(2)
    with progress.use(progress.Callbacks(service.report, service.note)):
        try:
            service.run()
        except (EOFError, OSError):
            os._exit(0)
