"""The suite fails when a layer passes its budget, and when a test is skipped without an allowed reason."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.suite_report import MACHINE, ROOT, AllowedSkip, Limits, SuiteReport, layer_of

LIMITS = Limits({"formats": 10.0, "total": 20.0}, (AllowedSkip("needs a GPU", "no-gpu"),))


def test_a_layer_over_its_budget_is_named() -> None:
    assert LIMITS.over_budget({"formats": 10.5}) == ["formats took 10 s of its 10 s"]
    assert LIMITS.over_budget({"formats": 9.5}) == []


def test_a_layer_without_a_budget_is_named() -> None:
    assert LIMITS.over_budget({"novel": 0.1}) == ["novel has no budget: give it one in tests/limits.toml"]


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
    assert SuiteReport(LIMITS, tmp_path).table()[1].split() == ["set-up", "1.5", "nan"]


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ("pass", 0, "1 passed"),
        ("import pytest; pytest.skip('too lazy')", 1, "does not allow here: too lazy"),
        ("import pytest; pytest.xfail('known')", 0, "1 xfailed"),
    ],
)
def test_a_run_fails_on_a_skip_that_is_not_listed(body: str, status: int, words: str, tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(f"def test_one():\n    {body}\n")
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", "--rootdir"]
    environment = {k: v for k, v in os.environ.items() if k != "SUITE_TIMES"} | {"PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        [*command, str(tmp_path), str(tmp_path)], capture_output=True, text=True, env=environment, check=False
    )
    assert run.returncode == status, run.stdout
    assert words in run.stdout
