"""``import pellucid`` is light: nothing heavy comes with it, and few modules do."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import pellucid
from pellucid.formats.registry import KINDS
from tests.suite_report import ROOT

HEAVY = ("torch", "warp", "h5py", "hdf5plugin", "tensorstore", "tifffile", "imagecodecs", "scipy", "rich", "PIL")
MAX_MODULES = 100
PROGRAM = """
import json, sys
before = set(sys.modules)
import pellucid
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def loaded_modules() -> list[str]:
    """What the import loads in a fresh interpreter."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    printed = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, env=environment).stdout
    modules: list[str] = json.loads(printed)
    return modules


def test_nothing_heavy_is_loaded_and_little_else() -> None:
    modules = loaded_modules()
    assert "pellucid" in modules
    assert [name for name in HEAVY if name in modules] == []
    assert len(modules) < MAX_MODULES  # 29 today; counted, because seconds depend on what else the machine does.


def test_every_name_at_the_front_has_a_home() -> None:
    assert sorted(pellucid.__all__) == sorted(pellucid.HOMES)
    homes = {name: home.rpartition(":")[2] for name, home in pellucid.HOMES.items()}
    assert {name: getattr(pellucid, name).__name__ for name in homes} == homes
    assert "reconstruct" in homes


def test_every_format_is_found() -> None:
    modules = {name: f"pellucid.formats.{spec.module}" for name, spec in KINDS.items()}
    assert [name for name, module in modules.items() if find_spec(module) is None] == []


def test_every_command_is_found() -> None:
    listed = subprocess.run([sys.executable, "-m", "pellucid", "--help"], check=True, capture_output=True, text=True)
    assert [name for name in ("info", "reconstruct", "render", "view", "doctor") if name not in listed.stdout] == []
