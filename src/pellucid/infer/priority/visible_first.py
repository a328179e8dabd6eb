"""A network applied to a volume on a page: labels appear first where the user looks.

Here: VisibleRun, which computes block after block into an array.
Not here: whole files (apply, job), the order of blocks (focus), what shows the labels (workers, instance).

Windows are small, whatever memory there is: the first labels count, not the last.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from pellucid import progress
from pellucid.box import Box, Shape, triple
from pellucid.engines.stopping import raise_if_stopped
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.infer.job import NetworkFile
from pellucid.infer.loading import load_network
from pellucid.infer.network_files.network import Network
from pellucid.infer.output_rule import OutputRule, label_rule
from pellucid.infer.planning import choose_halo, is_exact
from pellucid.infer.prediction import Predictor, check_channels
from pellucid.infer.priority.focus import BlockQueue
from pellucid.infer.sources import VolumeSource
from pellucid.infer.statistics import ValueStatistics, measure_statistics
from pellucid.infer.trimming.trimmed_runtime import open_network
from pellucid.infer.windows import Windows
from pellucid.volume.volume import Volume

EDGE_2D, EDGE_3D = 512, 64
"""Of the part of a window that is kept."""
MAX_SAMPLED_BYTES = 2**28
"""Voxels that statistics are measured on: more would keep the user waiting."""


@dataclass(frozen=True)
class VisibleRun:
    """labels: where the result goes, uint8, as large as the volume. queue: the blocks that are left."""

    predictor: Predictor
    source: VolumeSource
    rule: OutputRule
    labels: Voxels
    queue: BlockQueue

    @classmethod
    def open(
        cls, volume: Volume, file: NetworkFile, labels: Voxels, *, threshold: float | None = None, device: str = "auto"
    ) -> "VisibleRun":
        """Everything that can be refused is refused here."""
        network, source = load_network(file.path, file.form), VolumeSource([volume])
        check_channels(network, source.channels)
        if network.scale != (1, 1, 1):
            raise InvalidInput(
                f"The output of {network.name} has {network.scale} voxels (z, y, x) for each of the input's.",
                remedy="Apply it with `pellucid segment`, and open the result as labels.",
            )
        windows = small_windows(network, volume.shape)
        runtime = open_network(network, device)
        predictor = Predictor(network, windows, runtime, _statistics(network, volume))
        blocks = [window.core for window in windows.cover(volume.box, volume.shape)]
        return cls(predictor, source, label_rule(network, threshold), labels, BlockQueue(blocks))

    def run(self, on_block: Callable[[Box], None]) -> None:
        """Compute every block, the most visible one first. on_block: is given every box when it is finished."""
        name = f"Applying {self.predictor.network.name}"
        with progress.task(name, total=prod(self.source.shape), unit="voxels") as bar:
            while (box := self.queue.take()) is not None:
                raise_if_stopped()
                self.labels[box.slices] = self.predictor.predict(self.source, box, self.rule)
                bar.advance(box.size)
                on_block(box)


def small_windows(network: Network, shape: Shape) -> Windows:
    """Windows that are computed quickly, with the halo that the network needs."""
    halo, step = choose_halo(network), network.step
    is_blended = not is_exact(network, halo)
    if network.fixed_window is not None:
        return Windows(network.fixed_window, halo, step, is_fixed=True, is_blended=is_blended)
    margin = Windows((1, 1, 1), halo, step).margin
    edges = (EDGE_3D,) * 3 if network.is_3d else (1, EDGE_2D, EDGE_2D)
    kept = (-(-edge // s) * s for edge, s in zip(edges, step, strict=True))
    full = (-(-n // s) * s for n, s in zip(shape, step, strict=True))
    size = triple(min(k + 2 * m, f) for k, m, f in zip(kept, margin, full, strict=True))
    return Windows(size if network.is_3d else (1, *size[1:]), halo, step, is_blended=is_blended)


def _statistics(network: Network, volume: Volume) -> tuple[ValueStatistics, ...]:
    transforms = network.form.preprocess
    if not any(one.needs_statistics for one in transforms):
        return (ValueStatistics(),)
    percents = tuple(sorted({percent for one in transforms for percent in one.percents}))
    return (measure_statistics(volume, percents, MAX_SAMPLED_BYTES),)
