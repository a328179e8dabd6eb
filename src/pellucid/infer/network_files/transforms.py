"""What is done to values before and after a network, under bioimage.io's names.

Here: ValueTransform, parsing one, applying a list of them to windows.
Not here: the statistics that they use (statistics), when they are applied (prediction).

Statistics are those of the whole volume, also where a manifest says "per sample": a result must not depend on the
window.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.choices import check_choice
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.infer.statistics import ValueStatistics

Statistics = Sequence[ValueStatistics]
"""One for all channels, or one for each."""


@dataclass(frozen=True)
class ValueTransform:
    """name: as in bioimage.io. arguments: by name, as pairs, so that it can be compared and sent."""

    name: str
    arguments: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        check_choice("transform", self.name, sorted(TRANSFORMS))

    @property
    def options(self) -> dict[str, Any]:
        return dict(self.arguments)

    @classmethod
    def make(cls, name: str, arguments: Mapping[str, Any]) -> "ValueTransform":
        return cls(name, tuple(sorted((key, _frozen(value)) for key, value in arguments.items())))

    @classmethod
    def parse(cls, text: str) -> "ValueTransform":
        """``sigmoid`` or ``scale_linear:gain=2,offset=-1``.

        >>> ValueTransform.parse("scale_linear:gain=2,offset=-1").arguments
        (('gain', 2.0), ('offset', -1.0))
        """
        name, _, rest = text.partition(":")
        try:
            pairs = (part.partition("=") for part in rest.split(",") if part)
            return cls.make(name, {key.strip(): float(value) for key, _, value in pairs})
        except ValueError:
            raise InvalidInput(
                f"Invalid transform {text!r}.", remedy="Write NAME or NAME:KEY=NUMBER, such as scale_linear:gain=2."
            ) from None

    @property
    def percents(self) -> tuple[float, ...]:
        """The percentiles that it needs."""
        if self.name != "scale_range":
            return ()
        return (float(self.options.get("min_percentile", 0.0)), float(self.options.get("max_percentile", 100.0)))

    @property
    def needs_statistics(self) -> bool:
        return self.name == "scale_range" or (self.name == "zero_mean_unit_variance" and "mean" not in self.options)


def apply_transforms(transforms: Sequence[ValueTransform], windows: Voxels, statistics: Statistics) -> Voxels:
    """windows: (window, channel, z, y, x)."""
    for one in transforms:
        windows = TRANSFORMS[one.name](windows, one.options, statistics)
    return windows


def _frozen(value: Any) -> Any:
    return tuple(_frozen(one) for one in value) if isinstance(value, list | tuple) else value


def _by_channel(value: Any) -> Any:
    """A number, or one for each channel."""
    values = np.asarray(value, np.float32).reshape(-1)
    return values[0] if values.size == 1 else values[None, :, None, None, None]


def _unit_variance(windows: Voxels, options: dict[str, Any], statistics: Statistics) -> Voxels:
    eps = float(options.get("eps", 1e-6))
    if "mean" in options:
        mean, std = options["mean"], options.get("std", 1.0)
    else:
        mean, std = [one.mean for one in statistics], [one.std for one in statistics]
    scaled: Voxels = (windows.astype(np.float32) - _by_channel(mean)) / (_by_channel(std) + np.float32(eps))
    return scaled


def _scale_range(windows: Voxels, options: dict[str, Any], statistics: Statistics) -> Voxels:
    low, high = ValueTransform.make("scale_range", options).percents
    eps = np.float32(options.get("eps", 1e-6))
    lows = _by_channel([one.percentiles[low] for one in statistics])
    highs = _by_channel([one.percentiles[high] for one in statistics])
    scaled: Voxels = (windows.astype(np.float32) - lows) / (highs - lows + eps)
    return scaled


def _scale_linear(windows: Voxels, options: dict[str, Any], _: Statistics) -> Voxels:
    gain, offset = _by_channel(options.get("gain", 1.0)), _by_channel(options.get("offset", 0.0))
    scaled: Voxels = windows.astype(np.float32) * gain + offset
    return scaled


def _binarize(windows: Voxels, options: dict[str, Any], _: Statistics) -> Voxels:
    return np.asarray(windows > _by_channel(options.get("threshold", 0.5)), np.float32)


def _clip(windows: Voxels, options: dict[str, Any], _: Statistics) -> Voxels:
    return np.clip(windows, options.get("min", -np.inf), options.get("max", np.inf))


def _sigmoid(windows: Voxels, _: dict[str, Any], __: Statistics) -> Voxels:
    halves: Voxels = np.tanh(windows.astype(np.float32) * np.float32(0.5))  # No overflow, whatever the value.
    halves += 1
    halves *= np.float32(0.5)
    return halves


def _softmax(windows: Voxels, _: dict[str, Any], __: Statistics) -> Voxels:
    powers: Voxels = np.exp(windows.astype(np.float32) - windows.max(axis=1, keepdims=True))
    powers /= powers.sum(axis=1, keepdims=True)
    return powers


def _ensure_dtype(windows: Voxels, options: dict[str, Any], _: Statistics) -> Voxels:
    return windows.astype(np.dtype(str(options.get("dtype", "float32"))))


TRANSFORMS: dict[str, Callable[[Voxels, dict[str, Any], Statistics], Voxels]] = {
    "binarize": _binarize,
    "clip": _clip,
    "ensure_dtype": _ensure_dtype,
    "scale_linear": _scale_linear,
    "scale_range": _scale_range,
    "sigmoid": _sigmoid,
    "softmax": _softmax,
    "zero_mean_unit_variance": _unit_variance,
}
