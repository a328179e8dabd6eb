"""What the denoising network learns: to predict one set of slices from the others.

Here: DenoiseObjective; DenoiseTraining, from which it is made in any process.
Not here: the loop (training), where slices come from (stages).

The noise of the target is independent of that of the input, so the best prediction is the slice without noise
(Noise2Inverse; Hendriksen, Pelt and Batenburg 2020). All eleven input slices are from the same sets, and the target is
from the set that they leave out: otherwise neighbouring slices would carry its noise.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from pellucid.formats.protocol import Voxels
from pellucid.learn.denoise.samples import PatchSamples, fitted_patch
from pellucid.learn.denoise.slice_sets import SetVolume, SliceSets, open_sets
from pellucid.learn.networks.network_folder import NetworkDescription, write_network
from pellucid.learn.networks.raw_values import RawValues
from pellucid.learn.networks.unet import UNet, UNetForm
from pellucid.learn.quality.shell_correlation import ShellCorrelation, shell_correlation
from pellucid.learn.report.png import contrast, to_bytes
from pellucid.learn.training.objective import Batch, Parts
from pellucid.learn.training.options import LearningOptions
from pellucid.settings import current

NETWORK = "network"
MAX_VALIDATED = 8
MAX_EDGE = 512
"""Of patches that the network is validated with."""
MEMORY_SHARE = 0.6
MAX_CORRELATED = 32
EXAMPLE_EDGE = 64
CORRELATIONS = "shell_correlation.json"


class DenoiseObjective:
    """sets: of the slices that are learnt from. held_out: first and stop slice of those that are not."""

    def __init__(self, sets: SliceSets, request: "DenoiseTraining", device: str) -> None:
        self.request, self.device = request, device
        self.parts: dict[str, nn.Module] = {NETWORK: UNet(request.form)}
        first = request.held_out[1] == sets.shape[0]
        rows = (0, request.held_out[0]) if first else (request.held_out[1], sets.shape[0])
        patch = fitted_patch(request.patch, sets.shape, max(request.form.step))
        self.samples = PatchSamples(sets, rows, rows, request.neighbours, patch, request.options.seed)
        shown = fitted_patch(min(MAX_EDGE, max(sets.shape[1:])), sets.shape, max(request.form.step))
        self._held_out = PatchSamples(sets, request.held_out, request.held_out, request.neighbours, shown, 0)
        self._count = sets.count

    def losses(self, batch: Batch) -> Iterator[tuple[str, Tensor]]:
        given, target = self._pair(*batch)
        yield NETWORK, nn.functional.mse_loss(self.parts[NETWORK](given).float(), target)

    def _pair(self, mean: Tensor, own: Tensor) -> tuple[Tensor, Tensor]:
        """The mean of the other sets, and the middle slice of this one, both scaled."""
        request, centre = self.request, self.request.neighbours
        given = ((self._count * mean - own) / (self._count - 1) - request.mean) / request.std
        target = (own[:, centre : centre + 1] - request.mean) / request.std
        return given.contiguous(memory_format=torch.channels_last), target

    def validate(self, parts: Parts) -> dict[str, float]:
        """Mean squared difference from slices of views that the network has not seen; and that of the slices as they
        were. Both have the noise of those views in them."""
        after, before = 0.0, 0.0
        rows = self._validated_rows()
        for number, row in enumerate(rows):
            given, target = self._held_out_pair(row, number % self._count)
            made = parts[NETWORK](given)
            centre = given[:, self.request.neighbours : self.request.neighbours + 1]
            after += float(nn.functional.mse_loss(made, target))
            before += float(nn.functional.mse_loss(centre, target))
        return {"error": after / len(rows), "error_before": before / len(rows)}

    def preview(self, parts: Parts) -> dict[str, Voxels]:
        """A slice that is held out, before and after."""
        rows = self._validated_rows()
        given, _ = self._held_out_pair(rows[len(rows) // 2], 0)
        before = given[0, self.request.neighbours].cpu().numpy()
        after = parts[NETWORK](given)[0, 0].float().cpu().numpy()
        window = contrast(after)
        return {"before": to_bytes(before, window), "after": to_bytes(after, window)}

    def export(self, parts: Parts, folder: Path) -> None:
        request = self.request
        facts = {"steps": request.options.steps, "width": request.form.width, "sets": len(request.sets)}
        description = NetworkDescription(
            f"denoise {request.name}"[:128],
            f"Denoises slices of {request.name}. It was trained on that scan alone (Noise2Inverse).",
            axes=2,
            channels=request.form.channels,
            outputs=1,
            step=request.form.step,
            facts=facts,
        )
        quality = {name: asdict(one) for name, one in self.correlations(parts).items()}
        (folder / CORRELATIONS).write_text(json.dumps(quality) + "\n")
        write_network(RawValues(parts[NETWORK], request.mean, request.std), description, folder, self.example())

    def example(self) -> Voxels:
        """Slices as channels, with values as they are."""
        mean, _ = self._held_out.read(self.request.held_out[0], *self._corner(), 0)
        return mean[:, :EXAMPLE_EDGE, :EXAMPLE_EDGE]

    def correlations(self, parts: Parts) -> dict[str, ShellCorrelation]:
        """Of held-out slices from one set of views with the same slices from the others, before and after."""
        first, stop = self.request.held_out
        before, after, unseen = [], [], []
        for row in range(first, min(stop, first + MAX_CORRELATED)):
            given, target = self._held_out_pair(row, 0)
            before.append(given[0, self.request.neighbours].cpu().numpy())
            with torch.no_grad():
                after.append(parts[NETWORK](given)[0, 0].float().cpu().numpy())
            unseen.append(target[0, 0].cpu().numpy())
        other = np.stack(unseen)
        pairs = (("before", before), ("after", after))
        return {name: shell_correlation(np.stack(slices), other) for name, slices in pairs}

    def _held_out_pair(self, row: int, own: int) -> tuple[Tensor, Tensor]:
        drawn = self._held_out.read(row, *self._corner(), own)
        mean, target = (torch.from_numpy(np.ascontiguousarray(one))[None].to(self.device) for one in drawn)
        return self._pair(mean, target)

    def _corner(self) -> tuple[int, int]:
        """Of a patch in the middle of a slice."""
        shape, patch = self._held_out.sets.shape[1:], self._held_out.patch
        return (shape[0] - patch[0]) // 2, (shape[1] - patch[1]) // 2

    def _validated_rows(self) -> list[int]:
        first, stop = self.request.held_out
        return sorted(set(np.linspace(first, stop - 1, min(MAX_VALIDATED, stop - first)).astype(int).tolist()))


@dataclass(frozen=True)
class DenoiseTraining:
    """A denoising network's training. sets: of slices. held_out: first and stop slice that it is validated with, at the
    beginning or the end of the sets. mean, std: of the slices. name: of the scan."""

    sets: tuple[SetVolume, ...]
    mean_volume: SetVolume | None
    form: UNetForm
    patch: int
    held_out: tuple[int, int]
    mean: float
    std: float
    options: LearningOptions
    name: str = "scan"

    @property
    def neighbours(self) -> int:
        return self.form.channels // 2

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one.location for one in self.sets))

    @contextmanager
    def open(self, device: str) -> Iterator[DenoiseObjective]:
        with open_sets(self.sets, self.mean_volume) as sets:
            yield DenoiseObjective(sets.in_memory(int(MEMORY_SHARE * current().memory_bytes)), self, device)
