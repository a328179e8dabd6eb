"""Denoising a scan in the background: a command with a recipe file, as a task, and its training to be watched.

Here: DenoisingStore: the denoising of every scan, how far it is, its images; ending a training with its network kept.
Not here: what it does (learn, by way of the command line), the process (command_run).

Stopped, the same request continues where the training was.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pellucid.dataclass_json import check_storable
from pellucid.errors import InvalidInput, NotFound, OutputExists
from pellucid.formats.location import Location
from pellucid.instance.protocol.denoising_bodies import (
    DenoisedSide,
    DenoisingRegion,
    DenoisingRequest,
    DenoisingStatus,
    ValidationPoint,
)
from pellucid.instance.reconstruction.agent_run import AgentRun
from pellucid.instance.reconstruction.command_run import CommandRun
from pellucid.instance.reconstruction.previews import checked_scan
from pellucid.instance.tasks.runner import CommandRequest
from pellucid.learn.denoise.output_names import kept_network, report_file, training_folder
from pellucid.learn.training.curve import LearningCurve
from pellucid.learn.training.state_folder import TrainingFolder
from pellucid.tomo.command_line import ReconstructionParameters, recipe_text

if TYPE_CHECKING:
    from pellucid.instance.session import Session

WHAT = "The denoising"
MAX_KEPT = 20


@dataclass(frozen=True)
class _Denoising:
    task: str
    scan: str
    output: str
    target: Path
    run: CommandRun | AgentRun

    @property
    def training(self) -> TrainingFolder:
        """While it runs; afterwards its curve and images are with the network."""
        running = TrainingFolder(training_folder(self.target))
        return running if running.path.exists() else TrainingFolder(kept_network(self.target))


class DenoisingStore:
    """The last denoising of each scan. Called on the event loop, but for ``status`` and ``image``, which read files."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self._known: dict[str, _Denoising] = {}

    def start(self, request: DenoisingRequest) -> str:
        """Begin; the id of the task."""
        check_storable(request, "the request")
        session = self._session
        source = checked_scan(session.roots, request.path, request.options)
        target = session.roots.require_allowed(request.output)
        _check(request, Path(target))
        words = _arguments(source, target, request)
        recipe = recipe_text(ReconstructionParameters(request.options, request.recipe))
        name = f"Denoising {Location.parse(request.path).name}"
        if session.runner is None:
            run: CommandRun | AgentRun = CommandRun(words, recipe, session, WHAT)
        else:
            device = ("--device", session.relay.device) if session.runner.is_here else ()
            files = {"--recipe": recipe}
            command = CommandRequest(name, (*words, *device), files, session.roots.readable)
            run = AgentRun(session.runner, command, session.tasks.folder, WHAT)

        async def work(id: str) -> None:
            await run.carry_out(id, session.tasks)

        task = session.tasks.start(name, work, run.stop)
        self._known.pop(request.path, None)
        self._known[request.path] = _Denoising(task, request.path, request.output, Path(target), run)
        while len(self._known) > MAX_KEPT:
            del self._known[next(iter(self._known))]
        return task

    def keep(self, task: str) -> None:
        """End a training after its next step; the network is kept as it is then, and applied."""
        self._of_task(task).training.request_stop()

    def status(self, scan: str) -> DenoisingStatus | None:
        one = self._known.get(scan)
        if one is None:
            return None
        status = self._session.tasks.status(one.task)
        folder = one.training
        curve = folder.curve or LearningCurve(0)
        is_running = status.state == "running"
        return DenoisingStatus(
            scan=one.scan,
            output=one.output,
            status=status,
            stage=one.run.progress.name if is_running and one.run.progress is not None else "",
            step=curve.step,
            steps=curve.steps,
            every=curve.every,
            losses=curve.loss_values,
            validations=tuple(
                ValidationPoint(int(point["step"]), point["error"], point["error_before"])
                for point in curve.validations
            ),
            is_training=is_running and folder.can_stop,
            images=_change_time(folder.preview("after")),
            sentences=_sentences(one.target) if status.state == "finished" else (),
        )

    def image(self, task: str, side: DenoisedSide) -> bytes:
        """A PNG of a held-out slice, before or after the network as it is now."""
        try:
            return self._of_task(task).training.preview(side).read_bytes()
        except OSError:
            raise NotFound(f"The image {side} of the denoising") from None

    def _of_task(self, task: str) -> _Denoising:
        for one in self._known.values():
            if one.task == task:
                return one
        raise NotFound(f"The denoising {task}")


def _check(request: DenoisingRequest, target: Path) -> None:
    if target.exists() and not request.is_replaced:
        raise OutputExists(request.output)
    names = [region.name for region in request.regions]
    if names and sorted(names) != ["air", "material"]:
        raise InvalidInput(
            f"The regions are {', '.join(names)}.", remedy="Draw one of material and one of air, or none."
        )


def _arguments(source: str, target: str, request: DenoisingRequest) -> list[str]:
    """What to write behind ``pellucid``, without the recipe."""
    words = ["denoise", source, "-o", target, "--preset", request.preset]
    words += ["--steps", str(request.steps)] if request.steps is not None else []
    for region in request.regions:
        words += ["--region", f"{region.name}={_box(region)}"]
    return words + (["--overwrite"] if request.is_replaced else [])


def _box(region: DenoisingRegion) -> str:
    """
    >>> _box(DenoisingRegion("air", (0, 1, 2), (8, 9, 10)))
    '0:8,1:9,2:10'
    """
    return ",".join(f"{start}:{stop}" for start, stop in zip(region.start, region.stop, strict=True))


def _change_time(path: Path) -> int:
    """In milliseconds; 0 where there is no file."""
    try:
        return path.stat().st_mtime_ns // 1_000_000
    except OSError:
        return 0


def _sentences(target: Path) -> tuple[str, ...]:
    """What the report says."""
    try:
        return tuple(str(one) for one in json.loads(report_file(target, ".json").read_text())["sentences"])
    except (OSError, ValueError, KeyError, TypeError):
        return ()
