"""What is kept of a network's output.

Here: OutputRule: labels, or the values of one channel.
Not here: running the network (prediction).
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from pellucid.conversion.values import ValueMap
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.infer.network_files.network import Network


@dataclass(frozen=True)
class OutputRule:
    """kind: labels (the channel with the largest value, or what is above the threshold), or the values of a channel.

    values: the voxel type of values, and the range that is mapped to it.
    """

    kind: Literal["labels", "values"] = "labels"
    threshold: float = 0.5
    channel: int = 0
    values: ValueMap = field(default_factory=lambda: ValueMap("float32"))

    @property
    def dtype(self) -> str:
        return "uint8" if self.kind == "labels" else self.values.dtype

    @property
    def reduce(self) -> str:
        """How coarser levels are made."""
        return "mode" if self.kind == "labels" else "mean"

    def __call__(self, output: Voxels) -> Voxels:
        """(channel, z, y, x) to (z, y, x)."""
        if self.kind == "values":
            return self.values.apply(output[self.channel])
        if len(output) == 1:
            return np.asarray(output[0] > self.threshold, np.uint8)
        return np.asarray(output.argmax(axis=0), np.uint8)


def label_rule(network: Network, threshold: float | None) -> OutputRule:
    """Labels of a network. Without a threshold: 0.5 where its output is a probability, else 0, as for logits."""
    if network.output_channels > 256:
        raise InvalidInput(
            f"{network.name} has {network.output_channels} classes, and labels are stored in 8 bits.",
            remedy="Use a network of at most 256 classes.",
        )
    if threshold is None:
        threshold = 0.5 if is_probability(network) else 0.0
    return OutputRule("labels", threshold)


def is_probability(network: Network) -> bool:
    named = {one.name for one in network.form.postprocess}
    return network.ends_in_probability or bool(named & {"sigmoid", "softmax", "binarize", "scale_range"})


def value_rule(network: Network, channel: int | None, values: ValueMap) -> OutputRule:
    count = network.output_channels
    if channel is None and count > 1:
        raise InvalidInput(
            f"The output of {network.name} has {count} channels, and a volume has one.",
            remedy=f"Choose one with --channel, from 0 to {count - 1}.",
        )
    if not 0 <= (channel or 0) < count:
        raise InvalidInput(f"{network.name} has no channel {channel}.", remedy=f"Choose one from 0 to {count - 1}.")
    return OutputRule("values", channel=channel or 0, values=values)
