"""``import pellucid`` is light: nothing heavy comes with it, and it takes under 0.2 s."""

import json
import os
import subprocess
import sys

import pellucid
from tests.suite_report import ROOT

HEAVY = ("torch", "warp", "h5py", "hdf5plugin", "tensorstore", "tifffile", "imagecodecs", "scipy", "rich", "PIL")
LIMIT_S = 0.2
PROGRAM = """
import json, sys, time
start = time.perf_counter()
import pellucid
print(json.dumps([time.perf_counter() - start, sorted(sys.modules)]))
"""


def import_once() -> tuple[float, list[str]]:
    """Seconds that the import took in a fresh interpreter, and the modules loaded after it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    printed = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, env=environment).stdout
    seconds, modules = json.loads(printed)
    return seconds, modules


def test_nothing_heavy_is_loaded() -> None:
    _, modules = import_once()
    assert [name for name in HEAVY if name in modules] == []


def test_every_name_at_the_front_has_a_home() -> None:
    assert sorted(pellucid.__all__) == sorted(pellucid.HOMES)
    homes = {name: home.rpartition(":")[2] for name, home in pellucid.HOMES.items()}
    assert {name: getattr(pellucid, name).__name__ for name in homes} == homes
    assert "reconstruct" in homes


def test_it_takes_under_a_fifth_of_a_second() -> None:
    # The best of several: another program's burst must not fail this.
    assert min(import_once()[0] for _ in range(5)) < LIMIT_S
