"""What the suite cost and what it left out: the table of times per layer, and the list of allowed skips.

Here: the pytest plugins that measure and print times, and fail the run on a skip that is not allowed; the facts about
this machine that excuse a skip.
Not here: the list itself (limits.toml), fixtures (conftest), which process runs which test (worker_groups).
"""

import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections import defaultdict
from collections.abc import Callable, Generator, Mapping
from ctypes.util import find_library
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.fork_server import is_possible

ROOT = Path(__file__).resolve().parent.parent
GROUND = ("errors", "box", "settings", "progress")


def shared_data_folder() -> Path:
    """Real scans that are too large for the repository: beside the checkout, or where TEST_DATA_FOLDER says."""
    return Path(os.environ.get("TEST_DATA_FOLDER", ROOT.parent / "shared" / "data"))


def _may_administer() -> bool:
    """Whether this process has the capability (CAP_SYS_ADMIN, number 21) that mounting takes."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return bool(int(status["CapEff"], 16) >> 21 & 1)


def _has_namespaces() -> bool:
    """Whether two network namespaces could be made, as if there were two machines."""
    return _may_administer() and shutil.which("ip") is not None


def _has_netem() -> bool:
    """Whether the kernel can delay and lose packets; asked in a namespace that is gone again at once."""
    if not _has_namespaces() or shutil.which("unshare") is None:
        return False
    command = ["unshare", "--net", "tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def everybodys_python() -> str | None:
    """A Python of this version that other people than the one who runs the tests may run; None where there is none."""
    for path in (Path(sys.executable).resolve(), Path(f"/usr/bin/python3.{sys.version_info.minor}")):
        if path.exists() and all(parent.stat().st_mode & 0o001 for parent in (path, *path.parents)):
            return str(path)
    return None


def _can_run_hub() -> bool:
    """Making people, and acting for them, takes root; they have to be able to run what is tested here."""
    is_open = all(parent.stat().st_mode & 0o001 for parent in (ROOT, *ROOT.parents))
    return os.geteuid() == 0 and shutil.which("useradd") is not None and is_open and everybodys_python() is not None


BROWSERS = ("chromium", "chromium-browser", "google-chrome")

MACHINE: Mapping[str, Callable[[], bool]] = {
    "no-gpu": lambda: not Path("/dev/nvidiactl").exists(),
    "no-browser": lambda: not any(map(shutil.which, BROWSERS)),
    "no-rdma": lambda: not Path("/sys/class/infiniband").exists(),
    "root": lambda: os.geteuid() == 0,
    "not-root": lambda: os.geteuid() != 0,
    "no-shared-data": lambda: not shared_data_folder().is_dir(),
    "no-mounting": lambda: not _may_administer(),
    "no-namespaces": lambda: not _has_namespaces(),
    "no-compiler": lambda: shutil.which("make") is None or shutil.which("cc") is None,
    "no-valgrind": lambda: shutil.which("valgrind") is None,
    "no-netem": lambda: not _has_netem(),
    "no-tun": lambda: not (_has_namespaces() and os.access("/dev/net/tun", os.W_OK)),
    "no-forks": lambda: not is_possible(),
    "no-egl": lambda: find_spec("moderngl") is None or find_library("EGL") is None,
    "no-spark": lambda: find_spec("pyspark") is None or shutil.which("java") is None,
    "no-hub": lambda: not _can_run_hub(),
    "no-slurm": lambda: os.geteuid() != 0 or not all(shutil.which(name) for name in ("slurmctld", "slurmd", "munged")),
}


@dataclass(frozen=True)
class AllowedSkip:
    """reason: how the reason of the skip begins. when: the key of MACHINE that has to hold."""

    reason: str
    when: str

    def excuses(self, reason: str) -> bool:
        return reason.startswith(self.reason) and MACHINE[self.when]()


@dataclass(frozen=True)
class Limits:
    """The skips that are no failure."""

    skips: tuple[AllowedSkip, ...]

    @classmethod
    def read(cls, path: Path) -> "Limits":
        return cls(tuple(AllowedSkip(**skip) for skip in tomllib.loads(path.read_text())["skips"]))

    def is_allowed(self, reason: str) -> bool:
        return any(skip.excuses(reason) for skip in self.skips)


def layer_of(path: str) -> str:
    """The layer whose time a test counts to, by the path of its file from the root.

    >>> [layer_of(p) for p in ("tests/formats/test_tiff.py", "src/pellucid/box.py", "tests/test_layers.py")]
    ['formats', 'ground', 'house']
    """
    parts = Path(path).parts
    inside = parts[2:] if parts[:2] == ("src", "pellucid") else parts[1:]
    first = Path(inside[0]).stem.removeprefix("test_") if inside else ""
    if len(inside) > 1:
        return inside[0]
    if first in GROUND:
        return "ground"
    return first if first in ("examples", "benchmarks") else "house"


def skip_reason(longrepr: object) -> str:
    """The words after ``Skipped:``, as pytest stores them: (file, line, text)."""
    text = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)
    return str(text).removeprefix("Skipped: ")


class ProcessorTime:
    """Adds to every report the processor seconds of the test: of this process and of those that it waited for."""

    def __init__(self) -> None:
        self._before_s = _processor_s()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        before_s, self._before_s = self._before_s, _processor_s()
        vars(report)["processor_s"] = self._before_s - before_s
        return report


def _processor_s() -> float:
    return sum(os.times()[:4])


class SuiteReport:
    """Adds up times per layer and collects skips; at the end prints the table and fails the run on a wrong skip.

    Times are shown when SUITE_TIMES names the folder with the times of the steps before (``make test`` sets it). They
    never fail a run: what a layer takes depends on what else the machine does.
    """

    def __init__(self, limits: Limits, times_folder: Path | None) -> None:
        self.limits = limits
        self.is_timed = times_folder is not None
        self.times_s: dict[str, float] = defaultdict(float)
        self.processor_s: dict[str, float] = defaultdict(float)
        self.tests: dict[str, int] = defaultdict(int)
        self.faults: list[str] = []
        for name in ("set-up", "check"):
            if times_folder is not None and (times_folder / name).exists():
                self.times_s[name] = float((times_folder / name).read_text())
        self._before_s = sum(self.times_s.values())
        self._started = time.perf_counter()

    def pytest_collection_finish(self) -> None:
        self.times_s["collection"] = time.perf_counter() - self._started

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self) -> None:
        self.pytest_collection_finish()  # Of the worker that was the last.

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self._note_skip(report.nodeid, report.longrepr)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        layer = layer_of(report.nodeid.partition("::")[0])
        self.times_s[layer] += report.duration
        self.processor_s[layer] += getattr(report, "processor_s", 0.0)  # A worker that crashed measured nothing.
        self.tests[layer] += report.when == "call"
        if report.skipped and not hasattr(report, "wasxfail"):
            self._note_skip(report.nodeid, report.longrepr)

    def _note_skip(self, test: str, longrepr: object) -> None:
        reason = skip_reason(longrepr)
        fault = f"{test} was skipped, and tests/limits.toml does not allow here: {reason}"
        if not self.limits.is_allowed(reason) and fault not in self.faults:  # Every worker collects every file.
            self.faults.append(fault)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.times_s["total"] = self._before_s + time.perf_counter() - self._started
        if self.faults and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.is_timed:
            terminalreporter.section("time of each layer")
            for line in self.table():
                terminalreporter.line(line)
        if self.faults:
            terminalreporter.section("limits passed", red=True)
            for fault in self.faults:
                terminalreporter.line(f"FAILED {fault}", red=True)

    def table(self) -> list[str]:
        """Layer, tests, seconds, processor seconds: in the order in which they ran.

        The seconds of the layers add up to more than the total where several workers ran.
        """
        lines = [f"{'layer':<12}{'tests':>7}{'seconds':>10}{'processor':>11}"]
        for layer, seconds in self.times_s.items():
            processor = f"{self.processor_s[layer]:.1f}" if layer in self.processor_s else ""
            lines.append(f"{layer:<12}{self.tests.get(layer, ''):>7}{seconds:>10.1f}{processor:>11}".rstrip())
        return lines
