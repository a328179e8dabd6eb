"""What super-resolution networks learn: to make real volumes again from degraded ones.

Here: SuperResolutionObjective, for both stages; SuperResolutionTraining, from which it is made in any process.
Not here: degrading (degradation), the order of the stages (stages).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from pellucid.box import Box, triple
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.learn.networks.network_folder import NetworkDescription, write_network
from pellucid.learn.networks.raw_values import RawValues
from pellucid.learn.networks.super_resolution import Discriminator, Generator, GeneratorForm
from pellucid.learn.quality.image_quality import psnr
from pellucid.learn.report.png import contrast, to_bytes
from pellucid.learn.superres.options import SuperResolutionOptions
from pellucid.learn.training.objective import Batch, Parts, Sample
from pellucid.learn.training.options import LearningOptions
from pellucid.neural.checkpoints import load_arrays, save_arrays
from pellucid.neural.training import network_arrays
from pellucid.settings import current
from pellucid.volume.volume import Volume, open_volume

GENERATOR, DISCRIMINATOR = "generator", "discriminator"
WEIGHTS = "generator.npz"
"""Beside the network of the first stage: what the second one begins with."""
MAX_VALIDATED = 4
EXAMPLE_EDGE = 16
MIN_HELD_OUT = 5
"""Coarse slices: fewer leave nothing to interpolate between."""


@dataclass(frozen=True)
class FineSamples:
    """Patches (1, z, y, x) of volumes, scaled, mirrored and turned about z; of thick slices (1, y, x, z). boxes: where
    they may be, one for each."""

    volumes: tuple[Volume, ...]
    boxes: tuple[Box, ...]
    options: SuperResolutionOptions
    mean: float
    std: float

    def draw(self, number: int, random: np.random.Generator) -> Sample:
        sizes = np.array([box.size for box in self.boxes], float)
        which = int(random.choice(len(self.boxes), p=sizes / sizes.sum()))
        box, patch = self.boxes[which], patch_of(self.options)
        start = triple(a + int(random.integers(n - p + 1)) for a, n, p in zip(box.start, box.shape, patch, strict=True))
        voxels = self.read(which, Box(start, triple(a + p for a, p in zip(start, patch, strict=True))))
        for axis in range(1, 4):
            voxels = np.flip(voxels, axis) if random.random() < 0.5 else voxels
        factor = self.options.degradation.factor
        if patch[1] == patch[2] and factor[1] == factor[2] and random.random() < 0.5:
            # Along y and x: of thick slices these are the first two axes, and either is restored.
            voxels = voxels.transpose(0, 2, 1, 3) if self.options.is_anisotropic else voxels.transpose(0, 1, 3, 2)
        return (np.ascontiguousarray(voxels),)

    def read(self, which: int, box: Box) -> Voxels:
        voxels = self.volumes[which].read(box).astype(np.float32)
        return self.options.oriented((voxels - np.float32(self.mean)) / np.float32(self.std))[None]


class SuperResolutionObjective:
    """The first stage has a generator; the second one a discriminator too."""

    def __init__(self, volumes: tuple[Volume, ...], request: "SuperResolutionTraining", device: str) -> None:
        self.request, self.device = request, device
        options = request.superres
        learnt, held_out = zip(*(divided(volume.box, options) for volume in volumes), strict=True)
        self.samples = FineSamples(volumes, learnt, options, request.mean, request.std)
        self._held_out = held_out
        self.parts: dict[str, nn.Module] = {GENERATOR: Generator(request.form)}
        if request.start:
            arrays = load_arrays(Path(request.start)) or {}
            tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
            self.parts[GENERATOR].load_state_dict(tensors)
            self.parts[DISCRIMINATOR] = Discriminator(options.width)

    def losses(self, batch: Batch) -> Iterator[tuple[str, Tensor]]:
        (fine,) = batch
        generator = self.parts[GENERATOR]
        made = generator(self.degraded(fine))
        difference = nn.functional.l1_loss(made.float(), fine)
        if DISCRIMINATOR not in self.parts:
            yield GENERATOR, difference
            return
        judge = self.parts[DISCRIMINATOR]
        weight = self.request.superres.adversarial
        yield GENERATOR, difference + weight * nn.functional.softplus(-judge(made).float()).mean()
        wrong, right = judge(made.detach()).float(), judge(fine).float()
        yield DISCRIMINATOR, nn.functional.softplus(wrong).mean() + nn.functional.softplus(-right).mean()

    def degraded(self, fine: Tensor) -> Tensor:
        """As Degradation.apply, for (batch, 1, z, y, x)."""
        degradation = self.request.superres.degradation
        if degradation.mode == "average":
            return nn.functional.avg_pool3d(fine, degradation.factor)
        z, y, x = ((n - 1) // 2 for n in degradation.factor)
        a, b, c = degradation.factor
        return fine[:, :, z::a, y::b, x::c]

    def validate(self, parts: Parts) -> dict[str, float]:
        """The mean absolute difference on slices that are held out; PSNR, beside that of cubic interpolation."""
        total, scores, cubic = 0.0, [], []
        boxes = self._boxes()
        for which, box in boxes:
            fine = self.samples.read(which, box)[0]
            made = self._made(parts, fine)
            total += float(np.abs(made - fine).mean())
            span = float(np.ptp(fine)) or 1.0
            scores.append(psnr(fine, made, span))
            degradation = self.request.superres.degradation
            cubic.append(psnr(fine, degradation.interpolate(degradation.apply(fine)), span))
        return {"error": total / len(boxes), "psnr": float(np.mean(scores)), "psnr_cubic": float(np.mean(cubic))}

    def preview(self, parts: Parts) -> dict[str, Voxels]:
        """A section along the axis that is restored: what the network was given, what it made, and the truth."""
        which, box = self._boxes()[0]
        fine = self.samples.read(which, box)[0]
        degradation = self.request.superres.degradation
        axis = 2 if self.request.superres.is_anisotropic else 1
        cubic = degradation.interpolate(degradation.apply(fine))
        shown = {"before": cubic, "after": self._made(parts, fine), "truth": fine}
        window = contrast(fine)
        middle = fine.shape[axis] // 2
        return {name: to_bytes(np.take(voxels, middle, axis), window) for name, voxels in shown.items()}

    def export(self, parts: Parts, folder: Path) -> None:
        request = self.request
        factor = request.form.factor
        description = NetworkDescription(
            f"super-resolution of {request.name}"[:128],
            f"Restores {' x '.join(map(str, factor))} voxels (z, y, x) for one. Trained on {request.name}.",
            axes=3,
            channels=1,
            outputs=1,
            step=(1, 1, 1),
            scale=factor,
            facts={
                "stage": "gan" if request.start else "l1",
                "steps": request.options.steps,
                "width": request.form.width,
            },
        )
        save_arrays(folder / WEIGHTS, network_arrays(parts[GENERATOR]))
        which, box = self._boxes()[0]
        coarse = request.superres.degradation.apply(self.samples.read(which, box)[0])
        raw = coarse[:EXAMPLE_EDGE, :EXAMPLE_EDGE, :EXAMPLE_EDGE] * request.std + request.mean
        write_network(RawValues(parts[GENERATOR], request.mean, request.std), description, folder, raw[None])

    def _made(self, parts: Parts, fine: Voxels) -> Voxels:
        coarse = np.ascontiguousarray(self.request.superres.degradation.apply(fine))
        with torch.no_grad():
            found = parts[GENERATOR](torch.from_numpy(coarse)[None, None].to(self.device))
        made: Voxels = found[0, 0].float().cpu().numpy()
        return made

    def _boxes(self) -> list[tuple[int, Box]]:
        """Of held-out patches, all over them."""
        patch, found = patch_of(self.request.superres), []
        for which, box in enumerate(self._held_out):
            edges = triple(map(min, zip(patch, _whole(box, self.request.superres), strict=True)))
            for part in (0.2, 0.7):
                start = triple(int(a + part * (n - e)) for a, n, e in zip(box.start, box.shape, edges, strict=True))
                found.append((which, Box(start, triple(a + e for a, e in zip(start, edges, strict=True)))))
        return found[:MAX_VALIDATED]


def patch_of(options: SuperResolutionOptions) -> tuple[int, int, int]:
    if options.patch is None:
        raise InvalidInput("The size of the samples is not set.", remedy="Call fitted() first.")
    return options.patch


def _whole(box: Box, options: SuperResolutionOptions) -> tuple[int, int, int]:
    return triple(n // f * f for n, f in zip(box.shape, options.volume_factor, strict=True))


def divided(box: Box, options: SuperResolutionOptions) -> tuple[Box, Box]:
    """What is learnt from, and the slices at the end that are held out."""
    factor, patch = options.volume_factor, patch_of(options)
    least = 1 if options.is_anisotropic else MIN_HELD_OUT * factor[0]
    count = max(least, round(options.held_out * box.shape[0]) // factor[0] * factor[0])
    border = box.stop[0] - count
    if border <= box.start[0]:
        raise InvalidInput(
            f"A volume of {box.shape[0]} slices is too thin: {count} slices are held out to measure the result.",
            remedy=f"Use at least {count + patch[0]} slices, or a smaller --factor along z.",
        )
    learnt = Box(box.start, (border, *box.stop[1:]))
    if any(n < p for n, p in zip(learnt.shape, patch, strict=True)):
        raise InvalidInput(
            f"Samples of {patch} do not fit into {learnt.shape} voxels (z, y, x).", remedy="Choose a smaller --patch."
        )
    return learnt, Box((border, *box.start[1:]), box.stop)


@dataclass(frozen=True)
class SuperResolutionTraining:
    """One stage. volumes: locations. options: of this stage. start: the weights that it begins with; with them, it is
    the second stage."""

    volumes: tuple[str, ...]
    form: GeneratorForm
    superres: SuperResolutionOptions
    options: LearningOptions
    mean: float
    std: float
    start: str = ""
    name: str = "volume"

    @property
    def inputs(self) -> tuple[str, ...]:
        return self.volumes

    @contextmanager
    def open(self, device: str) -> Iterator[SuperResolutionObjective]:
        opened = [open_volume(one) for one in self.volumes]
        limit = current().memory_bytes // 4 // len(opened)
        try:
            held = tuple(v if v.nbytes > limit else Volume.from_array(v.read()) for v in opened)
            yield SuperResolutionObjective(held, self, device)
        finally:
            for volume in opened:
                volume.close()
