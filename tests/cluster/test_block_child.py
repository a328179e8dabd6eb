"""The child of a Device Worker and the memory that it shares with it."""

import gc
import json
import os
import signal
from weakref import ref

import numpy as np

from pellucid.cluster.operations import ComputeBlock
from pellucid.cluster.worker.block_child import BlockChild
from pellucid.cluster.worker.device_buffers import BlockArray
from pellucid.cluster.worker.host_memory import HostMemory
from pellucid.settings import current
from tests.waiting import wait_until

EMPTY_IMAGE = ComputeBlock("composite", json.dumps({"first_row": 0, "rows": []}), (), (2, 3, 5), "<f4")


def test_memory_that_the_child_has_open_is_freed_when_it_has_closed_it() -> None:
    """Else CUDA gives the same memory to the next buffer, and the child reads what was there before."""
    memory = HostMemory(2**20, spare_bytes=0)
    child = BlockChild(memory)
    folder = current().kernel_folder
    before = set(folder.glob("wp_*"))
    try:
        image = BlockArray(memory.allocate(120), np.dtype("<f4"), (2, 3, 5))
        child.compute("clearing an image", EMPTY_IMAGE, [], image)
        # Warp was started by us, also where this is the first use of it: its kernels are in the folder of its version.
        assert set(folder.glob("wp_*")) == before
        kept = ref(image.buffer)
        assert child.pid is not None
        os.kill(child.pid, signal.SIGSTOP)
        memory.free(image.buffer)
        del image
        gc.collect()
        assert kept() is not None
        os.kill(child.pid, signal.SIGCONT)
        wait_until(lambda: kept() is None)
        assert child.restarts == 0
    finally:
        child.close()
