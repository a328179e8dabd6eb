"""The engine on Spark keeps the contract, on the standalone cluster that all tests share."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pellucid.cli.main import main
from pellucid.engines.run import run
from pellucid.engines.worker import WorkFailed
from pellucid.errors import WorkerLost
from pellucid.formats.protocol import Voxels
from pellucid.volume.volume import open_volume
from tests.contracts.engine_tasks import Invert
from tests.contracts.engines import EngineContract, blocks, written

if TYPE_CHECKING:
    from pyspark import SparkContext


class TestSpark(EngineContract):
    @pytest.fixture(autouse=True)
    def _master(self, spark: "SparkContext") -> None:
        self.name = str(spark.master)

    def test_a_killed_process_is_replaced_and_its_block_done_again(self, task: Invert, voxels: Voxels) -> None:
        assert len(list(run(replace(task, trouble="dies"), blocks(), self.engine()))) == 4
        assert task.runs() == [0, 1, 1, 2, 3]
        assert (written(task) == 255 - voxels).all()

    def test_the_reason_of_a_block_that_kills_every_worker(self, task: Invert) -> None:
        with pytest.raises(WorkerLost, match=r"working on block 1 on .*: it was stopped by signal 9"):
            list(run(replace(task, trouble="always dies"), blocks(), self.engine(attempts=2)))
        assert task.runs().count(1) == 2

    def test_a_bug_in_the_task_shows_its_traceback(self, task: Invert) -> None:
        with pytest.raises(WorkFailed, match="ZeroDivisionError: of our own making"):
            list(run(replace(task, trouble="bug"), blocks(), self.engine()))

    def test_no_more_blocks_at_once_than_spark_has_cores(self, spark: "SparkContext") -> None:
        assert self.engine(workers=7).options.workers == spark.defaultParallelism == 2


def test_commands_run_on_spark(spark: "SparkContext", tmp_path: Path) -> None:
    voxels = np.random.default_rng(0).integers(0, 255, (20, 30, 30), dtype=np.uint8)
    np.save(tmp_path / "a.npy", voxels)
    target = str(tmp_path / "b.zarr")
    assert main(["convert", str(tmp_path / "a.npy"), target, "--engine", str(spark.master)]) == 0
    with open_volume(target) as volume:
        assert (volume.read(volume.box) == voxels).all()
