"""Executors that are killed, and connections to the driver that are cut: blocks stay, and nothing is read again."""

import os
import pickle
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pellucid.box import Shape
from pellucid.cluster.blocks import DeviceBlock
from pellucid.cluster.functions import persist_gpu, recv_gpu, send_gpu
from pellucid.cluster.handles import Handle, WorkerId
from pellucid.cluster.spark import SparkApplication, SparkOptions
from pellucid.cluster.spark.losses import DriverLink, Origin, PartitionTable
from tests.cluster.test_spark import read_and_note, reads
from tests.waiting import wait_until

if TYPE_CHECKING:
    from pyspark import SparkContext

TOKEN = "t" * 43


@pytest.fixture
def table() -> Iterator[PartitionTable]:
    lost: list[int] = []
    made = PartitionTable("127.0.0.1", TOKEN, lost.append)
    yield made
    made.close()


def cut(link: DriverLink) -> None:
    """As when the network drops a connection."""
    assert link._channel is not None
    link._channel.close()


def test_a_task_connects_again_when_its_connection_to_the_driver_is_cut(table: PartitionTable) -> None:
    link = DriverLink(str(table.address), TOKEN)
    link.keep(Origin(1, 2), b"handles")
    for _ in range(2):
        cut(link)
        assert link.find(Origin(1, 2)) == b"handles"
    cut(link)
    link.keep(Origin(1, 3), b"others")
    assert link.find(Origin(1, 3)) == b"others"


def test_without_a_driver_nothing_is_known_and_nothing_fails(table: PartitionTable) -> None:
    link = DriverLink(str(table.address), TOKEN)
    link.keep(Origin(1, 2), b"handles")
    table.close()
    cut(link)
    assert link.find(Origin(1, 2)) is None


def is_running(pid: int) -> bool:
    """Nothing is left of the command of a process that has ended."""
    path = Path(f"/proc/{pid}/cmdline")
    return path.exists() and bool(path.read_bytes())


def test_what_an_ended_worker_had_is_forgotten_at_once() -> None:
    ended, alive = (WorkerId("127.0.0.1", 5100 + n, n, n) for n in range(2))
    lost: list[int] = []
    table = PartitionTable("127.0.0.1", TOKEN, lost.append, lambda worker: worker == alive)
    link = DriverLink(str(table.address), TOKEN)
    owners = {Origin(0, 0): ended, Origin(0, 1): ended, Origin(0, 2): alive, Origin(1, 0): ended, Origin(2, 0): alive}
    for number, (origin, worker) in enumerate(owners.items()):
        link.keep(origin, pickle.dumps([((0, 0, number), DeviceBlock(Handle(worker, number)))]))
    link.report([Origin(0, 1)])
    assert [origin for origin in owners if link.find(origin) is not None] == [Origin(0, 2), Origin(2, 0)]
    assert lost == [0, 1]
    link.report([Origin(2, 0)])  # One block of a Worker that is there.
    assert (link.find(Origin(0, 2)) is not None, link.find(Origin(2, 0)), lost) == (True, None, [0, 1, 2])
    table.close()


def executor(_: Any) -> Iterator[int]:
    from pellucid.cluster.spark.task import holder_of_task

    yield holder_of_task()


def test_a_killed_executor_costs_no_blocks(spark: "SparkContext", tmp_path: Path) -> None:
    with SparkApplication(spark, SparkOptions(memory_bytes=2**26)) as application:
        read = partial(read_and_note, folder=str(tmp_path))
        rdd = spark.parallelize(range(4), 4).map(read).mapValues(send_gpu).mapValues(persist_gpu)
        blocks = application.cache(rdd)
        before: dict[Shape, Any] = {key: block.handle for key, block in blocks.collect()}
        executors = set(spark.parallelize(range(4), 4).mapPartitions(executor).collect())
        assert len(executors) == 2
        killed = min(executors)
        os.kill(killed, signal.SIGKILL)
        wait_until(
            lambda: not Path(f"/proc/{killed}/cmdline").exists() or not Path(f"/proc/{killed}/cmdline").read_bytes()
        )
        received = dict(blocks.mapValues(recv_gpu).collect())
        assert {key[2]: int(np.mean(voxels)) for key, voxels in received.items()} == {0: 1, 1: 2, 2: 3, 3: 4}
        # Another executor finds the Worker of its node, which has the blocks.
        assert {key: block.handle for key, block in blocks.collect()} == before
        assert reads(tmp_path) == [0, 1, 2, 3]
        wait_until(lambda: len(set(spark.parallelize(range(8), 8).mapPartitions(executor).collect())) == 2)
