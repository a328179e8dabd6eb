"""The page's types are generated, and up to date."""

import subprocess
import sys

from tests.suite_report import ROOT


def test_the_pages_types_are_those_of_the_protocol() -> None:
    command = [sys.executable, "-m", "tools.generate_web_types", "--check"]
    environment = {"PYTHONPATH": str(ROOT / "src")}
    checked = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, cwd=ROOT)
    assert checked.returncode == 0, checked.stderr
