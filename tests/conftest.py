"""Fixtures that every test may use, and the report that closes the run.

Here: registration of the suite's report, of the groups of tests that share a worker and of their browser, the profile
of Hypothesis, where real scans are, the object store, Slurm,
Spark and the server of forks, started once per run.
Not here: what a layer's own tests share (a conftest in its folder).
"""

import os
import socket
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from httpx._config import DEFAULT_TIMEOUT_CONFIG
from hypothesis import HealthCheck, settings
from websockets.sync.client import connect

from tests import spark_cluster
from tests.fork_server import ForkServer, is_possible
from tests.s3_server import S3Server, start_s3
from tests.shared_browser import SharedBrowser
from tests.slurm_cluster import SlurmCluster, can_run, started
from tests.stranger import account, can_add
from tests.suite_report import ROOT, Limits, ProcessorTime, SuiteReport, shared_data_folder
from tests.waiting import TIMEOUT_S
from tests.worker_groups import WorkerGroups, is_worker

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from pyspark import SparkContext

# How long an example takes depends on what else runs on the machine. An automatic build tries the same ones every time.
settings.register_profile(
    "busy machine", deadline=None, derandomize="CI" in os.environ, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("busy machine")


def pytest_configure(config: pytest.Config) -> None:
    # Registered as a plugin of its own: hooks of this file would not see the examples in src's docstrings.
    config.pluginmanager.register(WorkerGroups(), "worker-groups")
    config.pluginmanager.register(ProcessorTime(), "processor-time")
    config.pluginmanager.register(SharedBrowser(), "shared-browser")
    if is_worker(config):  # The process that started it has the report.
        return
    times = os.environ.get("SUITE_TIMES")
    report = SuiteReport(Limits.read(ROOT / "tests" / "limits.toml"), ROOT / times if times else None)
    config.pluginmanager.register(report, "suite-report")


@pytest.fixture(scope="session", autouse=True)
def _state_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What tests start is written down in a folder of the run, not among the viewers of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PELLUCID_STATE_FOLDER", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session", autouse=True)
def fork_server() -> Iterator[ForkServer]:
    """Hundreds of processes of Pellucid need not import everything anew."""
    server = ForkServer()
    with server.installed() if is_possible() else nullcontext():
        yield server


@pytest.fixture(scope="session", autouse=True)
def _names_below_localhost() -> Iterator[None]:
    """Lead to this machine, as they do in every browser; not every system's resolver knows them."""
    resolve = socket.getaddrinfo

    def resolved(host: Any, *more: Any, **named: Any) -> Any:
        return resolve("127.0.0.1" if str(host).endswith(".localhost") else host, *more, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", resolved)
        yield


@pytest.fixture(scope="session", autouse=True)
def _answers_may_take_long() -> Iterator[None]:
    """HTTP clients give up after 5 s, websockets after 10 s and 20 s: a busy machine may need longer for an answer."""
    with pytest.MonkeyPatch.context() as patch:
        for phase in ("connect", "read", "write", "pool"):
            patch.setattr(DEFAULT_TIMEOUT_CONFIG, phase, TIMEOUT_S)
        assert connect.__kwdefaults__ is not None
        for phase in ("open_timeout", "ping_timeout"):
            patch.setitem(connect.__kwdefaults__, phase, TIMEOUT_S)
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real scans; a test that needs it is skipped where it is absent."""
    folder = shared_data_folder()
    if not folder.is_dir():
        pytest.skip("shared data absent")
    return folder


@pytest.fixture(scope="session")
def s3_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """One server for the whole run."""
    with start_s3(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture
def s3(s3_process: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """The server, with an environment that points at it."""
    for name, value in s3_process.environment.items():
        monkeypatch.setenv(name, value)
    return s3_process


@pytest.fixture(scope="session")
def browser(pytestconfig: pytest.Config) -> "Iterator[Browser]":
    """One browser for the whole run; a test opens a context of its own in it."""
    shared = pytestconfig.pluginmanager.get_plugin("shared-browser")
    assert isinstance(shared, SharedBrowser)
    with shared.launched() as launched:
        yield launched


@pytest.fixture
def stranger() -> Iterator[str]:
    """A real user who is nobody here."""
    if not can_add():
        pytest.skip("needs root")
    with account() as name:
        yield name


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkContext]":
    """One driver in this process, and one standalone Spark with two nodes, for the whole run."""
    if not spark_cluster.can_run():
        pytest.skip("needs Spark")
    with spark_cluster.started(tmp_path_factory.mktemp("spark")) as cluster:
        context = cluster.context("tests")
        yield context
        context.stop()


@pytest.fixture(scope="session")
def slurm_cluster() -> Iterator[SlurmCluster]:
    """One Slurm for the whole run, on this machine alone."""
    if not can_run():
        pytest.skip("needs Slurm")
    with started() as cluster:
        yield cluster


@pytest.fixture
def slurm(slurm_cluster: SlurmCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlurmCluster]:
    """Slurm, with an environment that points at it; what a test leaves in it does not stand in the next one's way."""
    for name, value in slurm_cluster.environment.items():
        monkeypatch.setenv(name, value)
    yield slurm_cluster
    slurm_cluster.clear()
