"""All benchmarks run in one command, and their tables come from one commit."""

import subprocess

import pytest

from benchmarks import run_all, table


def test_scripts_that_write_a_table_are_benchmarks() -> None:
    found = run_all.names(has_card=True)
    assert {"agent", "formats", "render", "render_cuda", "viewer"} <= {*found}
    assert {"conversion_peer", "table", "run_all", "memory"}.isdisjoint(found)
    assert run_all.names(has_card=False) == [
        name for name in found if name not in ("large_surfaces", "learn_speed", "neural_speed", "render_cuda")
    ]


def test_a_table_has_the_name_of_its_script() -> None:
    scripts = {*run_all.names(has_card=True)}
    assert {path.stem.split("-")[0] for path in table.RESULTS.glob("*.md")} <= scripts


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that would run; ``bad`` fails."""
    commands: list[list[str]] = []

    def run(command: list[str], check: bool) -> "subprocess.CompletedProcess[bytes]":
        commands.append(command[1:])
        return subprocess.CompletedProcess(command, 3 if "benchmarks.bad" in command else 0)

    monkeypatch.setattr("benchmarks.run_all.subprocess.run", run)
    return commands


def test_each_runs_with_the_same_options_and_a_failure_stops_no_other(
    started: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.run_all.commit", lambda: "abc1234")
    assert run_all.run(["bad", "good"], ["--quick"]) == ["bad failed with status 3"]
    assert started == [["-m", f"benchmarks.{name}", "--quick"] for name in ("bad", "good")]


def test_tables_of_two_commits_are_no_result(started: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    commits = iter(["abc1234", "abc1234", "abc1234+", "abc1234+"])
    monkeypatch.setattr("benchmarks.run_all.commit", lambda: next(commits))
    assert run_all.run(["one", "two", "three"], []) == [
        "the source changed from abc1234 to abc1234+ during two: run all of them again"
    ]
    assert len(started) == 2
