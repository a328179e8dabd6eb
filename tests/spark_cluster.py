"""A standalone Spark cluster on this machine: one master and two workers, as two nodes would be.

Here: SparkCluster, started and stopped.
Not here: tests.
"""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from tests.suite_report import ROOT
from tests.waiting import TIMEOUT_S

if TYPE_CHECKING:
    from pyspark import SparkContext

HOST = "127.0.0.1"
SMALL_JAVA = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xss512k"
"""Starts faster, and takes less memory; what runs for hours would be compiled better."""


def can_run() -> bool:
    """Whether this machine has what Spark needs."""
    return find_spec("pyspark") is not None and shutil.which("java") is not None


def spark_home() -> Path:
    found = find_spec("pyspark")
    assert found is not None and found.origin is not None
    return Path(found.origin).parent


@dataclass
class SparkCluster:
    """folder: of everything that it writes; the state folder of each node is in it."""

    folder: Path
    port: int
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def master(self) -> str:
        return f"spark://{HOST}:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        return {
            "SPARK_HOME": str(spark_home()),
            "SPARK_CONF_DIR": str(self.folder / "conf"),
            "SPARK_LOCAL_IP": HOST,
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
            "SPARK_WORKER_DIR": str(self.folder / "work"),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": SMALL_JAVA,
            "PYSPARK_PYTHON": sys.executable,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
        }

    def state_folder(self, node: int) -> Path:
        return self.folder / f"node{node}"

    def configure(self) -> None:
        """As docs/how-to/use-spark.md says: who has no secret is refused by all of its processes."""
        (self.folder / "conf").mkdir(mode=0o700)
        settings = {
            "spark.authenticate": "true",
            "spark.authenticate.secret": token_hex(),
            "spark.network.crypto.enabled": "true",
            "spark.master.rest.enabled": "false",
            "spark.master.rest.port": str(_free_port()),  # Where a test looks for what must not be there.
        }
        text = "".join(f"{name} {value}\n" for name, value in settings.items())
        (self.folder / "conf" / "spark-defaults.conf").write_text(text)

    def start(self) -> None:
        self.configure()
        deploy = "org.apache.spark.deploy"
        self._run("master", f"{deploy}.master.Master", "--host", HOST, "--port", str(self.port), "--webui-port", "0")
        for node in range(2):
            self.start_node(node)

    def start_node(self, node: int) -> None:
        command = ("org.apache.spark.deploy.worker.Worker", "--cores", "1", "--memory", "1g")
        where = ("--webui-port", "0", "--host", HOST, self.master)
        self._run(f"node{node}", *command, *where, PELLUCID_STATE_FOLDER=str(self.state_folder(node)))

    def stop(self) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()

    def context(self, name: str, **settings: str) -> "SparkContext":
        """A driver in this process, with an executor on each node."""
        from pyspark import SparkConf, SparkContext

        for variable, value in self.environment.items():
            os.environ[variable] = value
        conf = SparkConf().setMaster(self.master).setAppName(name)
        small = {
            "spark.driver.host": HOST, "spark.driver.memory": "512m", "spark.executor.memory": "512m",
            "spark.executor.cores": "1", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false",
            "spark.driver.extraJavaOptions": SMALL_JAVA, "spark.executor.extraJavaOptions": SMALL_JAVA,
            "spark.scheduler.minRegisteredResourcesRatio": "1.0", "spark.log.level": "ERROR",
            "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{TIMEOUT_S:.0f}s", **settings,
        }  # fmt: skip
        for key, value in small.items():
            conf.set(key, value)
        return SparkContext(conf=conf)

    def _run(self, name: str, *words: str, **environment: str) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [str(spark_home() / "bin" / "spark-class"), *words],
                env={**os.environ, **self.environment, **environment}, stdout=log, stderr=log,
            )  # fmt: skip
        self.processes.append(process)


def _free_port() -> int:
    with socket.create_server((HOST, 0)) as probe:
        return int(probe.getsockname()[1])


@contextmanager
def started(folder: Path) -> Iterator[SparkCluster]:
    cluster = SparkCluster(folder, _free_port())
    cluster.start()
    try:
        yield cluster
    finally:
        cluster.stop()
