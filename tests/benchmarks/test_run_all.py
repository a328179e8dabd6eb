"""All benchmarks run in one command, and their tables come from one commit."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks import run_all, table


def test_scripts_that_write_a_table_are_benchmarks() -> None:
    found = run_all.names(has_card=True, is_quick=False)
    assert {"agent", "formats", "render", "render_cuda", "viewer"} <= {*found}
    assert {"conversion_peer", "table", "run_all", "memory"}.isdisjoint(found)


def test_without_a_card_only_what_can_be_measured_runs() -> None:
    found, quick, full = (
        {*run_all.names(has_card=has_card, is_quick=is_quick)}
        for has_card, is_quick in ((True, False), (False, True), (False, False))
    )
    assert found - quick == {"learn_overlap", "learn_speed", "neural_speed", "reconstruct_steps", "render_cuda"}
    assert quick - full == {
        "learn_denoise",
        "learn_segment",
        "learn_superres",
        "neural",
        "neural_bounded",
        "neural_ensemble",
        "neural_large",
    }


def test_a_table_has_the_name_of_its_script() -> None:
    scripts = {*run_all.names(has_card=True, is_quick=False)}
    assert {path.stem.split("-")[0] for path in table.RESULTS.glob("*.md")} <= scripts
    for script in scripts:
        assert f'report("{script}", ' in (run_all.FOLDER / f"{script}.py").read_text()


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The scripts that would run, with their arguments; ``bad`` fails. Each writes its table, at the commit abc1234."""
    scripts: list[list[str]] = []

    def measure(name: str, arguments: Sequence[str]) -> int:
        scripts.append([name, *arguments])
        path = tmp_path / table.table_name(name, is_quick="--quick" in arguments)
        path.write_text("Size: small. Commit: abc1234.\n")
        return 3 if name == "bad" else 0

    monkeypatch.setattr("benchmarks.run_all.measure", measure)
    monkeypatch.setattr("benchmarks.run_all.commit", lambda: "abc1234")
    monkeypatch.setattr("benchmarks.run_all.RESULTS", tmp_path)
    monkeypatch.setattr("benchmarks.run_all.FINISHED", tmp_path / "build" / "benchmarks.json")
    return scripts


def test_each_runs_with_the_same_options_and_a_failure_stops_no_other(
    started: list[list[str]],
) -> None:
    assert run_all.run(["bad", "good"], ["--quick"]) == ["bad failed with status 3"]
    assert started == [["bad", "--quick"], ["good", "--quick"]]


def test_tables_of_two_commits_are_no_result(started: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.run_all.commit", lambda: "abc1234" if len(started) < 2 else "abc1234+")
    assert run_all.run(["one", "two", "three"], []) == [
        "the source changed from abc1234 to abc1234+ during two: run all of them again"
    ]
    assert len(started) == 2


def test_what_was_interrupted_goes_on(started: list[list[str]]) -> None:
    run_all.run(["bad", "good"], ["--quick"])
    assert run_all.run(["bad", "good", "other"], ["--quick"]) == ["bad failed with status 3"]
    assert [script[0] for script in started[2:]] == ["bad", "other"]


def test_quick_tables_are_others(started: list[list[str]]) -> None:
    run_all.run(["good"], ["--quick"])
    run_all.run(["good"], [])
    assert len(started) == 2


@pytest.mark.parametrize("at", ["def5678", "abc1234+", "unknown"])
def test_another_source_is_measured_again(started: list[list[str]], monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    run_all.run(["good"], [])
    monkeypatch.setattr("benchmarks.run_all.commit", lambda: at)
    run_all.run(["good"], [])
    run_all.run(["good"], [])
    assert len(started) == 3


def test_a_table_that_was_replaced_is_measured_again(started: list[list[str]], tmp_path: Path) -> None:
    run_all.run(["good"], [])
    (tmp_path / table.table_name("good", is_quick=False)).write_text("Size: small. Commit: 0ld0000.\n")
    run_all.run(["good"], [])
    assert len(started) == 2


def test_the_commit_is_that_of_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*arguments: str) -> str:
        options = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        done = subprocess.run(["git", "-C", tmp_path, *options, *arguments], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def change(name: str) -> str:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{git('rev-list', '--all', '--count')}\n")
        git("add", name)
        git("commit", "--message", name)
        return git("rev-parse", "--short", "HEAD")

    git("init")
    monkeypatch.setattr(table, "__file__", str(tmp_path / "benchmarks" / "table.py"))
    source = change("src/a.py")
    assert table.commit() == source
    change("docs/a.md")
    change("benchmarks/results/a.md")
    assert table.commit() == source
    (tmp_path / "docs/a.md").write_text("Other words.\n")
    assert table.commit() == source
    source = change("benchmarks/a.py")
    assert table.commit() == source
    (tmp_path / "src/a.py").write_text("changed = True\n")
    assert table.commit() == f"{source}+"
