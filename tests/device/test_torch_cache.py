"""What PyTorch compiles is kept where no other user can put anything."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pellucid.device.torch_cache import VARIABLE
from tests.suite_report import ROOT

SHOW = """
import pellucid.{package}
from torch._inductor.runtime.cache_dir_utils import cache_dir
print(cache_dir())
"""


def shown(package: str, cache: Path, **environment: str) -> str:
    known = {name: value for name, value in os.environ.items() if name != VARIABLE}
    environment = {**known, "PYTHONPATH": str(ROOT / "src"), "PELLUCID_CACHE_FOLDER": str(cache), **environment}
    command = [sys.executable, "-c", SHOW.format(package=package)]
    return subprocess.run(command, env=environment, umask=0, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("package", ["neural", "learn"])
def test_the_folder_is_the_users_own(package: str, tmp_path: Path) -> None:
    folder = tmp_path / "cache/torch"
    assert shown(package, tmp_path / "cache") == str(folder)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder.parent, folder)] == [0o700, 0o700]


def test_a_folder_that_the_environment_names_is_used(tmp_path: Path) -> None:
    named = str(tmp_path / "named")
    assert shown("neural", tmp_path / "cache", **{VARIABLE: named}) == named
