"""Figures of reports: images side by side, and curves below them.

Here: Figure, Line.
Not here: which numbers (denoise).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from pellucid.formats.local_files import written_whole
from pellucid.formats.protocol import Voxels
from pellucid.learn.report.png import to_bytes

EDGE, GAP, TITLE, PLOT_HEIGHT = 380, 16, 22, 240
MARGIN_LEFT, MARGIN_BOTTOM = 64, 34
INK, FAINT, PAPER = (30, 30, 30), (210, 210, 210), (255, 255, 255)
COLORS = ((31, 119, 180), (214, 96, 20), (44, 140, 70), (150, 60, 160))
TICKS = 5


@dataclass(frozen=True)
class Line:
    """A curve in a plot."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass
class Figure:
    """images: (y, x) with a title, all shown in the same window of values. plots: with a title, the names of both axes,
    and their lines."""

    images: list[tuple[str, Voxels]] = field(default_factory=list)
    window: tuple[float, float] = (0.0, 1.0)
    plots: list[tuple[str, str, list[Line]]] = field(default_factory=list)

    def write(self, path: Path) -> None:
        with written_whole(path) as file:
            self.drawn().save(file, "PNG")

    def drawn(self) -> Image.Image:
        columns = max(len(self.images), 1 if self.plots else 0, 1)
        width = GAP + columns * (EDGE + GAP)
        images_height = (TITLE + EDGE + GAP) if self.images else 0
        canvas = Image.new("RGB", (width, GAP + images_height + len(self.plots) * (TITLE + PLOT_HEIGHT + GAP)), PAPER)
        draw = ImageDraw.Draw(canvas)
        for number, (title, image) in enumerate(self.images):
            left = GAP + number * (EDGE + GAP)
            draw.text((left, GAP), title, INK, _font())
            canvas.paste(_scaled(image, self.window), (left, GAP + TITLE))
        top = GAP + images_height
        for title, x_name, lines in self.plots:
            draw.text((GAP, top), title, INK, _font())
            _plot(draw, (GAP, top + TITLE, width - GAP, top + TITLE + PLOT_HEIGHT), x_name, lines)
            top += TITLE + PLOT_HEIGHT + GAP
        return canvas


def _scaled(image: Voxels, window: tuple[float, float]) -> Image.Image:
    """As large as its place; smaller images are enlarged pixel by pixel."""
    shown = Image.fromarray(to_bytes(image, window))
    factor = EDGE / max(shown.size)
    size = max(1, round(shown.width * factor)), max(1, round(shown.height * factor))
    return shown.resize(size, Image.Resampling.NEAREST if factor >= 1 else Image.Resampling.BOX)


def _plot(draw: ImageDraw.ImageDraw, area: tuple[int, int, int, int], x_name: str, lines: list[Line]) -> None:
    left, top, right, bottom = area[0] + MARGIN_LEFT, area[1], area[2], area[3] - MARGIN_BOTTOM
    xs, ys = (np.concatenate([np.asarray(getattr(line, axis), float) for line in lines]) for axis in "xy")
    low_x, high_x = float(xs.min()), float(max(xs.max(), xs.min() + 1e-12))
    low_y, high_y = _span(ys)
    for number in range(TICKS):
        part = number / (TICKS - 1)
        x, y = left + part * (right - left), bottom - part * (bottom - top)
        draw.line([(left, y), (right, y)], FAINT)
        draw.text((area[0], y - 7), f"{low_y + part * (high_y - low_y):.3g}", INK, _font())
        draw.text((x - (0 if number == 0 else 24), bottom + 4), f"{low_x + part * (high_x - low_x):.4g}", INK, _font())
    draw.text((right - 90, bottom + 18), x_name, INK, _font())
    for number, line in enumerate(lines):
        color = COLORS[number % len(COLORS)]
        across = left + (np.asarray(line.x, float) - low_x) / (high_x - low_x) * (right - left)
        down = bottom - np.clip((np.asarray(line.y, float) - low_y) / (high_y - low_y), 0, 1) * (bottom - top)
        draw.line(list(zip(across.tolist(), down.tolist(), strict=True)), color, 2)
        draw.text((right - 170, top + 4 + 16 * number), line.name, color, _font())


def _span(values: Voxels) -> tuple[float, float]:
    """All values, but for the largest few: the first losses would leave no room for the others."""
    low, high = float(values.min()), float(np.percentile(values, 98)) if len(values) > 50 else float(values.max())
    margin = 0.05 * (high - low) or max(abs(high), 1e-12) * 0.05
    return low - margin, high + margin


def _font() -> "ImageFont.ImageFont | ImageFont.FreeTypeFont":
    return ImageFont.load_default(13)
