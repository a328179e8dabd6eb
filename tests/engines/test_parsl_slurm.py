"""The engine on Parsl with workers in jobs of a real Slurm."""

import json
from pathlib import Path

import numpy as np
import pytest

from pellucid.engines.engine import EngineOptions, make_engine
from pellucid.engines.parsl.engine import ParslEngine
from pellucid.engines.parsl.session import session_of
from pellucid.engines.run import run
from pellucid.volume.blocks import split
from tests.contracts.engine_tasks import UseDevice
from tests.contracts.engines import SHAPE, blocks, invert_task, written
from tests.slurm_cluster import SlurmCluster

SITE = """
provider = "slurm"
folder = "{folder}"

[workers.gpu]
gpus = 2
cores = 1
memory = "500MiB"
[workers.gpu.provider]
partition = "main"
walltime = "00:05:00"
"""


def test_blocks_run_in_a_job_with_a_worker_for_each_gpu(slurm: SlurmCluster, tmp_path: Path) -> None:
    shared = slurm.folder / "parsl"
    (tmp_path / "site.toml").write_text(SITE.format(folder=shared))
    options = EngineOptions(1, 1, usage_file=tmp_path / "use.json")
    voxels = np.random.default_rng(0).integers(0, 255, SHAPE, dtype=np.uint8)
    task = invert_task(tmp_path, voxels)
    engine = make_engine(f"parsl:{tmp_path}/site.toml", options)
    assert isinstance(engine, ParslEngine)
    try:
        results = {done.index: done.result for done in run(task, blocks(), engine)}
        assert results == {block.index: int(voxels[block.core.slices].sum()) for block in blocks()}
        assert (written(task) == 255 - voxels).all()
        (job,) = slurm.command("squeue", "--noheader", "--format=%b %C %m %T").strip().splitlines()
        assert job.split() == ["gres:gpu:2", "2", "1G", "RUNNING"]
        used_devices = [done.result[0] for done in run(UseDevice(str(tmp_path)), split((6, 1, 1), (1, 1, 1)), engine)]
        assert used_devices == ["cuda:0"] * 6
        used = json.loads((tmp_path / "use.json").read_text())["used"]
        assert {one["worker"]["rank"] for one in used} == {0, 1} and len(used) == 10
    finally:
        session_of(engine.site).close()
    assert slurm.command("squeue", "--noheader", "--states=RUNNING,PENDING").strip() == ""
    assert not any(shared.iterdir())


def test_why_no_worker_started(slurm: SlurmCluster, tmp_path: Path) -> None:
    text = SITE.replace('provider = "slurm"', 'provider = "slurm"\nsetup = "echo no module cuda >&2; exit 3"')
    (tmp_path / "site.toml").write_text(text.format(folder=slurm.folder / "parsl"))
    engine = make_engine(f"parsl:{tmp_path}/site.toml", EngineOptions(1, 1))
    assert isinstance(engine, ParslEngine)
    task = invert_task(tmp_path, np.zeros(SHAPE, np.uint8))
    try:
        with pytest.raises(Exception, match=r"The workers of site site did not start(.|\n)*no module cuda"):
            list(run(task, blocks(), engine))
    finally:
        session_of(engine.site).close()
