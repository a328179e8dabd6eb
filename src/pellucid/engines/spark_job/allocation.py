"""Spark on the nodes of a Slurm job, started from inside of it.

Here: start_in_allocation, a master here and a worker on each node, until this process ends.
Not here: a worker (node_main), what runs on Spark (engines.spark).

Spark is started with a secret, which is in a file that only its owner can read: without it, every request is refused.
"""

import atexit
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from pellucid.errors import JobEnded, MissingPackage
from pellucid.jobs.allocation import SlurmAllocation, step_words
from pellucid.jobs.private_files import write_private
from pellucid.python_processes import module_command
from pellucid.settings import current, make_private_folder

START_TIMEOUT_S, POLL_S = 120.0, 0.1
MEMORY = "1g"
"""Of Java in each executor. Python's processes have the rest."""
LOG_LINES = 20


def start_in_allocation() -> str:
    """The address of a master; the settings for its programs are in SPARK_CONF_DIR of this process from now on."""
    if _State.master is None:
        allocation = SlurmAllocation.current()
        _State.master = _start(allocation)
    return _State.master


class _State:
    master: str | None = None


@dataclass(frozen=True)
class _Processes:
    folder: Path
    running: list["subprocess.Popen[bytes]"]

    def start(self, name: str, *words: str) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.running.append(process)

    def check(self) -> None:
        """JobEnded where one has ended."""
        for process in self.running:
            if process.poll() is not None:
                logs = sorted(self.folder.glob("*.log"))
                lines = [line for log in logs for line in log.read_text(errors="replace").splitlines()[-LOG_LINES:]]
                raise JobEnded("Spark in the job", f"its process ended with code {process.returncode}.", lines)

    def end(self) -> None:
        for process in reversed(self.running):
            process.terminate()
        for process in self.running:
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def _start(allocation: SlurmAllocation) -> str:
    home, parent = spark_home(), make_private_folder(current().state_folder / "spark")
    processes = _Processes(Path(tempfile.mkdtemp(prefix="job-", dir=parent)), [])
    atexit.register(processes.end)
    host, port = own_address(), _free_port()
    write_private(processes.folder / "spark-defaults.conf", _settings(allocation, processes.folder, host))
    os.environ |= {"SPARK_CONF_DIR": str(processes.folder), "SPARK_HOME": str(home), "SPARK_LOCAL_IP": host}
    master = f"spark://{host}:{port}"
    where = ("--host", host, "--port", str(port), "--webui-port", "0")
    processes.start("master", str(home / "bin" / "spark-class"), "org.apache.spark.deploy.master.Master", *where)
    deadline = time.monotonic() + START_TIMEOUT_S
    while not _listens(host, port) and time.monotonic() < deadline:
        processes.check()
        time.sleep(POLL_S)
    node = module_command("pellucid.engines.spark_job.node_main", master, str(allocation.cores), MEMORY)
    processes.start("nodes", *step_words(allocation.nodes), "--export=ALL", *node)
    return master


def _settings(allocation: SlurmAllocation, folder: Path, host: str) -> str:
    cores = allocation.nodes * allocation.cores
    settings = {
        "spark.authenticate": "true",
        "spark.authenticate.secret": secrets.token_hex(32),
        "spark.network.crypto.enabled": "true",
        "spark.master.rest.enabled": "false",
        "spark.ui.killEnabled": "false",
        "spark.ui.enabled": "false",
        "spark.local.dir": str(make_private_folder(folder / "local")),
        "spark.driver.host": host,
        "spark.executor.memory": MEMORY,
        "spark.executor.cores": str(allocation.cores),
        "spark.default.parallelism": str(cores),
        "spark.cores.max": str(cores),
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{START_TIMEOUT_S:.0f}s",
    }
    return "".join(f"{name} {value}\n" for name, value in settings.items())


def spark_home() -> Path:
    """The folder of Spark that comes with its Python package."""
    try:
        import pyspark
    except ModuleNotFoundError:
        raise MissingPackage("pyspark", "spark") from None
    return Path(pyspark.__file__).parent


def own_address(towards: str = "") -> str:
    """The IPv4 address at which other nodes reach this one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((towards or os.environ.get("SLURM_LAUNCH_NODE_IPADDR") or _own_name(), 9))  # Nothing is sent.
        return str(probe.getsockname()[0])


def _own_name() -> str:
    name = socket.gethostname()
    try:
        return socket.gethostbyname(name)
    except OSError:
        return "localhost"


def _free_port() -> int:
    with socket.create_server(("", 0)) as probe:
        return int(probe.getsockname()[1])


def _listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=1.0).close()
    except OSError:
        return False
    return True
