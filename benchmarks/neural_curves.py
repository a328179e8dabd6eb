"""PSNR over bytes as a plot, one panel for every volume.

Here: draw_curves.
Not here: what is plotted (neural).
"""

import math
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from benchmarks.neural_entries import AMGSRN, FVSRN, NGP, OURS, Entry

COLORS = {
    OURS: (200, 30, 30), AMGSRN: (240, 150, 60), FVSRN: (150, 120, 60), NGP: (110, 110, 110), "SPERR": (30, 90, 200),
    "SZ3": (30, 150, 90), "ZFP": (140, 80, 180), "subsampled": (170, 170, 170),
}  # fmt: skip
PANEL, MARGIN, COLUMNS = (330, 250), (44, 30), 4
BLACK, GREY = (30, 30, 30), (225, 225, 225)


def draw_curves(entries: Sequence[Entry], path: Path) -> None:
    """Write the plot."""
    shown = [entry for entry in entries if entry.psnr is not None and entry.nbytes]
    names = list(dict.fromkeys(entry.volume for entry in shown))
    rows = math.ceil(len(names) / COLUMNS) or 1
    image = Image.new("RGB", (COLUMNS * PANEL[0], rows * PANEL[1] + 24), "white")
    for number, name in enumerate(names):
        panel = _Panel(image, (number % COLUMNS * PANEL[0], number // COLUMNS * PANEL[1]))
        panel.draw(name, [entry for entry in shown if entry.volume == name])
    _legend(image, [name for name in COLORS if any(entry.method == name for entry in shown)])
    image.quantize(32).save(path, optimize=True)


def _legend(image: Image.Image, methods: Sequence[str]) -> None:
    draw, x, y = ImageDraw.Draw(image), MARGIN[0], image.height - 20
    for method in methods:
        draw.line([(x, y + 7), (x + 22, y + 7)], COLORS[method], 3)
        draw.text((x + 27, y), method, BLACK, _font(12))
        x += 45 + int(draw.textlength(method, _font(12)))


class _Panel:
    """Bytes along a logarithmic axis, dB along the other."""

    def __init__(self, image: Image.Image, corner: tuple[int, int]) -> None:
        self._draw, self._corner = ImageDraw.Draw(image), corner

    def draw(self, name: str, entries: Sequence[Entry]) -> None:
        sizes, values = [entry.nbytes for entry in entries], [entry.psnr or 0.0 for entry in entries]
        self._low = math.log10(min(sizes)) - 0.1, 10 * math.floor(min(values) / 10)
        self._high = math.log10(max(sizes)) + 0.1, 10 * math.ceil(max(values) / 10)
        self._axes(name)
        for method, color in COLORS.items():
            own = sorted((entry.nbytes, entry.psnr or 0.0) for entry in entries if entry.method == method)
            points = [self._place(math.log10(count), value) for count, value in own]
            if len(points) > 1:
                self._draw.line(points, color, 2)
            for x, y in points:
                self._draw.ellipse([x - 3, y - 3, x + 3, y + 3], color)

    def _axes(self, name: str) -> None:
        step = 10 if self._high[1] - self._low[1] <= 60 else 20
        for value in range(self._low[1], self._high[1] + 1, step):
            left, y = self._place(self._low[0], value)
            self._draw.line([(left, y), self._place(self._high[0], value)], GREY)
            self._draw.text((left - 28, y - 7), str(value), BLACK, _font(11))
        for power in range(math.ceil(self._low[0]), math.floor(self._high[0]) + 1):
            x, bottom = self._place(power, self._low[1])
            self._draw.line([(x, bottom), self._place(power, self._high[1])], GREY)
            self._draw.text((x - 14, bottom + 3), f"{10 ** (power - 3):,} kB", BLACK, _font(11))
        self._draw.text((self._corner[0] + MARGIN[0], self._corner[1] + 4), f"{name}: dB over bytes", BLACK, _font(13))

    def _place(self, power: float, value: float) -> tuple[float, float]:
        right, across = (power - self._low[0]) / (self._high[0] - self._low[0]), PANEL[0] - MARGIN[0] - 12
        up, down = (value - self._low[1]) / ((self._high[1] - self._low[1]) or 1), PANEL[1] - 2 * MARGIN[1]
        return self._corner[0] + MARGIN[0] + right * across, self._corner[1] + MARGIN[1] + (1 - up) * down


def _font(size: int) -> "ImageFont.FreeTypeFont | ImageFont.ImageFont":
    return ImageFont.load_default(size)
