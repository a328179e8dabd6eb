"""Device Workers in a step of a Slurm job, without Spark."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pellucid.cluster.nodes.allocation import AllocationWorkers
from pellucid.errors import InvalidInput
from pellucid.volume.sample_volume import sample
from tests.slurm_cluster import SlurmCluster
from tests.suite_report import ROOT

PROGRAM = """
import os, signal, sys, time
import numpy as np
import pellucid
from pellucid.cluster.credentials import Credentials
from pellucid.cluster.links import WorkerLink
from pellucid.cluster.viewer.worker_source import viewer_workers

with viewer_workers("srun", 2) as file, pellucid.start(device=file.device) as viewer:
    record = file.read()
    viewer.load(sys.argv[1])
    np.save(sys.argv[2], viewer.screenshot(96, 96))
    killed = record.workers[0]
    os.kill(WorkerLink(killed.address, Credentials.parse(record.credentials).token).pid, signal.SIGKILL)
    np.save(sys.argv[3], viewer.screenshot(96, 96))
    while len(file.read().workers) < 2 or killed in file.read().workers:
        time.sleep(0.1)
    print("workers", len(record.workers), len(file.read().workers))
"""


def test_a_job_draws_with_the_workers_of_a_step_and_replaces_one(slurm: SlurmCluster, tmp_path: Path) -> None:
    np.save(tmp_path / "volume.npy", np.ascontiguousarray(sample(40)))
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = {
        **os.environ, **slurm.environment, "PYTHONPATH": f"{ROOT / 'src'}",
        "PELLUCID_STATE_FOLDER": str(tmp_path / "state"),
    }  # fmt: skip
    images = [str(tmp_path / f"image{number}.npy") for number in range(2)]
    words = ["--nodes=1", "--ntasks=2", "--cpus-per-task=2", "--mem=4000"]
    run = subprocess.run(
        ["salloc", *words, sys.executable, str(tmp_path / "program.py"), str(tmp_path / "volume.npy"), *images],
        env=environment, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert "workers 2 2" in run.stdout, run.stdout + run.stderr
    before, after = (np.load(image) for image in images)
    assert before[..., :3].std() > 5
    assert (before == after).all()


def test_outside_of_a_job_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    with pytest.raises(InvalidInput, match=r"This program does not run in a Slurm job"):
        AllocationWorkers()
