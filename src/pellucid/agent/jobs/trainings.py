"""Trainings of networks that run as tasks, while they are watched.

Here: TaskTraining: the curves and images of a task that trains, and a request to end it.
Not here: training (learn), other progress (records).
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pellucid.engines.partial_output import SUFFIX
from pellucid.errors import NotFound
from pellucid.learn.denoise.output_names import TRAINING, kept_network, training_folder
from pellucid.learn.training.curve import LearningCurve
from pellucid.learn.training.state_folder import PREVIEWS, TrainingFolder

COMMANDS = ("denoise", "train")
OUTPUT_OPTIONS = ("-o", "--output")
STAGES = (TRAINING, "gan", "l1")
"""Folders in which a training may be, the latest stage first."""


@dataclass(frozen=True)
class TrainingImage:
    """version: changes with the image."""

    name: str
    version: int


@dataclass(frozen=True)
class TrainingProgress:
    """losses: one for every ``every`` steps. validations: the numbers of each by name, with its step. can_stop: it can
    be ended now, with its network kept."""

    step: int
    steps: int
    every: int
    seconds: float
    losses: tuple[float, ...]
    validations: tuple[dict[str, float], ...]
    images: tuple[TrainingImage, ...]
    can_stop: bool


@dataclass(frozen=True)
class TaskTraining:
    """folders: where its state may be, the first that exists; the last one is that of the finished network."""

    folders: tuple[Path, ...]

    @classmethod
    def of(cls, arguments: tuple[str, ...], folder: str) -> "TaskTraining | None":
        """Of a command that was started in a folder; None for one that does not train.

        >>> TaskTraining.of(("train", "segment", "-o", "net"), "/data").folders[-1]
        PosixPath('/data/net')
        >>> TaskTraining.of(("convert", "a.h5", "b.zarr"), "/data") is None
        True
        """
        output = _output(arguments)
        if not arguments or arguments[0] not in COMMANDS or output is None or "--network" in arguments:
            return None
        target = Path(folder) / output
        if arguments[0] == "denoise":
            return cls((training_folder(target), kept_network(target)))
        growing = target.with_name(f"{target.name}{SUFFIX}")
        return cls((*(growing / stage for stage in STAGES), target))

    @property
    def current(self) -> TrainingFolder:
        return TrainingFolder(next((one for one in self.folders if one.is_dir()), self.folders[-1]))

    def progress(self) -> dict[str, Any]:
        """A TrainingProgress as plain data."""
        folder = self.current
        curve = folder.curve or LearningCurve(0)
        images = [TrainingImage(path.stem.partition("-")[2], _version(path)) for path in sorted(_images(folder))]
        found = TrainingProgress(
            curve.step,
            curve.steps,
            curve.every,
            curve.seconds,
            curve.loss_values,
            tuple(curve.validations),
            tuple(images),
            folder.can_stop,
        )
        return asdict(found)

    def image(self, name: str) -> bytes:
        """A PNG of what the network does."""
        for path in _images(self.current):
            if _name(path) == name:
                return path.read_bytes()
        raise NotFound(f"The image {name} of the training")

    def stop(self) -> None:
        """End it after its next step; the network is kept."""
        self.current.request_stop()


def _images(folder: TrainingFolder) -> list[Path]:
    return list(folder.path.glob(PREVIEWS))


def _name(path: Path) -> str:
    """
    >>> _name(Path("preview-after.png"))
    'after'
    """
    return path.stem.partition("-")[2]


def _version(path: Path) -> int:
    """When it was written, in milliseconds."""
    try:
        return path.stat().st_mtime_ns // 1_000_000
    except OSError:
        return 0


def _output(arguments: tuple[str, ...]) -> str | None:
    for number, word in enumerate(arguments):
        name, separator, value = word.partition("=")
        if name in OUTPUT_OPTIONS:
            return value if separator else next(iter(arguments[number + 1 :]), None)
    return None
