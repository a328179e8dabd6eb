"""What every engine must do. A new engine subclasses EngineContract and names itself.

Here: the contract.
Not here: what only one engine can do wrong (its own tests).
"""

import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pellucid.engines.engine import Engine, EngineOptions, make_engine
from pellucid.engines.markers import Markers, job_key
from pellucid.engines.run import run
from pellucid.errors import Cancelled, ChunkConflict, InvalidInput, NotEnoughMemory
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Level, Voxels
from pellucid.formats.registry import open_writer
from pellucid.volume.blocks import Block, split
from tests.contracts.engine_tasks import Invert, UseDevice

SHAPE = (8, 3, 4)
MANY = (1000, 1, 1)
"""Blocks of these are not all finished before a busy machine stops them."""


def blocks() -> list[Block]:
    return split(SHAPE, (2, 3, 4))


def invert_task(folder: Path, voxels: Voxels) -> Invert:
    """The task that inverts these voxels, with everything it reads and writes in this folder."""
    np.save(folder / "in.npy", voxels)
    (folder / "log").mkdir()
    layout = Layout((Level(voxels.shape, voxels.shape),), np.dtype(np.uint8))
    open_writer(Location.parse(target := str(folder / "out.npy")), layout).close()
    return Invert(str(folder / "in.npy"), target, layout, str(folder / "log"))


def written(task: Invert) -> Voxels:
    """What the task has put into its target."""
    with closing(open_writer(Location.parse(task.target), task.layout, resume=True)) as writer:
        writer.finish()
    voxels: Voxels = np.load(task.target)
    return voxels


class EngineContract:
    """Subclass it and set ``name``."""

    name: str

    def engine(self, **options: Any) -> Engine:
        return make_engine(self.name, EngineOptions(**{"workers": 2, "memory_bytes": 10_000, **options}))

    @pytest.fixture
    def voxels(self) -> Voxels:
        return np.random.default_rng(0).integers(0, 255, SHAPE, dtype=np.uint8)

    @pytest.fixture
    def task(self, tmp_path: Path, voxels: Voxels) -> Invert:
        return invert_task(tmp_path, voxels)

    @pytest.fixture
    def many_blocks(self, tmp_path: Path) -> Invert:
        return invert_task(tmp_path, np.zeros(MANY, np.uint8))

    def test_every_block_once_and_every_result(self, task: Invert, voxels: Voxels) -> None:
        results = {done.index: done.result for done in run(task, blocks(), self.engine())}
        assert results == {block.index: int(voxels[block.core.slices].sum()) for block in blocks()}
        assert (written(task) == 255 - voxels).all()
        assert task.runs() == [0, 1, 2, 3]

    def test_a_hiccup_is_tried_again(self, task: Invert, voxels: Voxels) -> None:
        flaky = Invert(**{**vars(task), "trouble": "hiccup"})
        assert len(list(run(flaky, blocks(), self.engine()))) == 4
        assert flaky.runs() == [0, 1, 1, 2, 3]
        assert (written(task) == 255 - voxels).all()

    def test_what_stays_broken_is_told_after_some_tries(self, task: Invert) -> None:
        broken = Invert(**{**vars(task), "trouble": "always"})
        with pytest.raises(OSError, match="the disk is broken"):
            list(run(broken, blocks(), self.engine(attempts=2)))
        assert broken.runs().count(1) == 2

    def test_a_fault_of_the_input_is_not_tried_again(self, task: Invert) -> None:
        wrong = Invert(**{**vars(task), "trouble": "user"})
        with pytest.raises(InvalidInput, match=r"upside down\. Turn it"):
            list(run(wrong, blocks(), self.engine()))
        assert wrong.runs().count(1) == 1

    def test_finished_blocks_are_not_done_again(self, task: Invert, tmp_path: Path, voxels: Voxels) -> None:
        broken = Invert(**{**vars(task), "trouble": "user"})
        markers = Markers(tmp_path / "done", job_key(task, blocks()))
        with pytest.raises(InvalidInput):
            list(run(broken, blocks(), self.engine(workers=1), markers=markers))
        markers.close()
        before = set(broken.runs()) - {1}
        again = Markers(tmp_path / "done", job_key(task, blocks()))
        results = {done.index: done.result for done in run(task, blocks(), self.engine(), markers=again)}
        assert results == {block.index: int(voxels[block.core.slices].sum()) for block in blocks()}
        assert set(again.results) == {0, 1, 2, 3}
        assert all(task.runs().count(index) == 1 for index in before)
        assert (written(task) == 255 - voxels).all()

    def test_cancelling_stops_and_says_so(self, many_blocks: Invert) -> None:
        cancel = threading.Event()
        running = run(many_blocks, split(MANY, (2, 1, 1)), self.engine(workers=1), cancel=cancel)
        next(running)
        cancel.set()
        with pytest.raises(Cancelled, match="continue where it stopped"):
            list(running)
        assert len(many_blocks.runs()) < 500

    def test_a_closed_iterator_stops_the_work(self, many_blocks: Invert) -> None:
        running = run(many_blocks, split(MANY, (2, 1, 1)), self.engine(workers=1))
        next(running)
        running.close()  # type: ignore[attr-defined]
        assert len(many_blocks.runs()) < 500

    def test_what_cannot_fit_is_refused_before_anything_runs(self, task: Invert) -> None:
        large = Invert(**{**vars(task), "memory_bytes": 20_000})
        with pytest.raises(NotEnoughMemory, match="--memory"):
            list(run(large, blocks(), self.engine()))
        assert large.runs() == []

    def test_a_gpu_that_no_worker_has_is_refused(self, task: Invert) -> None:
        with pytest.raises(InvalidInput, match=r"needs 1 GPU\(s\)"):
            list(run(Invert(**{**vars(task), "gpus": 1}), blocks(), self.engine()))

    def test_a_block_that_needs_a_gpu_has_one_to_itself(self, tmp_path: Path) -> None:
        engine = self.engine(workers=4, devices=("cuda:0", "cuda:1"))
        results = [done.result for done in run(UseDevice(str(tmp_path)), split((9, 1, 1), (1, 1, 1)), engine)]
        assert len(results) == 9
        assert {device for device, _, _ in results} <= {"cuda:0", "cuda:1"}
        assert all(threads >= 1 and 1000 <= memory <= 10_000 for _, threads, memory in results)

    def test_other_blocks_are_told_that_they_compute_on_the_cpu(self, tmp_path: Path) -> None:
        engine = self.engine(devices=("cuda:0",))
        results = list(run(UseDevice(str(tmp_path), gpus=0), split((3, 1, 1), (1, 1, 1)), engine))
        assert {done.result[0] for done in results} == {"cpu"}

    def test_blocks_that_share_a_chunk_are_refused(self, task: Invert) -> None:
        with pytest.raises(ChunkConflict, match="multiple of the output's chunk"):
            list(run(task, split(SHAPE, (3, 3, 4)), self.engine()))
        assert task.runs() == []

    def test_no_blocks_no_work(self, task: Invert) -> None:
        assert list(run(task, [], self.engine())) == []
