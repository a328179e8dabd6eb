"""Previews of reconstruction settings, made on the Worker's device.

Here: PreviewRequests: the previews that clients wait for, the latest for each view; facts of a scan.
Not here: making them (workers.queries.previews), making the volume (reconstruction).
"""

import asyncio
import io
from concurrent.futures import Future
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pellucid.errors import Cancelled, InvalidInput
from pellucid.formats.location import Location
from pellucid.formats.protocol import Voxels
from pellucid.formats.shared_memory import SharedArray
from pellucid.instance.access.roots import Roots
from pellucid.instance.protocol.codec import EncodedFrame
from pellucid.instance.protocol.reconstruction import (
    AxisRequest,
    AxisResult,
    PreviewEncoding,
    PreviewHeader,
    PreviewRequest,
    ReconstructionChoices,
    ScanDescription,
    ScanRequest,
)
from pellucid.tomo.correction.rings import METHODS as RINGS
from pellucid.tomo.methods.filters import FILTERS, PADDINGS
from pellucid.tomo.recipe import METHODS, Recipe
from pellucid.tomo.scan_files.assembly import SEPARATOR, ScanOptions
from pellucid.tomo.scan_files.dataset_guess import Suggestion
from pellucid.tomo.scan_files.scan_facts import ScanFacts
from pellucid.workers.protocol.replies import AxisFound, PartsSuggested, PreviewMade, ScanDescribed
from pellucid.workers.protocol.requests import DescribeScan, FindAxis, MakePreview, Subject, SuggestParts
from pellucid.workers.supervisor import SupervisedWorker

JPEG_QUALITY = 88
CHOICES = ReconstructionChoices(tuple(FILTERS), RINGS, METHODS, PADDINGS)
SUBJECTS: dict[str, Subject] = {
    "projection": "projection",
    "sinogram": "sinogram",
    "slice": "slice",
    "before": "slice",
}


class PreviewRequests:
    """Called on the event loop. facts: of the scans that were described, by their paths."""

    def __init__(self, worker: SupervisedWorker, roots: Roots) -> None:
        self._worker, self._roots = worker, roots
        self.facts: dict[str, ScanFacts] = {}
        self._under_way: dict[tuple[str, str], tuple[int, Future[Any]]] = {}

    @property
    def is_busy(self) -> bool:
        """Whether a client waits for an image."""
        return bool(self._under_way)

    async def describe(self, requested: ScanRequest) -> ScanDescription:
        source = checked_scan(self._roots, requested.path, requested.options)
        question = lambda request: DescribeScan(request, source, requested.options)  # noqa: E731
        reply: ScanDescribed = await asyncio.wrap_future(self._worker.send_request("opening a scan", question))
        path = Location.parse(source).local
        known = vars(replace(reply.facts, name=path.name))
        self.facts[requested.path] = reply.facts
        return ScanDescription(**known, recipe=Recipe(), output=str(_output(path)), choices=CHOICES)

    async def parts(self, path: str) -> Suggestion:
        """What the datasets of a file might be."""
        source = self._roots.require_allowed(path)
        question = lambda request: SuggestParts(request, source)  # noqa: E731
        reply: PartsSuggested = await asyncio.wrap_future(self._worker.send_request("inspecting a file", question))
        return reply.suggestion

    async def axis(self, requested: AxisRequest) -> AxisResult:
        source = checked_scan(self._roots, requested.path, requested.options)
        question = lambda request: FindAxis(request, source, requested.options, requested.recipe)  # noqa: E731
        reply: AxisFound = await asyncio.wrap_future(self._worker.send_request("finding the rotation axis", question))
        return AxisResult(reply.center, reply.slope)

    async def image(self, request: PreviewRequest) -> EncodedFrame[PreviewHeader]:
        """Cancelled where another was asked for in its place meanwhile."""
        _check_window(request)
        source = checked_scan(self._roots, request.path, request.options)
        is_deep = request.is_deep and not request.is_moving
        options = MakePreview(
            0,
            source,
            request.options,
            SUBJECTS[request.place],
            request.index,
            request.recipe,
            request.edge,
            request.window,
            request.is_moving,
            is_deep,
        )
        reply, pixels = await self._latest((request.client, request.place), request.number, options)
        encoding: PreviewEncoding = "jpeg" if request.is_moving else "grey16" if is_deep else "png"
        encoded = await asyncio.to_thread(_encoded, pixels, encoding)
        known = {name: value for name, value in asdict(reply).items() if name != "request"}
        return EncodedFrame(PreviewHeader(request.place, request.index, encoding, **known), encoded)

    def cancel_client(self, client: str) -> None:
        """Cancel all previews of a client."""
        for (asker, _), (_, future) in list(self._under_way.items()):
            if asker == client:
                self._worker.cancel(future)

    async def _latest(self, key: tuple[str, str], number: int, options: MakePreview) -> tuple[PreviewMade, SharedArray]:
        latest, before = self._under_way.get(key, (0, None))
        if before is not None:
            if number < latest:  # It was given up already, and has been overtaken by what took its place.
                raise Cancelled("The preview")
            self._worker.cancel(before)
        future = self._worker.send_request("making a preview", lambda request: replace(options, request=request))
        self._under_way[key] = (number, future)
        try:
            answer: tuple[PreviewMade, SharedArray] = await asyncio.wrap_future(future)
        finally:
            if self._under_way.get(key) == (number, future):
                del self._under_way[key]
        return answer


def checked_scan(roots: Roots, path: str, options: ScanOptions) -> str:
    """The name of a scan in full; neither it nor a file that the options name may lie outside the roots."""
    source = roots.require_allowed(path)
    scan = Location.parse(source).local
    folder = scan if scan.is_dir() else scan.parent
    several = (*options.flats.split(SEPARATOR), *options.darks.split(SEPARATOR))
    for text in map(str.strip, (options.projections, options.angles, *several)):
        # A pattern of files names the folder that they are in; an absolute name without a file is that of a dataset.
        inside = () if Path(text).is_absolute() else ((folder / text).parent,)
        for file in (Path(text), folder / text, *inside) if text else ():
            if _exists(file):
                roots.require_allowed(str(file))
    return source


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # A name that no file can have: it is that of a dataset.
        return False


def _output(scan: Path) -> Path:
    """Beside the scan, with a name that is not taken."""
    stem = scan.name if scan.is_dir() else scan.stem
    names = [f"{stem}.zarr", *(f"{stem}-{number}.zarr" for number in range(2, 100))]
    return next((path for name in names if not (path := scan.parent / name).exists()), scan.parent / names[0])


def _check_window(request: PreviewRequest) -> None:
    if request.window is not None and request.window[0] >= request.window[1]:
        raise InvalidInput("The black level must be below the white level.", remedy="Swap the two values.")


def _encoded(shared: SharedArray, encoding: PreviewEncoding) -> bytes:
    from PIL import Image  # A viewer that shows no scan starts sooner.

    stream = io.BytesIO()
    with shared:
        pixels: Voxels = shared.array
        if encoding == "grey16":
            return pixels.tobytes()
        if encoding == "jpeg":
            Image.fromarray(pixels).save(stream, "jpeg", quality=JPEG_QUALITY)
        else:
            Image.fromarray(pixels).save(stream, "png", compress_level=1)
    return stream.getvalue()
