"""The C API, built once."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.suite_report import ROOT


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything that make builds, in a folder of its own."""
    if shutil.which("make") is None or shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("c")
    command = ["make", "-C", str(ROOT / "clients" / "c"), f"BUILD={folder}", f"-j{os.cpu_count()}"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    return folder
