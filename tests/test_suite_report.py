"""The suite fails when a test is skipped without an allowed reason, in one process and in several."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.suite_report import MACHINE, ROOT, AllowedSkip, Limits, ProcessorTime, SuiteReport, layer_of

LIMITS = Limits((AllowedSkip("needs a GPU", "no-gpu"),))


@pytest.mark.parametrize(("has_gpu", "allowed"), [(False, True), (True, False)])
def test_a_skip_is_excused_only_where_the_machine_lacks_the_thing(
    has_gpu: bool, allowed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(MACHINE, "no-gpu", lambda: not has_gpu)
    assert LIMITS.is_allowed("needs a GPU (1 GiB)") is allowed
    assert not LIMITS.is_allowed("flaky")


def test_every_allowed_skip_names_a_known_fact() -> None:
    assert {skip.when for skip in Limits.read(ROOT / "tests" / "limits.toml").skips} <= MACHINE.keys()


def test_files_count_to_their_layer() -> None:
    assert layer_of("src/pellucid/formats/tiff/format.py") == "formats"
    assert layer_of("src/pellucid/__init__.py") == "house"
    assert layer_of("tests/test_box.py") == "ground"
    assert layer_of("tests/test_examples.py") == "examples"


def test_the_steps_before_are_part_of_the_table(tmp_path: Path) -> None:
    (tmp_path / "set-up").write_text("1.5\n")
    assert SuiteReport(LIMITS, tmp_path).table()[1].split() == ["set-up", "1.5"]


ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""Other plugins take longer to load than these runs."""


def run_suite(folder: Path, *options: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """The tests in a folder, under the plugins of this suite."""
    plugins = ["-p", "tests.conftest", "-p", "xdist.plugin", "-p", "no:cacheprovider", "--rootdir", str(folder)]
    inherited = {k: v for k, v in os.environ.items() if k != "SUITE_TIMES" and not k.startswith("PYTEST")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, *options, str(folder)],
        capture_output=True, text=True, env={**inherited, "PYTHONPATH": str(ROOT), **ALONE, **environment}, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("options", [(), ("--numprocesses=2",)])
def test_a_run_fails_on_a_skip_that_is_not_listed(options: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text("import pytest\ndef test_one():\n    pytest.skip('too lazy')\n")
    (tmp_path / "test_all.py").write_text("import pytest\npytest.skip('too hard', allow_module_level=True)\n")
    run = run_suite(tmp_path, *options)
    assert run.returncode == 1, run.stdout + run.stderr
    assert run.stdout.count("test_one was skipped, and tests/limits.toml does not allow here: too lazy") == 1
    assert run.stdout.count("test_all.py was skipped, and tests/limits.toml does not allow here: too hard") == 1


def test_a_known_fault_is_no_skip(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text("import pytest\ndef test_one():\n    pytest.xfail('known')\n")
    run = run_suite(tmp_path)
    assert run.returncode == 0 and "1 xfailed" in run.stdout, run.stdout + run.stderr


SAY_WORKER = 'Path(__file__).with_suffix(".worker").write_text(os.environ["PYTEST_XDIST_WORKER"])'
CLUSTERED = f"""import os, pytest
from pathlib import Path
@pytest.fixture(scope="session")
def slurm_cluster(): pass
def test_one(slurm_cluster: "SlurmCluster"): {SAY_WORKER}
"""
OTHER = f"""import os
from pathlib import Path
def test_one(): {SAY_WORKER}
"""


def test_workers_are_reported_in_one_table_and_tests_that_need_a_cluster_share_one(tmp_path: Path) -> None:
    for name, text in {"a": OTHER, "b": CLUSTERED, "c": CLUSTERED, "d": CLUSTERED}.items():
        (tmp_path / f"test_{name}.py").write_text(text)
    (tmp_path / "times").mkdir()
    (tmp_path / "times" / "check").write_text("1.5\n")
    run = run_suite(tmp_path, "--numprocesses=2", SUITE_TIMES=str(tmp_path / "times"))
    assert run.returncode == 0 and "4 passed" in run.stdout, run.stdout + run.stderr
    workers = {name: (tmp_path / f"test_{name}.worker").read_text() for name in "abcd"}
    assert workers["b"] == workers["c"] == workers["d"] != workers["a"]
    rows = [line.split() for line in run.stdout.partition("time of each layer")[2].splitlines()[1:]]
    assert [row[0] for row in rows[:5]] == ["layer", "check", "collection", "house", "total"]
    assert rows[3][1] == "4" and len(rows[3]) == 4


HIDDEN = """import pytest
@pytest.fixture
def {fixture}(): pass
def test_one({fixture}): pass
"""


@pytest.mark.parametrize(
    ("fixture", "resource", "pattern"),
    [("slurm_cluster", "cluster", "USES_CLUSTER"), ("browser", "browser", "USES_BROWSER")],
)
def test_a_file_that_hides_what_it_needs_is_refused(fixture: str, resource: str, pattern: str, tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(HIDDEN.format(fixture=fixture))
    run = run_suite(tmp_path)
    assert run.returncode == 4
    assert f"test_a.py uses the {resource}, and nothing in it matches {pattern}" in run.stderr


BROWSING = """import asyncio, os, pytest
from playwright.sync_api import Browser
def test_before(): asyncio.run(asyncio.sleep(0))
@pytest.mark.parametrize("number", range(2))
def test_page(browser: Browser, number: int):
    page = browser.new_page()
    assert page.evaluate("1 + 1") == 2
    page.close()
def test_after(): asyncio.run(asyncio.sleep(0))
"""


@pytest.mark.skipif(MACHINE["no-browser"](), reason="needs a browser: install chromium")
def test_files_share_a_browser_and_other_tests_have_no_event_loop_of_it(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"test_{name}.py").write_text(BROWSING)
    run = run_suite(tmp_path)
    assert run.returncode == 0 and "8 passed" in run.stdout, run.stdout + run.stderr


def test_the_processor_time_of_a_test_is_measured() -> None:
    measured, report = ProcessorTime(), pytest.TestReport("a", ("a", 0, "a"), {}, "passed", None, "call")
    hook = measured.pytest_runtest_makereport()
    next(hook)
    while sum(os.times()[:4]) < measured._before_s + 0.06:
        pass
    with pytest.raises(StopIteration):
        hook.send(report)
    assert report.processor_s >= 0.05
