"""A Worker that renders, as a process: ``python -m pellucid.workers.main DESCRIPTOR DEVICE``.

Here: WorkerMain, the service of the role "render"; HANDLERS, its requests with the thread that handles each.
Not here: receiving and replying (service), drawing (render), reading (queries), other roles (role_main).
"""

import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pellucid.box import triple
from pellucid.device import choose_all, runtime
from pellucid.errors import InvalidInput, PellucidError
from pellucid.formats.deadline import within_limit
from pellucid.formats.local_files import allow_only
from pellucid.rendering.scene import Scene
from pellucid.tomo.scan_files.dataset_guess import suggest
from pellucid.volume.open_files import OpenFiles
from pellucid.workers.channel import MessageChannel
from pellucid.workers.folder_limit import AllowFolders
from pellucid.workers.protocol import replies, requests
from pellucid.workers.queries import describe, framing, read, slices
from pellucid.workers.queries.measurements import measure_labels, measure_region
from pellucid.workers.queries.sources import Sources, handed_array
from pellucid.workers.render.render_thread import RenderThread
from pellucid.workers.render.renderers import RendererGroup
from pellucid.workers.service import RequestHandler, WorkerService, serve

if TYPE_CHECKING:
    from pellucid.workers.queries.previews import PreviewRenderer

POOLS: dict[str, int] = {"quick": 2, "slow": 2, "preview": 1, "measure": 2}
"""Threads that read, by what they are for."""
SMALL_SIZE = 64, 36
"""Of an image that is drawn to compile or load kernels."""
GUEST_RENDER = "render for guests"
"""The render thread, when it has nothing else to do."""


class WorkerMain(WorkerService):
    """The service of the role "render": it draws, and reads what is drawn."""

    threads = POOLS

    def __init__(self, line: MessageChannel, device: str | None) -> None:
        super().__init__(line)
        files = OpenFiles()
        self.sources = Sources(files)
        self.drawing = RenderThread(self.make_renderers(device, files), self)
        self._exporting = -1

    def make_renderers(self, device: str | None, files: OpenFiles) -> RendererGroup:
        """What draws. files: opens what is drawn."""
        return RendererGroup(choose_all(device), files)

    @cached_property
    def _previews(self) -> "PreviewRenderer":
        # What reconstructs takes as long to import as all else of a Worker, and few viewers need it.
        from pellucid.workers.queries.previews import PreviewRenderer

        return PreviewRenderer(self.drawing.renderers.devices[0])

    @property
    def device_name(self) -> str:
        return self.drawing.renderers.names

    def start(self) -> None:
        runtime.on_compiling(self.compiling)
        threading.Thread(target=self.drawing.run, name="pellucid-drawing", daemon=True).start()

    @property
    def stage(self) -> tuple[replies.Stage, float]:
        return self.drawing.stage

    def touch(self) -> None:
        self.drawing.touch()

    def compiling(self) -> None:
        self.drawing.touch("compiling")

    @property
    def exporting(self) -> int:
        return self._exporting

    def _run_on(self, thread: str, work: Callable[[], None]) -> None:
        if thread == "render":
            self.drawing.add(work)
        elif thread == GUEST_RENDER:
            self.drawing.add_for_guest(work)
        else:
            super()._run_on(thread, work)

    def use(self, command: requests.AddArray, descriptor: int | None) -> None:
        volume = self.sources.add(command, handed_array(command, descriptor))
        if volume is not None:
            self.drawing.renderers.add(volume)
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
        described = describe.describe(command, self.sources)
        self.send_reply(described)
        if described.volume is not None and described.facts is not None and described.facts.is_estimated:
            self._prepare_first_image(Scene(volumes=(described.volume,), camera=described.camera))

    def _prepare_first_image(self, scene: Scene) -> None:
        """Compile or load what draws the first image, while its page is being opened."""

        def draw() -> None:
            with suppress(Exception):  # What fails here fails again when the page requests it, and is reported then.
                self.drawing.renderers.draw_first(scene, *SMALL_SIZE, lambda: self.drawing.is_wanted)

        self.drawing.add_for_guest(draw)

    def inspect(self, command: requests.Inspect) -> None:
        self.send_reply(within_limit(command.source, lambda: describe.inspect(command)))

    def probe(self, command: requests.ProbePixel) -> None:
        self.send_reply(read.probe(command, self.drawing.frame_at(command), self.sources))

    def probe_position(self, command: requests.ProbePosition) -> None:
        self.send_reply(read.probe_position(command, self.sources))

    def draw_slice(self, command: requests.DrawSlice, cancel: threading.Event) -> None:
        def is_cancelled() -> bool:
            gives_way = command.is_for_guest and command.is_exact  # What is loaded is drawn in no time.
            return cancel.is_set() or (gives_way and self.drawing.is_wanted)

        pixels, is_complete = self.drawing.renderers.draw_slice(
            command.layers, command.image, command.time, is_exact=command.is_exact, is_cancelled=is_cancelled
        )
        size = command.image.width, command.image.height
        self.send_array(replies.SliceDrawn(command.request, *size, is_complete), pixels)

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

    def export(self, command: requests.Export, cancel: threading.Event) -> None:
        if self._exporting >= 0:
            raise InvalidInput("Another export is in progress.", remedy="Wait until it is finished, or cancel it.")
        self._exporting = command.request
        try:
            read.export(command, self.sources, cancel)
        finally:
            self._exporting = -1
        self.send_reply(replies.Done(command.request))


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
    requests.DrawSlice: RequestHandler(
        "render", lambda worker, it: worker.draw_slice(it.content, it.cancel), True, GUEST_RENDER
    ),
    requests.ProbePosition: RequestHandler("quick", lambda worker, it: worker.probe_position(it.content)),
    requests.MeasureSlice: RequestHandler(
        "quick", lambda w, it: w.send_reply(slices.measure_slice(it.content, w.sources))
    ),
    requests.MeasureOblique: RequestHandler(
        "measure", lambda w, it: w.send_reply(slices.measure_oblique(it.content, w.sources, it.cancel)), True
    ),
    requests.SampleLine: RequestHandler("quick", lambda worker, it: worker.sample_line(it.content)),
    requests.Inspect: RequestHandler("quick", lambda worker, it: worker.inspect(it.content)),
    requests.Describe: RequestHandler("slow", lambda worker, it: worker.describe(it.content)),
    requests.FitCamera: RequestHandler("slow", lambda w, it: w.send_reply(framing.fit(it.content, w.sources))),
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
"""Requests of this role; a test compares all roles with the protocol."""
WorkerMain.handlers = HANDLERS


def main() -> None:
    serve(int(sys.argv[1]), lambda channel: WorkerMain(channel, sys.argv[2] if len(sys.argv) > 2 else None))


if __name__ == "__main__":
    main()
