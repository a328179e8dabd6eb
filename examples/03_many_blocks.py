"""Run your own code on every block of a volume, on several cores, within a memory budget.

A Task names its input. Each worker opens it itself, and returns only small results.

Run: python examples/03_many_blocks.py
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

import pellucid
from pellucid import Block
from pellucid.box import Shape
from pellucid.engines.engine import EngineOptions, make_engine
from pellucid.engines.run import run
from pellucid.engines.task import TaskContext, Work
from pellucid.jobs.resources import Resources

BLOCK, HALO = (32, 32, 32), (1, 1, 1)


@dataclass(frozen=True)
class CountPeaks:
    """Count the voxels that are brighter than their six neighbours; the halo has the neighbours beyond the border."""

    source: str
    output_chunk: Shape = (1, 1, 1)  # nothing is written, so blocks may have any size

    @property
    def inputs(self) -> tuple[str, ...]:
        return (self.source,)

    def needs(self, block: Block) -> Resources:
        return Resources(memory_bytes=4 * block.outer.size)

    @contextmanager
    def open(self, context: TaskContext) -> Iterator[Work]:
        with pellucid.open(self.source) as volume:

            def count(block: Block) -> int:
                # With padding at the border of the volume, every voxel of the core has six neighbours.
                voxels = np.pad(volume[block.outer], block.padding(HALO))
                return int(is_peak(voxels).sum())

            yield count


def is_peak(voxels: np.ndarray) -> np.ndarray:
    """For every voxel except the outermost: whether it is brighter than its six neighbours."""
    middle = voxels[1:-1, 1:-1, 1:-1]
    peak = np.ones(middle.shape, bool)
    for axis in range(3):
        for step in (-1, 1):
            peak &= middle > np.roll(voxels, step, axis)[1:-1, 1:-1, 1:-1]
    return peak


def main() -> None:
    noise = np.random.default_rng(7).integers(0, 255, (80, 80, 80), np.uint8)
    np.save("noise.npy", noise)

    blocks = pellucid.split(noise.shape, BLOCK, HALO)
    engine = make_engine("local", EngineOptions(workers=2, memory_bytes=64 * 2**20))
    peaks = sum(done.result for done in run(CountPeaks("noise.npy"), blocks, engine, name="Counting peaks"))

    whole = is_peak(np.pad(noise, 1)).sum()
    print(f"{peaks} peaks in {len(blocks)} blocks, {whole} in the whole volume: blocks do not change the result")


if __name__ == "__main__":
    main()
