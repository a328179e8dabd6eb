"""The page's types are generated, and up to date."""

import subprocess
import sys

from tests.suite_report import ROOT


def test_the_pages_types_are_those_of_the_protocol() -> None:
    command = [sys.executable, str(ROOT / "tools" / "generate_web_types.py"), "--check"]
    checked = subprocess.run(
        command, check=False, capture_output=True, text=True, env={"PYTHONPATH": str(ROOT / "src")}
    )
    assert checked.returncode == 0, checked.stderr
