"""A Worker, as a process: ``python -m pellucid.workers.main DESCRIPTOR DEVICE``.

Here: HANDLERS, the registry of requests with the thread that handles each; signs of life.
Not here: drawing (drawing), reading (reading), the other end (process).

The first thread only listens. It ends the process when the line does, whatever the others are caught in: a kernel that
never ends cannot be ended otherwise.
"""

import logging
import os
import select
import socket
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pellucid import progress
from pellucid.box import triple
from pellucid.device import choose_all, runtime
from pellucid.errors import InvalidInput, PellucidError
from pellucid.formats.deadline import within_limit
from pellucid.formats.local_files import allow_only
from pellucid.formats.protocol import Voxels
from pellucid.formats.shared_memory import SharedArray
from pellucid.formats.system_errors import CLOSED, FULL, system_error
from pellucid.printable import PrintableFormatter
from pellucid.tomo.scan_files.dataset_guess import suggest
from pellucid.volume.open_files import OpenFiles
from pellucid.workers.channel import MessageChannel
from pellucid.workers.folder_limit import AllowFolders
from pellucid.workers.protocol import messages, replies, requests
from pellucid.workers.queries import describe, read, slices
from pellucid.workers.queries.measurements import measure_labels, measure_region
from pellucid.workers.queries.sources import MappedArray, Sources, shape_of
from pellucid.workers.render.render_thread import RenderThread
from pellucid.workers.render.renderers import RendererGroup

if TYPE_CHECKING:
    from pellucid.workers.queries.previews import PreviewRenderer

HEARTBEAT_S = 0.5
POOLS: dict[str, int] = {"quick": 2, "slow": 2, "preview": 1, "measure": 2}
"""Threads that read, by what they are for."""
log = logging.getLogger(__name__)


class WorkerMain:
    """Receives requests, and replies from the thread that has handled each."""

    def __init__(self, line: MessageChannel, device: str | None) -> None:
        self._line = line
        files = OpenFiles()
        self.sources = Sources(files)
        self.drawing = RenderThread(RendererGroup(choose_all(device), files), self)
        self._pools = {
            name: ThreadPoolExecutor(threads, thread_name_prefix=f"pellucid-{name}") for name, threads in POOLS.items()
        }
        self._cancels: dict[int, threading.Event] = {}
        self._exporting = -1

    @cached_property
    def _previews(self) -> "PreviewRenderer":
        # What reconstructs takes as long to import as all else of a Worker, and few viewers need it.
        from pellucid.workers.queries.previews import PreviewRenderer

        return PreviewRenderer(self.drawing.renderers.devices[0])

    def run(self) -> None:
        """Until the line ends."""
        self.send_reply(replies.Ready(self.drawing.renderers.names))
        threading.Thread(target=self.drawing.run, name="pellucid-drawing", daemon=True).start()
        threading.Thread(target=self._heartbeat_loop, name="pellucid-heartbeat", daemon=True).start()
        while True:
            message, descriptor = self._line.receive()
            self._dispatch(message, descriptor)

    def send_reply(self, answer: Any, descriptor: int | None = None) -> None:
        try:
            self._line.send(messages.to_message(answer), descriptor)
        except ConnectionError:  # The supervisor is gone: the thread that listens is about to notice too.
            os._exit(0)

    def failed(self, error: Exception, *, number: int = -1, request: int = -1) -> None:
        reply = _as_pellucid_error(error)
        line = getattr(error, "line", 0)
        self.send_reply(replies.Failed(number, request, type(reply).__name__, reply.what, reply.remedy, line))

    def report(self, update: progress.Update) -> None:
        """Progress of anything that this process does."""
        self.drawing.touch()
        reply = replies.ProgressReported(
            self._exporting, update.task, update.name, update.done, update.total, update.unit, update.seconds_left,
            update.is_finished, update.is_stopped,
        )  # fmt: skip
        self.send_reply(reply)

    def note(self, _text: str) -> None:
        self.drawing.touch()

    def compiling(self) -> None:
        self.drawing.touch("compiling")

    def _heartbeat_loop(self) -> None:
        pause = threading.Event()
        while not pause.wait(HEARTBEAT_S):
            stage, silence_s = self.drawing.stage
            self.send_reply(replies.Heartbeat(stage, silence_s))

    def _dispatch(self, message: dict[str, Any], descriptor: int | None) -> None:
        """Every request is handled, or answered with an error."""
        try:
            content = messages.from_message(message)
            handler = HANDLERS.get(type(content))
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
        self._run_on(handler.thread, lambda: self._answering(content, lambda: handler.handle(self, received)))

    def _run_on(self, thread: "ThreadName", work: Callable[[], None]) -> None:
        match thread:
            case "listener":
                work()
            case "render":
                self.drawing.add(work)
            case _:
                self._pools[thread].submit(work)

    def _answering(self, command: Any, work: Callable[[], object]) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001  # The edge of a thread: the error is sent, and the Worker continues.
            self.failed(error, number=getattr(command, "number", -1), request=getattr(command, "request", -1))
        finally:
            if HANDLERS[type(command)].is_cancellable:
                del self._cancels[command.request]

    def cancel(self, request: int) -> None:
        if request in self._cancels:
            self._cancels[request].set()

    def use(self, command: requests.AddArray, descriptor: int | None) -> None:
        if descriptor is None:
            what = f"The array {command.source!r} came without its memory."
            raise InvalidInput(what, remedy="Send the descriptor of a shared array with the request.")
        with SharedArray(descriptor, command.shape, np.dtype(command.dtype)) as shared:
            array = shared.array  # It keeps the memory.
        if command.kind == "volume":
            mapped = MappedArray(array, command.spacing, command.unit)
            self.drawing.renderers.add(self.sources.use(command.source, mapped))
        else:
            self.sources.use_shape(shape_of(command, array))
        self.send_reply(replies.Done(command.request))
        if command.kind == "volume" and command.is_next:
            # While it is described. A volume that does not fit is an error when it is drawn.
            with suppress(PellucidError):
                self.drawing.renderers.load(command.source)

    def measure(self, command: requests.MeasureValues) -> None:
        """Cells know the range of a volume that the device has; what is left takes some time, but not the device."""
        known = self.drawing.renderers.value_range(command.source)
        work = lambda: self.send_reply(describe.measure(command, self.sources, known))  # noqa: E731
        self._pools["slow"].submit(self._answering, command, work)

    def forget(self, command: requests.RemoveArray) -> None:
        self.drawing.renderers.forget(command.source)
        left = self.sources.forget(command.source)
        self.send_reply(replies.Done(command.request))
        # Unmapping takes a third of the time of copying, and the next image does not wait for it.
        threading.Thread(target=left.clear).start()

    def _reload_changed(self, command: requests.Describe) -> None:
        """A file that was opened before may have been written again: what was read of it then is not shown any more."""
        is_done = threading.Event()

        def forget() -> None:
            try:
                self.drawing.renderers.forget(command.source)
            finally:
                is_done.set()

        if self.sources.close_changed(command.source):
            self.drawing.add(lambda: self._answering(command, forget))
            is_done.wait()

    def describe(self, command: requests.Describe) -> None:
        self._reload_changed(command)
        self.send_reply(describe.describe(command, self.sources))

    def inspect(self, command: requests.Inspect) -> None:
        self.send_reply(within_limit(command.source, lambda: describe.inspect(command)))

    def probe(self, command: requests.ProbePixel) -> None:
        self.send_reply(read.probe(command, self.drawing.frame_at(command), self.sources))

    def sample_line(self, command: requests.SampleLine) -> None:
        self.send_reply(read.profile(command, self.sources))

    def retrieve(self, command: requests.Retrieve) -> None:
        volume, shared = read.retrieve(command, self.sources)
        with shared:
            answer = replies.Retrieved(command.request, triple(shared.shape), shared.dtype.str, volume.spacing)
            self.send_reply(answer, shared.descriptor)

    def suggest_parts(self, command: requests.SuggestParts) -> None:
        suggestion = within_limit(command.source, lambda: suggest(command.source))
        self.send_reply(replies.PartsSuggested(command.request, suggestion))

    def find_axis(self, command: requests.FindAxis) -> None:
        from pellucid.workers.queries.previews import find_axis

        self.send_reply(find_axis(command))

    def describe_scan(self, command: requests.DescribeScan) -> None:
        self.send_reply(self._previews.describe(command))

    def make_preview(self, command: requests.MakePreview, cancel: threading.Event) -> None:
        self.send_array(*self._previews.image(command, cancel))

    def send_array(self, answer: Any, array: Voxels) -> None:
        """A reply with an array in shared memory."""
        with SharedArray.create(array.shape, array.dtype) as shared:
            np.copyto(shared.array, array)
            self.send_reply(answer, shared.descriptor)

    def export(self, command: requests.Export, cancel: threading.Event) -> None:
        if self._exporting >= 0:
            raise InvalidInput("Another export is in progress.", remedy="Wait until it is finished, or cancel it.")
        self._exporting = command.request
        try:
            read.export(command, self.sources, cancel)
        finally:
            self._exporting = -1
        self.send_reply(replies.Done(command.request))


ThreadName = Literal["listener", "render", "quick", "slow", "preview", "measure"]


@dataclass(frozen=True)
class ReceivedRequest:
    """A request with what came along. descriptor: of shared memory. cancel: set when no one waits any more."""

    content: Any
    descriptor: int | None
    cancel: threading.Event


@dataclass(frozen=True)
class RequestHandler:
    """How requests of one type are handled. thread: where; the listener's must not wait for anything."""

    thread: ThreadName
    handle: Callable[[WorkerMain, ReceivedRequest], object]
    is_cancellable: bool = False


HANDLERS: dict[type[Any], RequestHandler] = {
    requests.Draw: RequestHandler("listener", lambda worker, it: worker.drawing.draw(it.content)),
    requests.Release: RequestHandler("listener", lambda worker, it: worker.drawing.slots.release(it.content.slot)),
    requests.TakeScreenshot: RequestHandler("listener", lambda worker, it: worker.drawing.add_snapshot(it.content)),
    requests.MarkChanged: RequestHandler(
        "listener", lambda worker, it: worker.sources.changed(it.content.source, it.content.boxes)
    ),
    requests.Cancel: RequestHandler("listener", lambda worker, it: worker.cancel(it.content.request)),
    AllowFolders: RequestHandler("listener", lambda _worker, it: allow_only(it.content.folders)),
    requests.Compile: RequestHandler("render", lambda worker, it: worker.drawing.compile(it.content)),
    requests.AddArray: RequestHandler("render", lambda worker, it: worker.use(it.content, it.descriptor)),
    requests.RemoveArray: RequestHandler("render", lambda worker, it: worker.forget(it.content)),
    requests.MeasureValues: RequestHandler("render", lambda worker, it: worker.measure(it.content)),
    requests.ProbePixel: RequestHandler("quick", lambda worker, it: worker.probe(it.content)),
    requests.Slice: RequestHandler("quick", lambda w, it: w.send_array(*slices.cut(it.content, w.sources))),
    requests.MeasureSlice: RequestHandler(
        "quick", lambda w, it: w.send_reply(slices.measure_slice(it.content, w.sources))
    ),
    requests.SampleLine: RequestHandler("quick", lambda worker, it: worker.sample_line(it.content)),
    requests.Inspect: RequestHandler("quick", lambda worker, it: worker.inspect(it.content)),
    requests.Describe: RequestHandler("slow", lambda worker, it: worker.describe(it.content)),
    requests.Retrieve: RequestHandler("slow", lambda worker, it: worker.retrieve(it.content)),
    requests.SuggestParts: RequestHandler("slow", lambda worker, it: worker.suggest_parts(it.content)),
    requests.FindAxis: RequestHandler("slow", lambda worker, it: worker.find_axis(it.content)),
    requests.Export: RequestHandler("slow", lambda worker, it: worker.export(it.content, it.cancel), True),
    requests.MeasureLabels: RequestHandler(
        "measure", lambda w, it: w.send_array(*measure_labels(it.content, w.sources, it.cancel)), is_cancellable=True
    ),
    requests.MeasureRegion: RequestHandler(
        "measure", lambda w, it: w.send_reply(measure_region(it.content, w.sources, it.cancel)), is_cancellable=True
    ),
    requests.DescribeScan: RequestHandler("preview", lambda worker, it: worker.describe_scan(it.content)),
    requests.MakePreview: RequestHandler("preview", lambda w, it: w.make_preview(it.content, it.cancel), True),
}  # fmt: skip
"""Every request of the protocol; a test compares."""


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
    """End when the other end of the line is gone, also while the device is still being prepared."""
    watch = select.poll()
    watch.register(descriptor, select.POLLRDHUP)
    watch.poll()
    os._exit(0)


def main() -> None:
    """Exit codes: 0 when the line ended, 2 when the device is not there."""
    connection = socket.socket(fileno=int(sys.argv[1]))
    threading.Thread(target=_end_with, args=(connection.fileno(),), name="pellucid-end", daemon=True).start()
    line = MessageChannel(connection)
    handler = logging.StreamHandler()
    handler.setFormatter(PrintableFormatter("pellucid worker: %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    try:
        worker = WorkerMain(line, sys.argv[2] if len(sys.argv) > 2 else None)
    except PellucidError as error:
        line.send(messages.to_message(replies.Failed(-1, -1, type(error).__name__, error.what, error.remedy)))
        os._exit(2)
    runtime.on_compiling(worker.compiling)
    with progress.use(progress.Callbacks(worker.report, worker.note)):
        try:
            worker.run()
        except (EOFError, OSError):
            os._exit(0)


if __name__ == "__main__":
    main()
