"""U-Nets for slices, for slices with their neighbours as channels, and for volumes.

Here: UNetForm, UNet.
Not here: their way to ONNX (graph_export), what they learn (denoise).

Skip connections are added, not joined as channels, which halves what the finest layers compute. No normalisation
depends on the window: there is none, or batch normalisation, which is folded into the convolutions on export.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from pellucid.errors import InvalidInput

STEM, SLOPE = 16, 0.1
GROWTH = (1, 2, 4, 4, 4, 4)
"""Channels of each level, in those of the finest."""


@dataclass(frozen=True)
class UNetForm:
    """axes: 2 for slices, 3 for volumes. channels, outputs: of the input and the output. width: channels of the finest
    level. depth: how often it pools. is_normalised: batch normalisation. residual: the channel of the input to which
    the network adds its output; -1 for none. flat: poolings of a 3D network that leave z as it is, for thick slices."""

    axes: int = 2
    channels: int = 1
    outputs: int = 1
    width: int = 64
    depth: int = 3
    is_normalised: bool = True
    residual: int = -1
    flat: int = 0

    def __post_init__(self) -> None:
        if self.axes not in (2, 3) or min(self.channels, self.outputs, self.width) < 1 or not 1 <= self.depth <= 5:
            raise InvalidInput(
                f"A U-Net of {self.axes} axes, width {self.width} and depth {self.depth} does not exist.",
                remedy="Use 2 or 3 axes, a width from 1, and a depth from 1 to 5.",
            )

    def pooling(self, level: int) -> tuple[int, ...]:
        return (1, 2, 2) if self.axes == 3 and level < self.flat else (2,) * self.axes

    @property
    def step(self) -> tuple[int, ...]:
        """What the edges of a window are multiples of, along (z, y, x) or (y, x)."""
        edges = [1] * self.axes
        for level in range(self.depth):
            edges = [edge * factor for edge, factor in zip(edges, self.pooling(level), strict=True)]
        return tuple(edges)


class UNet(nn.Module):
    """(batch, channel, [z,] y, x) to the same size, with ``outputs`` channels."""

    def __init__(self, form: UNetForm) -> None:
        super().__init__()
        self.form = form
        widths = [form.width * growth for growth in GROWTH[: form.depth + 1]]
        first = STEM if form.channels > 1 else form.channels
        self.stem = _convolution(form.axes)(form.channels, first, 1) if form.channels > 1 else nn.Identity()
        self.down = nn.ModuleList([_Box(form, a, b) for a, b in zip([first, *widths], widths[:-1], strict=False)])
        self.bottom = _Box(form, widths[-2], widths[-1])
        coarse = [*(widths[n] for n in range(form.depth - 1)), widths[-1]]
        fine = [widths[max(n - 1, 0)] for n in range(form.depth)]
        self.up = nn.ModuleList([_Box(form, a, b) for a, b in zip(coarse, fine, strict=True)])
        self.skip = nn.ModuleList([_projection(form, a, b) for a, b in zip(widths[:-1], fine, strict=True)])
        half = max(form.width // 2, 1)
        self.head = nn.Sequential(
            _convolution(form.axes)(form.width, half, 1), _act(), _convolution(form.axes)(half, form.outputs, 1)
        )
        if form.residual >= 0:
            nn.init.zeros_(self.head[-1].weight)
            nn.init.zeros_(self.head[-1].bias)

    def forward(self, x: Tensor) -> Tensor:
        form, centre, fine = self.form, x, []
        x = self.stem(x)
        pool = functional.max_pool2d if form.axes == 2 else functional.max_pool3d
        for level, box in enumerate(self.down):
            x = box(x)
            fine.append(x)
            x = pool(x, form.pooling(level))
        x = self.bottom(x)
        for level in range(form.depth - 1, -1, -1):
            factors = tuple(float(factor) for factor in form.pooling(level))
            x = functional.interpolate(x, scale_factor=factors, mode="nearest")
            x = self.up[level](x, self.skip[level](fine[level]))
        x = self.head(x)
        if form.residual < 0:
            return x
        return centre[:, form.residual : form.residual + 1] + x.to(centre.dtype)


class _Box(nn.Module):
    """Two convolutions of 3; what comes from the finer level is added between them."""

    def __init__(self, form: UNetForm, inputs: int, outputs: int) -> None:
        super().__init__()
        self.first = _layer(form, inputs, outputs)
        self.second = _layer(form, outputs, outputs)

    def forward(self, x: Tensor, skip: Tensor | None = None) -> Tensor:
        x = self.first(x)
        return self.second(x if skip is None else x + skip)


def _layer(form: UNetForm, inputs: int, outputs: int) -> nn.Sequential:
    made = _convolution(form.axes)(inputs, outputs, 3, padding=1, bias=not form.is_normalised)
    nn.init.kaiming_normal_(made.weight, SLOPE)
    if not form.is_normalised:
        return nn.Sequential(made, _act())
    normalisation = nn.BatchNorm2d(outputs) if form.axes == 2 else nn.BatchNorm3d(outputs)
    return nn.Sequential(made, normalisation, _act())


def _projection(form: UNetForm, inputs: int, outputs: int) -> nn.Module:
    """To the number of channels of the way up, where it is another."""
    return nn.Identity() if inputs == outputs else _convolution(form.axes)(inputs, outputs, 1)


def _convolution(axes: int) -> Any:
    return nn.Conv2d if axes == 2 else nn.Conv3d


def _act() -> nn.Module:
    return nn.LeakyReLU(SLOPE)


def multiply_adds(form: UNetForm) -> float:
    """For each pixel of the input.

    >>> round(multiply_adds(UNetForm(channels=11)) / 1000)
    310
    """
    network, counted = UNet(form).eval(), [0]

    def count(layer: Any, _: Any, output: Tensor) -> None:
        counted[0] += output[0, 0].numel() * layer.weight.numel()

    for layer in network.modules():
        if isinstance(layer, nn.Conv2d | nn.Conv3d):
            layer.register_forward_hook(count)
    edges = [step * 2 for step in form.step]
    with torch.no_grad():
        network(torch.zeros(1, form.channels, *edges))
    pixels = 1
    for edge in edges:
        pixels *= edge
    return counted[0] / pixels
