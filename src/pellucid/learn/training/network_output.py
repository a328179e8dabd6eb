"""The folder of a trained network as an output: it grows beside its final name, with the state of its training.

Here: trained_network.
Not here: the loop (loop), what is exported (network_folder).
"""

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

from pellucid.engines.engine import Engine
from pellucid.engines.output_check import check_output
from pellucid.engines.partial_output import PartialOutput
from pellucid.errors import PellucidError
from pellucid.formats.fingerprint import fingerprint
from pellucid.formats.location import Location
from pellucid.learn.training.loop import LearningResult
from pellucid.learn.training.objective import TrainingJob
from pellucid.learn.training.options import LearningControl
from pellucid.learn.training.running import train_on
from pellucid.learn.training.state_folder import CURVE, TrainingFolder
from pellucid.learn.training.time_limit import TimeLimitReached

VERSION = 1
TRAINING = "training"
Report = Callable[[LearningResult, Path, Path], None]
"""Called with what was measured, the folder of the training (with its previews) and that of the network."""


def trained_network(
    job: TrainingJob,
    output: Path,
    control: LearningControl,
    *,
    engine: Engine | None = None,
    overwrite: bool = False,
    report: Report | None = None,
) -> LearningResult:
    """Train, and write the folder of the network. Interrupted, or paused by its time limit, the same call continues."""
    check_output(output, job.inputs)
    with PartialOutput(Location(str(output.absolute())), overwrite=overwrite) as partial, partial.naming_target():
        partial.begin(training_key(job))
        growing = partial.folder / "network"
        shutil.rmtree(growing, ignore_errors=True)
        training = partial.folder / TRAINING
        try:
            reached = train_on(engine, job, training, growing, control)
        except PellucidError:
            if TrainingFolder(training).checkpoint().load() is None:
                partial.discard()  # Refused: nothing was learnt yet.
            raise
        if not reached.is_complete:
            raise TimeLimitReached(reached.curve)
        reached.curve.write(growing / CURVE)
        if report is not None:
            report(reached, training, growing)
        growing.rename(partial.output.local)
        partial.publish()
    return reached


def training_key(job: TrainingJob) -> str:
    """Changes with the inputs and with everything that changes the result."""
    prints = [fingerprint(Location.parse(one).absolute) for one in job.inputs]
    return hashlib.sha256(repr((VERSION, job, prints)).encode()).hexdigest()
