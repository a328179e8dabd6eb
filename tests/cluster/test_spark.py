"""Device Workers in a Spark program, on a real standalone cluster with two nodes."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pellucid.cluster.spark import (
    SparkApplication,
    SparkOptions,
    exec_gpu,
    persist_gpu,
    recv_gpu,
    send_gpu,
)
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels

if TYPE_CHECKING:
    from pyspark import SparkContext

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


def test_the_driver_has_no_device(application: SparkApplication) -> None:
    with pytest.raises(InvalidInput, match=r"The driver has no device"):
        recv_gpu(send_gpu(np.zeros(3)))
