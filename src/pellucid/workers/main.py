"""A Worker, as a process: ``python -m pellucid.workers.main DESCRIPTOR DEVICE``.

Here: hearing commands and handing them to the threads that do them; signs of life.
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
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid import progress
from pellucid.box import triple
from pellucid.device import choose_all
from pellucid.errors import InvalidInput, PellucidError
from pellucid.formats.deadline import within_limit
from pellucid.formats.local_files import allow_only
from pellucid.formats.shared_memory import SharedArray
from pellucid.formats.system_errors import CLOSED, FULL, system_error
from pellucid.printable import PrintableFormatter
from pellucid.tomo.scan_files.dataset_guess import suggest
from pellucid.workers.channel import MessageChannel
from pellucid.workers.folder_limit import AllowFolders
from pellucid.workers.protocol import messages, replies, requests
from pellucid.workers.queries import describe, read
from pellucid.workers.queries.sources import MappedArray, Sources, shape_of
from pellucid.workers.render.render_thread import RenderThread
from pellucid.workers.render.renderers import RendererGroup

if TYPE_CHECKING:
    from pellucid.workers.queries.previews import PreviewRenderer

HEARTBEAT_S = 0.5
READERS = 2
log = logging.getLogger(__name__)


class WorkerMain:
    """Hears commands, and answers from whichever thread has done them."""

    def __init__(self, line: MessageChannel, device: str | None) -> None:
        self._line = line
        self._sources = Sources()
        self.drawing = RenderThread(RendererGroup(choose_all(device)), self)
        self._quick = ThreadPoolExecutor(READERS, thread_name_prefix="pellucid-quick")
        self._slow = ThreadPoolExecutor(READERS, thread_name_prefix="pellucid-slow")
        self._trying = ThreadPoolExecutor(1, thread_name_prefix="pellucid-trial")
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
            self._dispatch(messages.from_message(message), descriptor)

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

    def note(self, text: str) -> None:
        self.drawing.touch("compiling" if text.startswith("Compiling") else None)

    def _heartbeat_loop(self) -> None:
        pause = threading.Event()
        while not pause.wait(HEARTBEAT_S):
            stage, silence_s = self.drawing.stage
            self.send_reply(replies.Heartbeat(stage, silence_s))

    def _dispatch(self, command: Any, descriptor: int | None) -> None:
        match command:
            case requests.Draw():
                self.drawing.draw(command)
            case requests.Release(slot):
                self.drawing.slots.release(slot)
            case requests.TakeScreenshot():
                self.drawing.add_snapshot(command)
            case requests.Compile():
                self.drawing.add(lambda: self.drawing.compile(command))
            case requests.AddArray() | requests.RemoveArray() | requests.Measure():
                self.drawing.add(lambda: self._answering(command, lambda: self._arrange(command, descriptor)))
            case AllowFolders(folders):
                allow_only(folders)
            case requests.MarkChanged(source, boxes):
                self._sources.changed(source, boxes)
            case requests.Cancel(request):
                if request in self._cancels:
                    self._cancels[request].set()
            case requests.ProbePixel() | requests.Slice() | requests.SampleLine() | requests.Inspect():
                self._quick.submit(self._answering, command, lambda: self._read(command))
            case requests.DescribeScan() | requests.MakePreview():
                cancel = self._cancels[command.request] = threading.Event()
                self._trying.submit(self._answering, command, lambda: self._try(command, cancel))
            case _:
                self._slow.submit(self._answering, command, lambda: self._read(command))

    def _answering(self, command: Any, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001  # The edge of a thread: the error is sent, and the Worker continues.
            self.failed(error, request=command.request)

    def _arrange(self, command: Any, descriptor: int | None) -> None:
        """What arrays the device has."""
        match command:
            case requests.AddArray() if descriptor is not None:
                self._use(command, descriptor)
            case requests.RemoveArray():
                self._forget(command)
            case requests.Measure():
                self._measure(command)

    def _use(self, command: requests.AddArray, descriptor: int) -> None:
        with SharedArray(descriptor, command.shape, np.dtype(command.dtype)) as shared:
            array = shared.array  # It keeps the memory.
        if command.kind == "volume":
            mapped = MappedArray(array, command.spacing, command.unit)
            self.drawing.renderers.add(self._sources.use(command.source, mapped))
        else:
            self._sources.use_shape(shape_of(command, array))
        self.send_reply(replies.Done(command.request))
        if command.kind == "volume" and command.is_next:
            # While it is described. A volume that does not fit is an error when it is drawn.
            with suppress(PellucidError):
                self.drawing.renderers.load(command.source)

    def _measure(self, command: requests.Measure) -> None:
        """Cells know the range of a volume that the device has; what is left takes some time, but not the device."""
        known = self.drawing.renderers.value_range(command.source)
        work = lambda: self.send_reply(describe.measure(command, self._sources, known))  # noqa: E731
        self._slow.submit(self._answering, command, work)

    def _forget(self, command: requests.RemoveArray) -> None:
        self.drawing.renderers.forget(command.source)
        left = self._sources.forget(command.source)
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

        if self._sources.close_changed(command.source):
            self.drawing.add(lambda: self._answering(command, forget))
            is_done.wait()

    def _read(self, command: Any) -> None:
        match command:
            case requests.Describe():
                self._reload_changed(command)
                self.send_reply(describe.describe(command, self._sources))
            case requests.Inspect(source=source):
                self.send_reply(within_limit(source, lambda: describe.inspect(command)))
            case requests.ProbePixel():
                self.send_reply(read.probe(command, self.drawing.frame_at(command), self._sources))
            case requests.SampleLine():
                self.send_reply(read.profile(command, self._sources))
            case requests.Slice():
                self._cut(command)
            case requests.Retrieve():
                volume, shared = read.retrieve(command, self._sources)
                with shared:
                    answer = replies.Retrieved(command.request, triple(shared.shape), shared.dtype.str, volume.spacing)
                    self.send_reply(answer, shared.descriptor)
            case requests.Export():
                self._export(command)
            case requests.SuggestParts():
                suggestion = within_limit(command.source, lambda: suggest(command.source))
                self.send_reply(replies.PartsSuggested(command.request, suggestion))
            case requests.FindAxis():
                from pellucid.workers.queries.previews import find_axis

                self.send_reply(find_axis(command))

    def _cut(self, command: requests.Slice) -> None:
        pixels = read.cut(command, self._sources)
        with SharedArray.create(pixels.shape, np.uint8) as shared:
            np.copyto(shared.array, pixels)
            self.send_reply(replies.Sliced(command.request, pixels.shape[1], pixels.shape[0]), shared.descriptor)

    def _try(self, command: Any, cancel: threading.Event) -> None:
        try:
            if isinstance(command, requests.DescribeScan):
                self.send_reply(self._previews.describe(command))
                return
            answer, pixels = self._previews.image(command, cancel)
        finally:
            del self._cancels[command.request]
        with SharedArray.create(pixels.shape, np.uint8) as shared:
            np.copyto(shared.array, pixels)
            self.send_reply(answer, shared.descriptor)

    def _export(self, command: requests.Export) -> None:
        if self._exporting >= 0:
            raise InvalidInput("Another export is in progress.", remedy="Wait until it is finished, or cancel it.")
        cancel = self._cancels[command.request] = threading.Event()
        self._exporting = command.request
        try:
            read.export(command, self._sources, cancel)
        finally:
            self._exporting = -1
            del self._cancels[command.request]
        self.send_reply(replies.Done(command.request))


def _as_pellucid_error(error: Exception) -> PellucidError:
    """An error of ours as it is; others as something that a person can act on."""
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
    with progress.use(progress.Callbacks(worker.report, worker.note)):
        try:
            worker.run()
        except (EOFError, OSError):
            os._exit(0)


if __name__ == "__main__":
    main()
