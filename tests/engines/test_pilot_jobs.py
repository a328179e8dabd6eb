"""Engines whose workers run on the nodes of the Slurm job in which the program runs."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pellucid.engines.engine import EngineOptions, make_engine
from pellucid.engines.parsl.site import allocation_site
from pellucid.errors import InvalidInput
from pellucid.jobs.allocation import SlurmAllocation
from tests.slurm_cluster import SlurmCluster, can_run, started
from tests.suite_report import MACHINE, ROOT

NODES = """
import os, subprocess, sys
import numpy as np
from pellucid.engines.engine import EngineOptions, make_engine
from pellucid.engines.run import run
from tests.contracts.engines import SHAPE, blocks, invert_task, written
from pathlib import Path

if __name__ == "__main__":
    voxels = np.random.default_rng(0).integers(0, 255, SHAPE, dtype=np.uint8)
    task = invert_task(Path(sys.argv[2]), voxels)
    engine = make_engine(sys.argv[1], EngineOptions(8, 2**30))
    results = {done.index: done.result for done in run(task, blocks(), engine)}
    wanted = {b.index: int(voxels[b.core.slices].sum()) for b in blocks()}
    print("right", results == wanted, (written(task) == 255 - voxels).all())
    words = ["squeue", "--steps", "--noheader", "--format=%N"]
    print("nodes", subprocess.run(words, capture_output=True, text=True).stdout.split())
"""


@pytest.fixture(scope="module")
def two_nodes() -> Iterator[SlurmCluster]:
    if not can_run():
        pytest.skip("needs Slurm")
    with started("first", "second") as cluster:
        yield cluster


@pytest.mark.parametrize("engine", ["parsl:srun", "spark:srun"])
def test_blocks_run_on_the_nodes_of_the_job(two_nodes: SlurmCluster, tmp_path: Path, engine: str) -> None:
    if engine.startswith("spark") and MACHINE["no-spark"]():
        pytest.skip("needs pyspark")
    (tmp_path / "program.py").write_text(NODES)
    environment = {
        **os.environ, **two_nodes.environment, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}",
        "PELLUCID_STATE_FOLDER": str(tmp_path / "state"),
    }  # fmt: skip
    words = ["--nodes=2", "--ntasks-per-node=1", "--cpus-per-task=2", "--mem=4000"]
    ran = subprocess.run(
        ["salloc", *words, sys.executable, str(tmp_path / "program.py"), engine, str(tmp_path)],
        env=environment, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert "right True True" in ran.stdout, ran.stdout + ran.stderr
    assert "first,second" in ran.stdout or "first','second" in ran.stdout, ran.stdout
    assert not any((tmp_path / "state" / "spark").glob("job-*"))


def test_a_job_has_a_worker_for_each_core_and_each_gpu() -> None:
    said = {"SLURM_JOB_NUM_NODES": "2", "SLURM_JOB_CPUS_PER_NODE": "8(x2)", "SLURM_GPUS_ON_NODE": "4"}
    site = allocation_site(SlurmAllocation.of({**said, "SLURM_MEM_PER_NODE": "4000"}))
    assert [(kind.name, kind.per_node, kind.nodes, kind.cores) for kind in site.kinds] == [
        ("cpu", 8, 2, 1),
        ("gpu", 4, 2, 2),
    ]
    assert [kind.memory_bytes >> 20 for kind in site.kinds] == [500, 1000]


@pytest.mark.parametrize("engine", ["parsl:srun", "spark:srun"])
def test_outside_of_a_job_it_is_refused(monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    with pytest.raises(InvalidInput, match=r"This program does not run in a Slurm job\. Start it with sbatch"):
        make_engine(engine, EngineOptions(1, 2**20))
