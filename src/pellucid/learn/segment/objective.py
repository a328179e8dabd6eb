"""What a segmentation network learns, and how it is exported.

Here: SegmentObjective; SegmentTraining, from which it is made in any process.
Not here: samples (samples), losses (targets), the loop (training).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from pellucid.box import Box, Shape, triple
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.learn.networks.network_folder import NetworkDescription, write_network
from pellucid.learn.networks.raw_values import RawValues
from pellucid.learn.networks.unet import UNet, UNetForm
from pellucid.learn.report.png import contrast, to_bytes
from pellucid.learn.segment.options import SegmentOptions
from pellucid.learn.segment.samples import LabelledSamples
from pellucid.learn.segment.targets import REACHES, boundary_loss, class_loss
from pellucid.learn.training.objective import Batch, Parts
from pellucid.learn.training.options import LearningOptions
from pellucid.volume.volume import Volume, open_volume

NETWORK = "network"
MAX_VALIDATED = 8
EXAMPLE_STEPS = 4
"""Edge of the test tensor, in steps of the network."""


class SegmentObjective:
    """volume, labels: open. request: what is trained."""

    def __init__(self, volume: Volume, labels: Volume, request: "SegmentTraining", device: str) -> None:
        self.request, self.device = request, device
        self.parts: dict[str, nn.Module] = {NETWORK: UNet(request.form)}
        options, box = request.segment, request.box
        learnt, held_out = _divided(box, options)
        neighbours = options.neighbours if options.kind == "2.5d" else 0
        facts = (neighbours, request.mean, request.std, options.ignored, options.is_isotropic)
        self._margin = 1 if options.axes == 2 and options.target == "boundaries" else 0
        self.samples = LabelledSamples(volume, labels, learnt, _patch(options), *facts, margin=self._margin)
        patch = triple(map(min, zip(_patch(options), _whole_steps(held_out.shape, options), strict=True)))
        self._held_out = LabelledSamples(volume, labels, held_out, patch, *facts, is_varied=False, margin=self._margin)

    def losses(self, batch: Batch) -> Iterator[tuple[str, Tensor]]:
        yield NETWORK, self._loss(self.parts[NETWORK], *batch)

    def _loss(self, network: nn.Module, voxels: Tensor, labels: Tensor) -> Tensor:
        options = self.request.segment
        logits = self._predicted(network, voxels)
        if options.target == "classes":
            return class_loss(logits, labels, options.ignored)
        return boundary_loss(logits, labels, options.ignored, options.boundary, self._margin)

    def _predicted(self, network: nn.Module, voxels: Tensor) -> Tensor:
        """(batch, channel, z, y, x), also from networks that see slices."""
        if self.request.form.axes == 3:
            found: Tensor = network(voxels)
            return found
        flat = voxels.flatten(1, 2).contiguous(memory_format=torch.channels_last)
        return network(flat).unsqueeze(2)

    def validate(self, parts: Parts) -> dict[str, float]:
        """The mean loss on the slices that are held out."""
        total = 0.0
        starts = self._starts()
        for start in starts:
            voxels, labels = self._tensors(self._held_out.at(start))
            total += float(self._loss(parts[NETWORK], voxels, labels))
        return {"error": total / len(starts)}

    def preview(self, parts: Parts) -> dict[str, Voxels]:
        """A slice that is held out, and what the network makes of it."""
        starts = self._starts()
        voxels, _ = self._tensors(self._held_out.at(starts[len(starts) // 2]))
        middle, centre = voxels.shape[2] // 2, voxels.shape[1] // 2
        before = voxels[0, centre, middle].cpu().numpy()
        logits = self._predicted(parts[NETWORK], voxels)[0, :, middle].float()
        if self.request.segment.target == "classes":
            after = logits.argmax(0).cpu().numpy() / max(1, self.request.form.outputs - 1)
        else:
            after = logits[:3].sigmoid().amax(0).cpu().numpy()
        return {"before": to_bytes(before, contrast(before)), "after": to_bytes(after, (0.0, 1.0))}

    def export(self, parts: Parts, folder: Path) -> None:
        request, options = self.request, self.request.segment
        network, outputs = parts[NETWORK], request.form.outputs
        if options.target == "boundaries":
            network, outputs = first_outputs(network, 3), 3
        end = "softmax" if options.target == "classes" else "sigmoid"
        meaning = (
            "the probability of each class" if end == "softmax"
            else "the probability of a boundary between a voxel and the one before it along z, y and x"
        )  # fmt: skip
        description = NetworkDescription(
            f"segment {request.name}"[:128],
            f"Gives {meaning}. Trained on {request.name}.",
            axes=request.form.axes,
            channels=request.form.channels,
            outputs=outputs,
            step=request.form.step,
            facts={"steps": request.options.steps, "width": request.form.width, "target": options.target},
        )
        write_network(RawValues(network, request.mean, request.std, end), description, folder, self._example())

    def _example(self) -> Voxels:
        voxels, _ = self._held_out.at(self._starts()[0])
        raw = voxels * self.request.std + self.request.mean
        edges = [slice(0, EXAMPLE_STEPS * step) for step in self.request.form.step]
        return raw[(slice(None), *edges)] if self.request.form.axes == 3 else raw[:, 0][(slice(None), *edges)]

    def _starts(self) -> list[Shape]:
        """Of patches all over the held-out part."""
        box, patch = self._held_out.inner, self._held_out.patch
        counts = [
            min(2 if axis else MAX_VALIDATED // 4, n // p)
            for axis, (n, p) in enumerate(zip(box.shape, patch, strict=True))
        ]
        axes = [
            np.linspace(a, b - p, count).astype(int).tolist()
            for a, b, p, count in zip(box.start, box.stop, patch, counts, strict=True)
        ]
        return [(z, y, x) for z in axes[0] for y in axes[1] for x in axes[2]]

    def _tensors(self, sample: tuple[Voxels, ...]) -> tuple[Tensor, Tensor]:
        voxels, labels = (torch.from_numpy(np.ascontiguousarray(one))[None].to(self.device) for one in sample)
        return voxels, labels


def first_outputs(network: nn.Module, count: int) -> nn.Module:
    """The same network with the first output channels alone."""
    last = network.head[-1]
    kept = type(last)(last.in_channels, count, 1).to(last.weight.device)
    with torch.no_grad():
        kept.weight.copy_(last.weight[:count])
        kept.bias.copy_(last.bias[:count])
    network.head[-1] = kept
    return network


def _patch(options: SegmentOptions) -> Shape:
    if options.patch is None:
        raise InvalidInput("The size of the samples is not set.", remedy="Call fitted() first.")
    return options.patch


def _divided(box: Box, options: SegmentOptions) -> tuple[Box, Box]:
    """What is learnt from, and the slices at the end that are held out: as many as a sample needs, at least."""
    depth, needed = box.shape[0], _patch(options)[0]
    step = 2**options.depth if options.axes == 3 else 1
    count = max(round(options.held_out * depth), min(needed, depth // 4 // step * step), step, 3 if needed == 1 else 0)
    border = box.stop[0] - count
    if border - box.start[0] < needed:
        raise InvalidInput(
            f"{depth} slices are not enough to learn from {needed} at a time and to hold {count} out.",
            remedy="Choose a smaller --patch, or label more slices.",
        )
    return Box(box.start, (border, *box.stop[1:])), Box((border, *box.start[1:]), box.stop)


def _whole_steps(shape: Shape, options: SegmentOptions) -> Shape:
    step = 2**options.depth
    depth = shape[0] // step * step if options.axes == 3 else 1
    return (depth, shape[1] // step * step, shape[2] // step * step)


@dataclass(frozen=True)
class SegmentTraining:
    """volume, labels: locations. box: the labelled part. mean, std: of the volume. name: of the volume."""

    volume: str
    labels: str
    box: Box
    form: UNetForm
    segment: SegmentOptions
    mean: float
    std: float
    name: str = "volume"

    @property
    def options(self) -> LearningOptions:
        return self.segment.learning

    @property
    def inputs(self) -> tuple[str, ...]:
        return (self.volume, self.labels)

    @contextmanager
    def open(self, device: str) -> Iterator[SegmentObjective]:
        with open_volume(self.volume) as volume, open_volume(self.labels) as labels:
            yield SegmentObjective(_in_memory(volume), _in_memory(labels), self, device)


def _in_memory(volume: Volume) -> Volume:
    from pellucid.settings import current

    return volume if volume.nbytes > current().memory_bytes // 4 else Volume.from_array(volume.read())


def outputs_of(options: SegmentOptions, classes: int) -> int:
    return classes if options.target == "classes" else len(REACHES)
