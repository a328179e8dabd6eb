"""The engine on Spark keeps the contract, on the standalone cluster that all tests share."""

import os
import subprocess
import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
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
from tests.suite_report import ROOT

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


@pytest.mark.parametrize("reply", ['{"serverSparkVersion": "4.3.0"}', '{"message": "a signature is missing"}'])
def test_a_master_that_takes_programs_without_the_secret_is_a_warning(reply: str) -> None:
    """Spark starts this server by default, also where everything else authenticates."""

    class Submissions(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(reply.encode())

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Submissions) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        given = {"spark.authenticate": "true", "spark.master.rest.port": str(server.server_port)}
        conf = SimpleNamespace(get=given.get)
        context: Any = SimpleNamespace(getConf=lambda: conf, master="spark://127.0.0.1:7077")
        warning = open_to_others(context)
    assert warning.startswith("Spark at spark://127.0.0.1:7077 accepts programs from everyone") == ("4.3.0" in reply)


def test_the_test_cluster_is_configured_as_the_guide_says(spark: "SparkContext") -> None:
    """So that the tests of who gets in hold for those who follow it."""
    guide = (ROOT / "docs" / "how-to" / "use-spark.md").read_text()
    for name in ("spark.authenticate", "spark.network.crypto.enabled", "spark.master.rest.enabled"):
        value = spark.getConf().get(name, "")
        assert value and any(line.split() == [name, value] for line in guide.splitlines())
