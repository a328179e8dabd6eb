"""The folder of one training: its checkpoint, its curve, and a request to end it.

Here: TrainingFolder, with the names of all files in it.
Not here: what a checkpoint has in it (loop), the finished network (network_folder). Nothing here needs PyTorch.
"""

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.formats.local_files import written_whole
from pellucid.formats.protocol import Voxels
from pellucid.learn.report.png import png_bytes
from pellucid.learn.training.curve import LearningCurve, read_curve
from pellucid.neural.checkpoints import Arrays, TrainingCheckpoint

CHECKPOINT, CURVE, STOP, STATE, EVENTS = "checkpoint.npz", "curve.json", "stop", "state.json", "events"
PREVIEWS = "preview-*.png"


@dataclass(frozen=True)
class TrainingFolder:
    """Files that others may read while training runs: ``curve.json``, ``state.json`` and ``preview-NAME.png``. A file
    called ``stop`` ends the training after the next step; the network is kept as it is then."""

    path: Path

    def checkpoint(self) -> TrainingCheckpoint:
        return TrainingCheckpoint(self.path / CHECKPOINT)

    @property
    def events(self) -> Path:
        """For TensorBoard."""
        return self.path / EVENTS

    @property
    def curve(self) -> LearningCurve | None:
        return read_curve(self.path / CURVE)

    @property
    def is_stop_requested(self) -> bool:
        return (self.path / STOP).exists()

    @property
    def can_stop(self) -> bool:
        """Whether a training runs here that was not asked to stop yet."""
        return self.state == "running" and not self.is_stop_requested

    def request_stop(self) -> None:
        """End the training after its next step; the network is kept as it is then."""
        if self.state != "running":
            raise InvalidInput("The training is not running.", remedy="Wait until it has begun.")
        (self.path / STOP).touch()

    def write_curve(self, curve: LearningCurve) -> None:
        curve.write(self.path / CURVE)

    def write_state(self, state: str) -> None:
        """state: running, paused (by its time limit) or finished."""
        with written_whole(self.path / STATE) as file:
            file.write(json.dumps({"state": state, "process": os.getpid(), "time": time.time()}).encode())

    @property
    def state(self) -> str:
        """Empty where nothing has been trained here."""
        try:
            return str(json.loads((self.path / STATE).read_text())["state"])
        except (OSError, ValueError, KeyError):
            return ""

    def write_preview(self, images: dict[str, Voxels]) -> None:
        """images: (y, x) uint8."""
        for name, image in images.items():
            with written_whole(self.preview(name)) as file:
                file.write(png_bytes(image))

    def preview(self, name: str) -> Path:
        """The latest image of a name."""
        return self.path / PREVIEWS.replace("*", name)


def text_array(text: str) -> Voxels:
    """A text among the arrays of a checkpoint."""
    return np.frombuffer(text.encode(), np.uint8)


def array_text(arrays: Arrays, name: str) -> str:
    return bytes(arrays[name]).decode()
