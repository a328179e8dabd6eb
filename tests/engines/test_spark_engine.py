"""The engine on Spark keeps the contract, on the standalone cluster that all tests share."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pellucid.cli.main import main
from pellucid.engines.run import run
from pellucid.engines.spark import open_to_others
from pellucid.engines.worker import WorkFailed
from pellucid.errors import WorkerLost
from pellucid.formats.protocol import Voxels
from pellucid.volume.volume import open_volume
from tests.contracts.engine_tasks import Invert
from tests.contracts.engines import EngineContract, blocks, written
from tests.spark_cluster import can_run

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


STRANGER = """
import sys
from pellucid.engines.spark import open_to_others, started
from pathlib import Path

spark = started("local[1]")
assert spark.parallelize([1, 2], 2).groupBy(lambda x: x % 2).count() == 2  # There are files of a shuffle.
assert open_to_others(spark) == "" and spark.uiWebUrl is None
java, conf = spark._jvm, spark.getConf()
host, port = conf.get("spark.driver.host"), int(conf.get("spark.driver.port"))
assert host == "127.0.0.1"
folder = Path(conf.get("spark.local.dir"))
assert folder.stat().st_mode & 0o77 == 0 and list(folder.rglob("shuffle_*.data"))
apache = java.org.apache.spark
for is_ours in (True, False):
    given = apache.SparkConf(False).set("spark.rpc.askTimeout", "20s").set("spark.rpc.lookupTimeout", "20s")
    given.set("spark.authenticate", str(is_ours).lower())  # Inside this JVM the secret is found.
    file = getattr(getattr(apache.internal.config, "package$"), "MODULE$").AUTH_SECRET_FILE()
    security = apache.SecurityManager(given, java.scala.Option.empty(), file)
    client = apache.rpc.RpcEnv.create("client", "127.0.0.1", 0, given, security, True)
    try:
        client.setupEndpointRef(apache.rpc.RpcAddress(host, port), "BlockManagerMaster")
        print("let in")
    except Exception as error:
        print("refused")
    client.shutdown()
"""


@pytest.mark.skipif(not can_run(), reason="needs Spark")
def test_a_spark_of_this_machine_lets_nobody_else_in(tmp_path: Path) -> None:
    environment = {**os.environ, "PELLUCID_STATE_FOLDER": str(tmp_path), "PYSPARK_PYTHON": sys.executable}
    for name in [name for name in environment if name.startswith("SPARK_")]:
        del environment[name]
    done = subprocess.run(
        [sys.executable, "-c", STRANGER], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[-3:] == ["let in", "refused", ""], done.stdout


def test_a_cluster_that_authenticates_gives_no_warning(spark: "SparkContext") -> None:
    assert open_to_others(spark) == ""
    conf = SimpleNamespace(get=lambda name, default: default)
    context: Any = SimpleNamespace(getConf=lambda: conf, master="spark://node:7077")
    assert open_to_others(context).startswith("Spark at spark://node:7077 does not authenticate: every process")
