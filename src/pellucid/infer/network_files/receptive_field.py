"""The receptive field of a network: how far the result of a layer reaches into its input, along one axis.

Here: AxisReach, and how convolutions, poolings and resizing change it.
Not here: following a whole graph (graph).
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil


@dataclass(frozen=True)
class AxisReach:
    """Element p of a tensor depends on elements ``jump * p + low`` to ``jump * p + high`` of the input."""

    jump: Fraction = Fraction(1)
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(0)

    def gathered(self, stride: int, first: int, last: int) -> "AxisReach":
        """After a layer whose element p is made of elements ``stride * p + first`` to ``stride * p + last``."""
        return AxisReach(self.jump * stride, self.low + self.jump * first, self.high + self.jump * last)

    def spread(self, scale: Fraction, first: Fraction, last: Fraction) -> "AxisReach":
        """After a layer whose element p is made of elements ``p / scale + first`` to ``p / scale + last``."""
        return AxisReach(self.jump / scale, self.low + self.jump * first, self.high + self.jump * last)

    def joined(self, other: "AxisReach") -> "AxisReach":
        """After a layer that takes the same element of both."""
        return AxisReach(max(self.jump, other.jump), min(self.low, other.low), max(self.high, other.high))

    @property
    def radius(self) -> int:
        """How far an element of the output reaches at most, in elements of the input."""
        return max(0, ceil(-self.low), ceil(self.high + (1 - self.jump if self.jump < 1 else 0)))


def convolved(reach: AxisReach, kernel: int, stride: int, dilation: int, pad: int) -> AxisReach:
    """A convolution or a pooling. pad: before the first element."""
    return reach.gathered(stride, -pad, dilation * (kernel - 1) - pad)


def transposed(reach: AxisReach, kernel: int, stride: int, dilation: int, pad: int) -> AxisReach:
    """A transposed convolution.

    >>> transposed(AxisReach(Fraction(2)), kernel=2, stride=2, dilation=1, pad=0).jump
    Fraction(1, 1)
    """
    first, last = Fraction(pad - dilation * (kernel - 1), stride), Fraction(pad, stride)
    return reach.spread(Fraction(stride), first, last)


def resized(reach: AxisReach, scale: Fraction, mode: str, coordinates: str) -> AxisReach:
    """Nearest or linear resizing; cubic reaches one element further on both sides."""
    offset = Fraction(0) if coordinates == "asymmetric" else 1 / (2 * scale) - Fraction(1, 2)
    if mode == "nearest" and coordinates == "asymmetric":
        return reach.spread(scale, -(1 - 1 / scale) if scale > 1 else Fraction(-1), Fraction(0))
    if mode == "nearest":
        width = Fraction(1, 2)
    else:
        width = (1 - 1 / (2 * scale) if scale > 1 else Fraction(1)) + (1 if mode == "cubic" else 0)
    return reach.spread(scale, offset - width, offset + width)
