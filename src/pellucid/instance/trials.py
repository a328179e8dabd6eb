"""Settings of a reconstruction, tried on the Worker's device.

Here: Trials: the pictures that somebody waits for, the latest for each place; what is known of a scan.
Not here: making them (workers.trials), making the volume (reconstruction).
"""

import asyncio
import io
from concurrent.futures import Future
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

from PIL import Image

from pellucid.errors import Cancelled, InvalidInput
from pellucid.formats.location import Location
from pellucid.formats.protocol import Voxels
from pellucid.formats.shared import SharedArray
from pellucid.instance.files import Roots
from pellucid.instance.protocol.reconstruction import (
    AxisRequest,
    FoundAxis,
    ReconstructionChoices,
    ScanChoice,
    ScanDescription,
    TrialHeader,
    TrialRequest,
)
from pellucid.instance.protocol.wire import Picture
from pellucid.tomo.filters import FILTERS, PADDINGS
from pellucid.tomo.reading.assembly import SEPARATOR, ScanOptions
from pellucid.tomo.reading.opening import is_scan
from pellucid.tomo.reading.suggestion import Suggestion
from pellucid.tomo.recipe import METHODS, Recipe
from pellucid.tomo.rings import METHODS as RINGS
from pellucid.workers.supervision import SupervisedWorker
from pellucid.workers.trial_commands import (
    AxisFound,
    DescribeScan,
    FindAxis,
    PartsSuggested,
    ScanDescribed,
    Subject,
    SuggestParts,
    Tried,
    TryScan,
)

JPEG_QUALITY = 88
CHOICES = ReconstructionChoices(tuple(FILTERS), RINGS, METHODS, PADDINGS)
SUBJECTS: dict[str, Subject] = {
    "projection": "projection",
    "sinogram": "sinogram",
    "slice": "slice",
    "before": "slice",
}


class Trials:
    """Called on the event loop."""

    def __init__(self, worker: SupervisedWorker, roots: Roots) -> None:
        self._worker, self._roots = worker, roots
        self._under_way: dict[tuple[str, str], tuple[int, Future[Any]]] = {}

    @property
    def is_busy(self) -> bool:
        """Whether somebody waits for a picture."""
        return bool(self._under_way)

    async def describe(self, asked: ScanChoice) -> ScanDescription:
        source = checked_scan(self._roots, asked.path, asked.options)
        question = lambda request: DescribeScan(request, source, asked.options)  # noqa: E731
        told: ScanDescribed = await asyncio.wrap_future(self._worker.ask("opening a scan", question))
        known = {name: value for name, value in asdict(told).items() if name != "request"}
        path = Location.parse(source).local
        return ScanDescription(path.name, **known, recipe=Recipe(), output=str(_output(path)), choices=CHOICES)

    async def parts(self, path: str) -> Suggestion:
        """What the datasets of a file might be."""
        source = self._roots.checked(path)
        question = lambda request: SuggestParts(request, source)  # noqa: E731
        told: PartsSuggested = await asyncio.wrap_future(self._worker.ask("looking into a file", question))
        return told.suggestion

    async def axis(self, asked: AxisRequest) -> FoundAxis:
        source = checked_scan(self._roots, asked.path, asked.options)
        question = lambda request: FindAxis(request, source, asked.options, asked.recipe)  # noqa: E731
        told: AxisFound = await asyncio.wrap_future(self._worker.ask("looking for the axis", question))
        return FoundAxis(told.center, told.slope)

    async def picture(self, asked: TrialRequest) -> Picture[TrialHeader]:
        """Cancelled where another was asked for in its place meanwhile."""
        _check_window(asked)
        source = checked_scan(self._roots, asked.path, asked.options)
        wish = TryScan(
            0, source, asked.options, SUBJECTS[asked.place], asked.index, asked.recipe, asked.edge, asked.window,
            asked.is_moving,
        )  # fmt: skip
        told, pixels = await self._latest((asked.client, asked.place), asked.number, wish)
        encoded = await asyncio.to_thread(_encoded, pixels, asked.is_moving)
        encoding: Literal["jpeg", "png"] = "jpeg" if asked.is_moving else "png"
        known = {name: value for name, value in asdict(told).items() if name != "request"}
        return Picture(TrialHeader(asked.place, asked.index, encoding, **known), encoded)

    def abandon(self, client: str) -> None:
        """Nobody waits any more for what a client has asked for."""
        for (asker, _), (_, future) in list(self._under_way.items()):
            if asker == client:
                self._worker.cancel(future)

    async def _latest(self, key: tuple[str, str], number: int, wish: TryScan) -> tuple[Tried, SharedArray]:
        latest, before = self._under_way.get(key, (0, None))
        if before is not None:
            if number < latest:  # It was given up already, and has been overtaken by what took its place.
                raise Cancelled("The preview")
            self._worker.cancel(before)
        future = self._worker.ask("trying a setting", lambda request: replace(wish, request=request))
        self._under_way[key] = (number, future)
        try:
            answer: tuple[Tried, SharedArray] = await asyncio.wrap_future(future)
        finally:
            if self._under_way.get(key) == (number, future):
                del self._under_way[key]
        return answer


def checked_scan(roots: Roots, path: str, options: ScanOptions) -> str:
    """The name of a scan in full; neither it nor a file that the options name may lie outside the roots."""
    source = roots.checked(path)
    scan = Location.parse(source).local
    folder = scan if scan.is_dir() else scan.parent
    several = (*options.flats.split(SEPARATOR), *options.darks.split(SEPARATOR))
    for text in map(str.strip, (options.projections, options.angles, *several)):
        # A pattern of files names the folder that they are in; an absolute name without a file is that of a dataset.
        inside = () if Path(text).is_absolute() else ((folder / text).parent,)
        for file in (Path(text), folder / text, *inside) if text else ():
            if _exists(file):
                roots.checked(str(file))
    return source


def is_scan_folder(folder: Path) -> bool:
    """Whether the files of a folder are a scan; one that has a scan among its folders is not."""
    return is_scan(folder) and not any(is_scan(path) for path in folder.iterdir() if path.is_dir())


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


def _check_window(asked: TrialRequest) -> None:
    if asked.window is not None and asked.window[0] >= asked.window[1]:
        raise InvalidInput("Black is not below white.", do="Give the lower value first.")


def _encoded(shared: SharedArray, is_moving: bool) -> bytes:
    stream = io.BytesIO()
    with shared:
        pixels: Voxels = shared.array
        if is_moving:
            Image.fromarray(pixels).save(stream, "jpeg", quality=JPEG_QUALITY)
        else:
            Image.fromarray(pixels).save(stream, "png", compress_level=1)
    return stream.getvalue()
