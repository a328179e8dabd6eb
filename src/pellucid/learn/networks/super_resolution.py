"""The networks for super-resolution: a generator, and a discriminator that learns beside it.

Here: GeneratorForm, Generator, Discriminator.
Not here: what they learn (superres).

The generator is that of the Parsl and N5 workflow: a convolution of 3 x 7 x 7, two transposed convolutions that double
the channels, six residual blocks, two convolutions back, a convolution of 3 x 7 x 7. The printed strides do not make a
volume finer; here each transposed convolution doubles the axes that are to be finer (our reading), there is one output
channel, and the result is added to linear interpolation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from pellucid.box import Shape

SLOPE = 0.1
BLOCKS = 6
PRINTED_WIDTH = 96
DISCRIMINATOR = (84, 168, 168, 336, 336, 84)
"""Filters of its layers, as printed."""


@dataclass(frozen=True)
class GeneratorForm:
    """factor: fine voxels for a coarse one, along (z, y, x), each 1, 2 or 4. width: filters of the first layer; 96 as
    printed. is_planar: kernels have one voxel along x, for what is learnt within slices."""

    factor: Shape = (4, 1, 1)
    width: int = PRINTED_WIDTH
    blocks: int = BLOCKS
    is_planar: bool = False

    @property
    def across(self) -> int:
        """Voxels of a kernel of 3 along x."""
        return 1 if self.is_planar else 3

    @property
    def strides(self) -> tuple[Shape, Shape]:
        """Of the two transposed convolutions.

        >>> GeneratorForm().strides, GeneratorForm((2, 4, 4)).strides
        (((2, 1, 1), (2, 1, 1)), ((2, 2, 2), (1, 2, 2)))
        """
        z, y, x = self.factor
        return (min(z, 2), min(y, 2), min(x, 2)), (max(1, z // 2), max(1, y // 2), max(1, x // 2))


class Generator(nn.Module):
    """(batch, 1, z, y, x) to a volume that is finer by the factor."""

    def __init__(self, form: GeneratorForm) -> None:
        super().__init__()
        self.form = form
        width, first, second = form.width, *form.strides
        x = form.across
        self.enter = nn.Sequential(_wide(1, width, x), nn.LeakyReLU(SLOPE))
        self.finer = nn.Sequential(_finer(width, 2 * width, first, x), _finer(2 * width, 4 * width, second, x))
        self.blocks = nn.Sequential(*(ResidualBlock(4 * width, x) for _ in range(form.blocks)))
        self.back = nn.Sequential(_layer(4 * width, 2 * width, across=x), _layer(2 * width, width, across=x))
        self.leave = _wide(width, 1, x)
        nn.init.zeros_(self.leave.weight)
        nn.init.zeros_(self.leave.bias)

    def forward(self, x: Tensor) -> Tensor:
        factors = tuple(float(factor) for factor in self.form.factor)
        coarse = functional.interpolate(x, scale_factor=factors, mode="trilinear")
        x = self.leave(self.back(self.blocks(self.finer(self.enter(x)))))
        return coarse + x.to(coarse.dtype)


class ResidualBlock(nn.Module):
    """Two convolutions, whose result is added to the input."""

    def __init__(self, width: int, across: int = 3) -> None:
        super().__init__()
        self.first = _layer(width, width, across=across)
        self.second = nn.Conv3d(width, width, (3, 3, across), padding=(1, 1, across // 2))
        nn.init.zeros_(self.second.weight)
        nn.init.zeros_(self.second.bias)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.second(self.first(x))


class Discriminator(nn.Module):
    """How real every part of a volume looks: (batch, 1, z, y, x) to (batch, 1, z / 4, y / 4, x / 4)."""

    def __init__(self, width: int = PRINTED_WIDTH) -> None:
        super().__init__()
        filters = [max(1, round(count * width / PRINTED_WIDTH)) for count in DISCRIMINATOR]
        layers: list[Any] = []
        before = 1
        for number, count in enumerate(filters):
            layers.append(_layer(before, count, stride=2 if number in (1, 3) else 1))
            before = count
        self.layers = nn.Sequential(*layers, nn.Conv3d(before, 1, 3, padding=1))

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.layers(x)
        return found


def _wide(inputs: int, outputs: int, across: int) -> Any:
    x = 7 if across > 1 else 1
    return nn.Conv3d(inputs, outputs, (3, 7, x), padding=(1, 3, x // 2))


def _layer(inputs: int, outputs: int, stride: int = 1, across: int = 3) -> nn.Sequential:
    made = nn.Conv3d(inputs, outputs, (3, 3, across), stride, padding=(1, 1, across // 2))
    nn.init.kaiming_normal_(made.weight, SLOPE)
    return nn.Sequential(made, nn.LeakyReLU(SLOPE))


def _finer(inputs: int, outputs: int, strides: Sequence[int], across: int) -> nn.Sequential:
    extra = tuple(stride - 1 for stride in strides)
    edges, around = (3, 3, across), (1, 1, across // 2)
    made = nn.ConvTranspose3d(inputs, outputs, edges, tuple(strides), padding=around, output_padding=extra)
    with torch.no_grad():
        # Every output voxel has so many fewer inputs.
        nn.init.kaiming_normal_(made.weight, SLOPE, mode="fan_out")
        made.weight *= float(torch.tensor(strides, dtype=torch.float32).prod().sqrt())
    return nn.Sequential(made, nn.LeakyReLU(SLOPE))
