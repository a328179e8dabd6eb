"""Modules in the current folder do not run in the processes that are started there."""

import argparse
import os
import re
import subprocess
from pathlib import Path

import pytest

from pellucid.cli import main as command_line
from pellucid.python_processes import module_command, safe_path
from tests.suite_report import ROOT

STARTS = re.compile(r"sys\.executable,\s*\"-[^\"]*\"")
"""How a command begins that starts Python."""


def test_a_module_in_the_current_folder_does_not_run(tmp_path: Path) -> None:
    (tmp_path / "calendar.py").write_text("print('planted')")
    command = module_command("calendar", "2024", "2")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "February 2024" in done.stdout and "planted" not in done.stdout


def test_the_variable_is_set_only_in_the_context(monkeypatch: pytest.MonkeyPatch) -> None:
    for before in (None, "2"):
        if before is None:
            monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
        else:
            monkeypatch.setenv("PYTHONSAFEPATH", before)
        outer, inner = safe_path(), safe_path()  # As of two threads: the first ends before the second does.
        outer.__enter__()
        inner.__enter__()
        outer.__exit__(None, None, None)
        assert os.environ["PYTHONSAFEPATH"] == "1"
        inner.__exit__(None, None, None)
        assert os.environ.get("PYTHONSAFEPATH") == before


def test_the_children_of_a_command_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    seen: list[str | None] = []

    def run(_: argparse.Namespace) -> int:
        seen.append(os.environ.get("PYTHONSAFEPATH"))
        return 0

    parser = argparse.ArgumentParser()
    parser.set_defaults(run=run, quiet=True, progress_file="", end_with=-1, debug=False)
    monkeypatch.setattr(command_line, "_parser", lambda: parser)
    assert (command_line.main([]), seen) == (0, ["1"])
    assert "PYTHONSAFEPATH" not in os.environ


def test_python_is_started_in_one_way() -> None:
    files = (ROOT / "src" / "pellucid").rglob("*.py")
    starts = {path.name: STARTS.findall(path.read_text()) for path in files if path.name != "python_processes.py"}
    wrong = {name: found for name, found in starts.items() if any('"-I"' not in one for one in found)}
    assert wrong == {}, "use module_command() of pellucid.python_processes"


def test_the_one_way_ignores_the_current_folder() -> None:
    assert STARTS.findall((ROOT / "src/pellucid/python_processes.py").read_text()) == ['sys.executable, "-P"']
    assert '"$0\\" -P -m pellucid' in (ROOT / "clients/c/src/viewer/agent.c").read_text()
