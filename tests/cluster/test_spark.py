"""Device Workers in a Spark program, on a real standalone cluster with two nodes."""

import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
import pytest

from pellucid.box import Shape
from pellucid.cluster.handles import WorkerId
from pellucid.cluster.links import WorkerLink
from pellucid.cluster.spark import (
    ShuffleManager,
    SparkApplication,
    SparkOptions,
    exec_gpu,
    exec_gpu_seq,
    persist_gpu,
    recv_gpu,
    send_gpu,
)
from pellucid.errors import InvalidInput, TransferInterrupted
from pellucid.formats.protocol import Voxels

if TYPE_CHECKING:
    from pyspark import SparkContext

ADD = """
void add(const In* in, int count, Out out, int z, int y, int x, const float* p) {
    float sum = 0;
    for (int i = 0; i < count; ++i) sum += in[i](z, y, x);
    out(z, y, x) = sum;
}
"""
SOURCE = "void scale(In in, Out out, int z, int y, int x, const float* p) { out(z, y, x) = p[0] * in(z, y, x); }"


def cube(key: int) -> tuple[int, Voxels]:
    return key, np.full((4, 5, 6), key, np.float32)


@pytest.fixture(scope="module")
def application(spark: "SparkContext") -> Iterator[SparkApplication]:
    with SparkApplication(spark, SparkOptions(memory_bytes=2**27)) as started:
        yield started


def test_blocks_stay_on_their_nodes_and_handles_travel(application: SparkApplication) -> None:
    blocks = application.spark.parallelize(range(4), 4).map(cube).mapValues(send_gpu).mapValues(persist_gpu).cache()
    handles = {key: block.handle for key, block in blocks.collect()}
    assert len({handle.worker for handle in handles.values()}) == 2
    twice = exec_gpu(source=SOURCE, function="scale", parameters=[2])
    received = dict(blocks.mapValues(twice).mapValues(recv_gpu).collect())
    assert all((voxels == 2 * key).all() for key, voxels in received.items())
    assert {key: block.handle for key, block in blocks.collect()} == handles
    # The driver reaches them too.
    assert (recv_gpu(blocks.lookup(3)[0]) == 3).all()
    usage = [application.links.usage(worker) for worker in application.workers()]
    assert sum(one["persistent"] for one in usage) == 4


def test_a_chain_in_several_maps_is_one_round_trip_for_each_block(application: SparkApplication) -> None:
    def count(pairs: Iterator[tuple[int, Any]]) -> Iterator[tuple[int, int]]:
        from pellucid.cluster.context import current_context

        links = current_context().links
        before = links.round_trips
        means = [int(voxels.mean()) for _, voxels in pairs]
        yield sum(means), links.round_trips - before

    twice = exec_gpu(source=SOURCE, function="scale", parameters=[2])
    cubes = application.spark.parallelize(range(4), 2).map(cube)
    chained = cubes.mapValues(send_gpu).mapValues(twice).mapValues(twice).mapValues(recv_gpu)
    assert chained.mapPartitions(count).collect() == [(4, 2), (20, 2)]


def test_the_error_of_a_function_fails_the_job_with_its_message(application: SparkApplication) -> None:
    wrong = exec_gpu(source=SOURCE.replace("p[0]", "q[0]"), function="scale")
    blocks = application.spark.parallelize([1], 1).map(cube).mapValues(send_gpu)
    with pytest.raises(Exception, match=r"Line 1 of the source of 'scale': use of undeclared identifier 'q'"):
        blocks.mapValues(wrong).mapValues(recv_gpu).collect()


def read_and_note(key: int, folder: str) -> tuple[Shape, Voxels]:
    """A block, as if it came from a file. Every read leaves a file."""
    (Path(folder) / f"{key}-{uuid4().hex}").touch()
    return (0, 0, key), np.full((4, 5, 6), key + 1, np.float32)


def reads(folder: Path) -> list[int]:
    return sorted(int(path.name.partition("-")[0]) for path in folder.iterdir())


def kill(application: SparkApplication, worker: WorkerId) -> None:
    link = WorkerLink(worker.address, application.credentials.token)
    os.kill(link.pid, signal.SIGKILL)
    with pytest.raises(TransferInterrupted):
        link.usage()


def test_only_what_was_lost_is_read_again(application: SparkApplication, tmp_path: Path) -> None:
    read = partial(read_and_note, folder=str(tmp_path))
    blocks = application.cache(
        application.spark.parallelize(range(4), 4).map(read).mapValues(send_gpu).mapValues(persist_gpu)
    )
    before = {key: block.handle for key, block in blocks.collect()}
    assert reads(tmp_path) == [0, 1, 2, 3]
    killed = before[0, 0, 0].worker
    lost = [key[2] for key, handle in before.items() if handle.worker == killed]
    kill(application, killed)
    received = dict(blocks.mapValues(recv_gpu).collect())  # An ordinary action: Spark computes what is lost.
    assert {key[2]: int(voxels.mean()) for key, voxels in received.items()} == {0: 1, 1: 2, 2: 3, 3: 4}
    assert reads(tmp_path) == sorted([0, 1, 2, 3, *lost])
    after = {key: block.handle for key, block in blocks.collect()}
    assert [key[2] for key in before if after[key] != before[key]] == lost
    assert killed not in {handle.worker for handle in after.values()}


def test_losses_are_noticed_behind_a_stage(application: SparkApplication, tmp_path: Path) -> None:
    read = partial(read_and_note, folder=str(tmp_path))
    rdd = application.spark.parallelize(range(4), 4).map(read).mapValues(send_gpu).mapValues(persist_gpu)
    blocks = application.cache(rdd).coalesce(2)  # Spark pickles between the two.
    killed = blocks.collect()[0][1].handle.worker
    kill(application, killed)
    received = dict(blocks.mapValues(recv_gpu).collect())
    assert {key[2]: int(voxels.mean()) for key, voxels in received.items()} == {0: 1, 1: 2, 2: 3, 3: 4}
    assert len(reads(tmp_path)) < 8


def test_the_driver_uses_collected_blocks_without_a_job_until_some_are_lost(
    application: SparkApplication, tmp_path: Path
) -> None:
    read = partial(read_and_note, folder=str(tmp_path))
    rdd = application.spark.parallelize(range(4), 4).map(read).mapValues(send_gpu).mapValues(persist_gpu)
    blocks = application.cache(rdd)

    def means() -> list[float]:
        return [float(recv_gpu(block).mean()) for _, block in application.collect(blocks)]

    jobs = application.spark.statusTracker().getJobIdsForGroup
    assert means() == [1, 2, 3, 4]
    before = len(jobs())
    assert means() == [1, 2, 3, 4]
    assert len(jobs()) == before > 0
    kill(application, application.collect(blocks)[0][1].handle.worker)
    assert application.retry(means) == [1, 2, 3, 4]
    assert len(reads(tmp_path)) < 8
    with pytest.raises(InvalidInput, match="not cached"):
        application.collect(rdd)


def test_halos_are_filled_without_voxels_in_spark_and_after_a_loss(
    application: SparkApplication, tmp_path: Path
) -> None:
    source = """
    void sum(In in, Out out, int z, int y, int x, const float* p) {
        out(z, y, x) = in(z, y, x - 1) + in(z, y, x) + in(z, y, x + 1);
    }
    """
    total, manager = exec_gpu(source=source, function="sum"), ShuffleManager(application)
    read = partial(read_and_note, folder=str(tmp_path))
    blocks = application.cache(
        application.spark.parallelize(range(4), 4).map(read).mapValues(send_gpu).mapValues(persist_gpu)
    )

    def summed() -> dict[Shape, Voxels]:
        joined = manager.shuffle(blocks, halo=(0, 0, 1))
        return dict(joined.mapValues(total).mapValues(recv_gpu).collect())

    rows = np.concatenate([np.full(6, key + 1) for key in range(4)])
    padded = np.pad(rows, 1)
    expected = padded[:-2] + rows + padded[2:]
    for _ in range(2):
        found = summed()
        assert (np.concatenate([found[0, 0, key] for key in range(4)], axis=2) == expected).all()
    assert reads(tmp_path) == [0, 1, 2, 3]
    handle = blocks.lookup((0, 0, 2))[0].handle
    kill(application, handle.worker)
    found = application.retry(summed)
    assert (np.concatenate([found[0, 0, key] for key in range(4)], axis=2) == expected).all()
    assert len(reads(tmp_path)) < 8 and reads(tmp_path).count(2) == 2


def test_blocks_are_brought_together_by_their_keys(application: SparkApplication) -> None:
    blocks = (
        application.spark.parallelize(range(6), 6).map(cube).mapValues(send_gpu).map(lambda one: (one[0] % 3, one[1]))
    )
    joined = ShuffleManager(application).shuffle(blocks, place=lambda key: key)
    added = joined.mapValues(exec_gpu_seq(source=ADD, function="add")).mapValues(persist_gpu)
    found = {key: (block.handle.worker, int(recv_gpu(block).mean())) for key, block in added.collect()}
    workers = application.workers()
    assert found == {key: (workers[key % 2], 2 * key + 3) for key in range(3)}


def test_the_driver_has_no_device(application: SparkApplication) -> None:
    with pytest.raises(InvalidInput, match=r"The driver has no device"):
        recv_gpu(send_gpu(np.zeros(3)))
