"""Viewers that a C program requests through the agent: looked at, waited for, stopped while they wait.

Here: pellucid_viewer_start_pending and what follows, against a real agent and a real Slurm.
Not here: the same from Python (test_pending), what such a viewer can do (clients/test_c_scene).
"""

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.client.test_pending import SLURM
from tests.slurm_cluster import SlurmCluster
from tests.suite_report import ROOT
from tests.waiting import TIMEOUT_S, wait_until


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the source files alone: nothing is written beside them."""
    if shutil.which("make") is None or shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    built = tmp_path_factory.mktemp("c") / "scene-sanitized"
    command = ["make", "-C", str(ROOT / "clients" / "c"), f"BUILD={built.parent}", str(built)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    return built


def steps_of(*command: object) -> dict[str, str]:
    """What the program prints: steps and results."""
    arguments = [str(part) for part in command]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    assert done.stderr == "" and done.returncode == 0, (done.returncode, done.stderr)
    return dict(line.split(": ", 1) for line in done.stdout.splitlines())


def test_a_viewer_is_requested_looked_at_and_waited_for(program: Path, state_folder: Path) -> None:
    steps = steps_of(program, "pending", sys.executable)
    assert steps["start_pending"] == steps["wait"] == steps["end"] == steps["log"] == "ok"
    assert (steps["code"], steps["undo"]) == ("timeout", "Nothing to undo.") and steps["id"]
    assert re.match(r"The viewer is (queued|starting) after 0 s\.", steps["look"])


def test_a_viewer_is_stopped_before_it_starts(program: Path, state_folder: Path) -> None:
    steps = steps_of(program, "pending", sys.executable, "stop")
    assert steps["shutdown"] == "ok" and steps["wait"] == "The viewer has ended: it was stopped."


def test_under_slurm_the_expected_start_is_known_while_it_waits(
    program: Path, state_folder: Path, slurm: SlurmCluster
) -> None:
    (state_folder / "site.toml").write_text(SLURM)
    slurm.command("sbatch", "--gpus=2", "--time=5", "--output=/dev/null", "--wrap=sleep 600", "--job-name=held")
    command = [str(program), "pending", sys.executable, "poll"]
    began = time.time()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        text: dict[str, str] = {}
        while "expected start" not in text:
            step, _, rest = child.stdout.readline().partition(": ")
            text[step] = rest.strip()
            assert step, text
        assert text["look"].startswith("The viewer is queued") and text["queued"].startswith("queued 1 ")
        seconds, date = text["expected start"].split(" ", 1)
        assert began + 200 < float(seconds) < began + 400
        assert date == time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(float(seconds)))
        slurm.command("scancel", "--name=held")
        rest = child.stdout.read()
    assert "wait: ok" in rest and "end: ok" in rest
    wait_until(lambda: slurm.command("squeue", "--noheader").strip() == "")
