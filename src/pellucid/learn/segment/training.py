"""``pellucid train segment``: from a volume and its labels to a network.

Here: train_segmentation, SegmentRequest.
Not here: the command (cli), what is learnt (objective), applying the network (infer).
"""

from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from pellucid.box import Box, Shape
from pellucid.engines.engine import Engine
from pellucid.errors import InvalidInput
from pellucid.formats.location import Location
from pellucid.infer.statistics import measure_statistics
from pellucid.learn.networks.unet import UNetForm
from pellucid.learn.report.training_report import write_training_report
from pellucid.learn.segment.objective import SegmentTraining, outputs_of
from pellucid.learn.segment.options import SegmentOptions
from pellucid.learn.training.loop import LearningResult
from pellucid.learn.training.network_output import trained_network
from pellucid.learn.training.options import LearningControl
from pellucid.learn.training.running import training_device
from pellucid.volume.volume import Volume, open_volume

MAX_CLASSES = 256


@dataclass(frozen=True)
class SegmentRequest:
    """volume, labels: of the same shape. output: the folder of the network. box: the labelled part; None for all."""

    volume: str
    labels: str
    output: Path
    box: str | None = None
    options: SegmentOptions = field(default_factory=SegmentOptions)


def train_segmentation(
    request: SegmentRequest,
    control: LearningControl | None = None,
    engine: Engine | None = None,
    *,
    overwrite: bool = False,
) -> LearningResult:
    """Train a network, and write its folder. Interrupted, the same call continues."""
    control = control or LearningControl()
    job = plan_training(request, training_device(engine, control))

    def report(reached: LearningResult, training: Path, folder: Path) -> None:
        facts = {"volume": job.volume, "labels": job.labels, "options": asdict(job.segment)}
        write_training_report(reached.curve, training, folder, facts)

    return trained_network(job, request.output, control, engine=engine, overwrite=overwrite, report=report)


def plan_training(request: SegmentRequest, device: str) -> SegmentTraining:
    """What can be refused before anything is trained is refused here."""
    locations = [str(Location.parse(one).absolute) for one in (request.volume, request.labels)]
    with ExitStack() as stack:
        volume, labels = (stack.enter_context(open_volume(one)) for one in locations)
        _check_pair(volume, labels)
        box = Box.parse(request.box, volume.shape) if request.box else volume.box
        options = request.options.fitted(device, box.shape)
        classes = _classes(labels, box, options)
        statistics = measure_statistics(volume)
        spacing = volume.spacing
    form = UNetForm(
        axes=options.axes,
        channels=options.channels,
        outputs=outputs_of(options, classes),
        width=options.width,
        depth=options.depth,
        is_normalised=False,
        flat=min(options.depth, flat_poolings(spacing)) if options.axes == 3 else 0,
    )
    name = Path(Location.parse(request.volume).path).name
    return SegmentTraining(locations[0], locations[1], box, form, options, statistics.mean, statistics.std or 1.0, name)


def flat_poolings(spacing: tuple[float, float, float]) -> int:
    """Poolings along y and x alone, until voxels are about as thick as wide.

    >>> flat_poolings((40.0, 10.0, 10.0)), flat_poolings((1.0, 1.0, 1.0)), flat_poolings((1.0, 2.0, 2.0))
    (2, 0, 0)
    """
    z, y, x = spacing
    return max(0, round(np.log2(z / np.sqrt(y * x)))) if min(spacing) > 0 else 0


def _check_pair(volume: Volume, labels: Volume) -> None:
    if volume.shape != labels.shape:
        raise InvalidInput(
            f"The volume has shape {volume.shape}, and the labels {labels.shape} (z, y, x).",
            remedy="Use labels of every voxel of the volume; those that are not known have a value of their own.",
        )
    if labels.dtype.kind == "f":
        raise InvalidInput(
            f"The labels are {labels.dtype}, not whole numbers.", remedy="Convert them, such as with --dtype uint32."
        )


def _classes(labels: Volume, box: Box, options: SegmentOptions) -> int:
    """How many; those of boundaries do not matter."""
    if options.target != "classes":
        return 0
    values: set[int] = set()
    for tile in box.tiles((64, *_rest(labels.shape))):
        values |= set(np.unique(labels.read(tile)).tolist())
    values -= {options.ignored} if options.ignored is not None else set()
    if len(values) < 2 or not 0 <= min(values) <= max(values) < MAX_CLASSES:
        raise InvalidInput(
            f"The labels have {len(values)} classes, from {min(values, default=0)} to {max(values, default=0)}.",
            remedy=f"Use at least 2, from 0 to {MAX_CLASSES - 1}; for objects with a number each, --target boundaries.",
        )
    return max(values) + 1


def _rest(shape: Shape) -> tuple[int, int]:
    return shape[1], shape[2]
