"""A viewer whose volume is on the Workers of Spark: images pass neither the driver nor Spark."""

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import pellucid
from pellucid.box import Shape
from pellucid.client.cluster_viewer import connect_viewer, open_viewer
from pellucid.cluster.blocks import DeviceBlock
from pellucid.cluster.credentials import Credentials
from pellucid.cluster.functions import exec_gpu, persist_gpu, send_gpu
from pellucid.cluster.halos import append_halo
from pellucid.cluster.links import WorkerLink
from pellucid.cluster.spark.application import SparkApplication
from pellucid.cluster.viewer.worker_source import viewer_workers
from pellucid.volume.sample_volume import sample
from tests.suite_report import MACHINE
from tests.waiting import wait_until

if TYPE_CHECKING:
    from pyspark import SparkContext

CORE = "void core(In in, Out out, int z, int y, int x, const float* p) { out(z, y, x) = in(z + 2, y + 2, x + 2); }"


def received(spark: "SparkContext") -> tuple[int, int]:
    """How many jobs there were, and the bytes that their tasks sent to the driver."""
    spark_itself: Any = spark._jsc.sc()
    store = spark_itself.statusStore()
    stages = store.stageList(None, False, False, spark._gateway.new_array(spark._jvm.double, 0), None)
    return store.jobsList(None).size(), sum(stages.apply(n).resultSize() for n in range(stages.size()))


def block(number: int) -> tuple[Shape, DeviceBlock]:
    """A half of a volume; its halo is filled with its own border."""
    voxels = np.pad(sample(64)[32 * number : 32 * number + 32], 2, mode="edge")
    core = exec_gpu(send_gpu(voxels), source=CORE, function="core", shape=(32, 64, 64))
    return (32 * number, 0, 0), persist_gpu(append_halo(core, (), 2))


def test_blocks_of_a_job_are_shown_with_their_handles_alone(spark: "SparkContext") -> None:
    with SparkApplication(spark) as application, connect_viewer(application) as shown:
        blocks = application.cache(spark.parallelize(range(2), 2).map(block))
        assert len({one.handle.worker for _, one in blocks.collect()}) == 2
        before = received(spark)
        open_viewer(blocks, shown)
        opened = received(spark)
        # Of 512 kB of voxels in each block, and images of 4 MB, the driver has seen what a handle takes.
        assert opened[0] == before[0] + 1
        assert opened[1] - before[1] < 10_000
        camera, images = shown.viewer.camera, []
        for angle in range(0, 60, 20):
            shown.viewer.camera = camera.orbited(float(angle), 10.0)
            images.append(shown.viewer.screenshot(1024, 1024))
        if not MACHINE["no-egl"]():  # What the page's editor sends, while the job runs.
            shown.viewer.shade_with("void main() { color = vec4(0.0, 1.0, 0.0, 1.0); }")
            image = shown.viewer.screenshot(256, 256)
            assert image[128, 128, :3].tolist() == [0, 255, 0]
        assert all(image[..., :3].std() > 5 for image in images)
        assert received(spark) == opened


def test_images_do_not_pass_the_driver_and_a_lost_worker_is_replaced(spark: "SparkContext", tmp_path: Path) -> None:
    path = tmp_path / "volume.npy"
    np.save(path, np.ascontiguousarray(sample(40)))
    with viewer_workers(str(spark.master)) as workers, pellucid.start(device=workers.device) as viewer:
        assert len(workers.read().workers) == 2
        viewer.load(path)
        assert viewer.screenshot(96, 96)[..., :3].std() > 5
        jobs = received(spark)
        camera = viewer.camera
        for angle in range(0, 80, 20):
            viewer.camera = camera.orbited(float(angle), 10.0)
            assert viewer.screenshot(256, 256)[..., :3].std() > 5
        viewer.shade_with("return color * 0.5f;")  # As the page's editor does.
        assert viewer.screenshot(96, 96)[..., :3].std() > 1
        assert received(spark) == jobs
        before, record = viewer.screenshot(96, 96), workers.read()
        killed = record.workers[0]
        os.kill(WorkerLink(killed.address, Credentials.parse(record.credentials).token).pid, signal.SIGKILL)
        assert (viewer.screenshot(96, 96) == before).all()
        wait_until(lambda: killed not in workers.read().workers and len(workers.read().workers) == 2)
        assert (viewer.screenshot(96, 96) == before).all()
