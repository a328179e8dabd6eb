"""The report of a training: its curve, and a sample before and after.

Here: write_training_report.
Not here: drawing (figure).
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from pellucid.formats.local_files import write_whole
from pellucid.learn.report.figure import Figure, Line
from pellucid.learn.training.curve import LearningCurve

REPORT, IMAGE = "report.json", "report.png"


def write_training_report(curve: LearningCurve, previews: Path, folder: Path, facts: dict[str, Any]) -> None:
    """previews: the folder with ``preview-NAME.png``. folder: that of the network."""
    write_whole(folder / REPORT, json.dumps({**facts, "curve": vars(curve)}, indent=1, default=str) + "\n")
    images = []
    for path in sorted(previews.glob("preview-*.png"), reverse=True):
        with Image.open(path) as image:
            images.append((path.stem.removeprefix("preview-"), np.asarray(image)))
    figure = Figure(images, (0.0, 255.0))
    if curve.losses:
        figure.plots.append(("Loss", "step", curve_lines(curve)))
    figure.write(folder / IMAGE)


def curve_lines(curve: LearningCurve) -> list[Line]:
    """The losses by part, and the first number of the validations."""
    names = [name for name in curve.losses[0] if name != "step"]
    steps = [point["step"] for point in curve.losses]
    lines = [Line(f"training: {name}", steps, [point[name] for point in curve.losses]) for name in names]
    if curve.validations:
        first = next(name for name in curve.validations[0] if name != "step")
        held_out = [point["step"] for point in curve.validations]
        lines.append(Line("held out", held_out, [point[first] for point in curve.validations]))
    return lines
