"""A viewer whose volume is on the Workers of Spark: images pass neither the driver nor Spark."""

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import pellucid
from pellucid.cluster.credentials import Credentials
from pellucid.cluster.links import WorkerLink
from pellucid.cluster.viewer.worker_source import viewer_workers
from pellucid.volume.sample_volume import sample
from tests.waiting import wait_until

if TYPE_CHECKING:
    from pyspark import SparkContext


def received(spark: "SparkContext") -> tuple[int, int]:
    """How many jobs there were, and the bytes that their tasks sent to the driver."""
    spark_itself: Any = spark._jsc.sc()
    store = spark_itself.statusStore()
    stages = store.stageList(None, False, False, spark._gateway.new_array(spark._jvm.double, 0), None)
    return store.jobsList(None).size(), sum(stages.apply(n).resultSize() for n in range(stages.size()))


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
