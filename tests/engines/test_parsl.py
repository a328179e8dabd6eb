"""The engine on Parsl keeps the contract; and what is special about it.

All tests share the workers of one session: they take seconds to start.
"""

import json
import os
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from pellucid.cli.main import main
from pellucid.engines.engine import EngineOptions, make_engine
from pellucid.engines.parsl.block_main import unpack_task
from pellucid.engines.parsl.engine import ParslEngine
from pellucid.engines.parsl.site import WorkerKind
from pellucid.engines.parsl.usage import Meter, Sample, Usage, WorkerName
from pellucid.engines.parsl.usage_report import UsageReport
from pellucid.engines.run import run
from pellucid.engines.worker import WorkFailed
from pellucid.errors import InvalidInput, WorkerLost
from pellucid.formats.protocol import Voxels
from pellucid.infer.apply import RunControl, apply_network
from pellucid.volume.volume import Volume, open_volume
from tests.contracts.engine_tasks import Invert
from tests.contracts.engines import EngineContract, blocks, written
from tests.infer.small_networks import convolution


class TestParsl(EngineContract):
    name = "parsl"

    def test_a_killed_process_is_replaced_and_its_block_done_again(self, task: Invert, voxels: Voxels) -> None:
        assert len(list(run(replace(task, trouble="dies"), blocks(), self.engine()))) == 4
        assert task.runs() == [0, 1, 1, 2, 3]
        assert (written(task) == 255 - voxels).all()

    def test_a_killed_worker_is_replaced_and_its_block_done_again(self, task: Invert, voxels: Voxels) -> None:
        assert len(list(run(replace(task, trouble="worker dies"), blocks(), self.engine()))) == 4
        assert task.runs() == [0, 1, 1, 2, 3]
        assert (written(task) == 255 - voxels).all()

    def test_the_reason_of_a_block_that_kills_every_worker(self, task: Invert) -> None:
        reason = rf"working on block 1 on {os.uname().nodename}: it was stopped by signal 9, as .* memory is exhausted"
        with pytest.raises(WorkerLost, match=reason):
            list(run(replace(task, trouble="always dies"), blocks(), self.engine(attempts=2)))
        assert task.runs().count(1) == 2

    def test_a_bug_in_the_task_shows_its_traceback(self, task: Invert) -> None:
        with pytest.raises(WorkFailed, match="ZeroDivisionError: of our own making"):
            list(run(replace(task, trouble="bug"), blocks(), self.engine()))

    def test_what_was_used_is_known_for_every_block(self, task: Invert) -> None:
        engine = self.engine()
        assert isinstance(engine, ParslEngine)
        list(run(task, blocks(), engine))
        assert sorted(one.block for one in engine.usage) == [0, 1, 2, 3]
        assert {one.worker.kind for one in engine.usage} == {"cpu"}
        assert {one.worker.rank for one in engine.usage} <= {0, 1}
        samples = [sample for one in engine.usage for sample in one.samples]
        assert all(sample.memory_bytes > 2**20 and 0 <= sample.cores < 64 for sample in samples)


def test_commands_run_on_parsl(tmp_path: Path) -> None:
    voxels = np.random.default_rng(0).integers(0, 255, (40, 30, 30), dtype=np.uint8)
    np.save(tmp_path / "a.npy", voxels)
    kernel = np.zeros((1, 1, 3, 3, 3))
    kernel[0, 0, 1, 1, 1] = 2.0
    network = convolution(tmp_path / "net.onnx", kernel)
    words = [
        "--engine",
        "parsl",
        "--workers",
        "2",
        "--quiet",
        "--chunk",
        "16,16,16",
        "--usage",
        str(tmp_path / "u.svg"),
    ]
    assert main(["convert", str(tmp_path / "a.npy"), str(tmp_path / "a.zarr"), "--levels", "2", *words]) == 0
    with open_volume(tmp_path / "a.zarr") as volume:
        assert (volume.read() == voxels).all() and len(volume.levels) == 2
    picture = (tmp_path / "u.svg").read_text()
    assert picture.count("<rect") > 4 and "CPU (cores)" in picture and f"{os.uname().nodename} cpu 0" in picture
    applied = ["apply", str(tmp_path / "a.zarr"), "--network", str(network), "-o", str(tmp_path / "b.n5"), *words]
    assert main([*applied, "--no-check"]) == 0
    with open_volume(tmp_path / "b.n5") as volume:
        np.testing.assert_allclose(volume.read(), 2.0 * voxels, rtol=1e-6)
    np.save(tmp_path / "waves.npy", np.sin(np.indices((24, 24, 32)).sum(axis=0) / 4).astype(np.float32))
    training = ["--bricks", "1,1,2", "--steps", "5", "--size", "13kB", "--model", "pyramid", "--device", "cpu"]
    compressing = ["compress", str(tmp_path / "waves.npy"), "-o", str(tmp_path / "a.plf"), *training, "--workers", "1"]
    assert main([*compressing, "--engine", "parsl", "--quiet"]) == 0
    with open_volume(tmp_path / "a.plf") as volume:
        assert volume.shape == (24, 24, 32)


def test_a_volume_in_memory_is_refused(tmp_path: Path) -> None:
    network = convolution(tmp_path / "net.onnx", np.ones((1, 1, 1, 1, 1)))
    control = RunControl(make_engine("parsl", EngineOptions(2, 2**30)))
    with pytest.raises(InvalidInput, match="does not support several processes"):
        apply_network(Volume.from_array(np.zeros((3, 3, 3))), tmp_path / "a.zarr", network, control=control)


def test_what_was_requested_and_what_was_used(tmp_path: Path) -> None:
    kind = WorkerKind("cpu", 2, cores=4, memory_bytes=2**30)
    one = WorkerName("cpu", "node1", "a", 0)
    usage = [
        Usage(one, 0, (Sample(0.0, 1.0, 4.0, 2**28), Sample(1.0, 2.0, 2.0, 2**29))),
        Usage(one, 1, (Sample(2.0, 4.0, 1.0, 2**27),)),
        Usage(replace(one, rank=1), 2, (Sample(0.0, 3.0, 1.0, 2**20),)),
    ]
    report = UsageReport([kind, WorkerKind("gpu", gpus=("0",))], usage)
    assert report.sentences() == ["2 workers (cpu) used 1.50 of 4 cores each, at most 0.50 of 1.00 GiB."]
    assert report.plot().count("node1 cpu") == 2 and "over 4.0 s" in report.plot()
    ElementTree.fromstring(report.plot())
    report.write(tmp_path / "use.json")
    assert len(json.loads((tmp_path / "use.json").read_text())["used"]) == 3


def test_samples_are_joined_when_there_are_many() -> None:
    meter = Meter(os.getpid())
    first = meter._began
    for second in range(1, 200):
        meter.sample(first + 2 * second)
    samples = meter.finished(WorkerName("cpu", "here", "", 0), 0).samples
    assert len(samples) <= 65 and samples[0].began == first
    assert all(before.ended == after.began for before, after in pairwise(samples))


def test_a_task_of_the_program_itself_travels_by_value() -> None:
    code = (
        "import dataclasses, sys\n"
        "from pellucid.engines.parsl.block_main import pack_task\n"
        "@dataclasses.dataclass(frozen=True)\n"
        "class Own:\n    number: int\n    def doubled(self): return 2 * self.number\n"
        "sys.stdout.buffer.write(pack_task(Own(21)))"
    )
    packed = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, check=True).stdout
    assert unpack_task(packed).doubled() == 42


def test_other_engines_have_no_sites() -> None:
    with pytest.raises(InvalidInput, match=r"The engine threads has no sites\. Use threads, or parsl:cluster"):
        make_engine("threads:cluster", EngineOptions(1, 1))
