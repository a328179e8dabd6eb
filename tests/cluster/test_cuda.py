"""Blocks in the memory of a GPU: the same functions, halos and images as on a CPU."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.box import Box, triple
from pellucid.cluster.blocks import DeviceBlock
from pellucid.cluster.functions import exec_gpu, exec_gpu_seq, persist_gpu, recv_gpu, send_gpu
from pellucid.cluster.group import WorkerGroup
from pellucid.cluster.halos import append_halo, plan_halos
from pellucid.cluster.shaders import exec_gl, init_gl
from pellucid.cluster.worker.cuda_memory import CudaMemory
from pellucid.cluster.worker.device_buffers import BlockArray
from pellucid.cluster.worker.host_memory import HostMemory
from pellucid.device import devices
from pellucid.errors import NotEnoughMemory
from pellucid.formats.shared_memory import SharedArray
from tests.cluster.test_functions import ADD, CUBE, scaled
from tests.cluster.test_halos import blocks_of, expected, outer
from tests.cluster.test_images import AHEAD, drawn, psnr, scene_of, whole
from tests.cluster.test_shaders import FLAT, VALUE
from tests.suite_report import MACHINE

MEMORY = 64 * 2**20


@pytest.fixture(scope="module")
def cards() -> Iterator[WorkerGroup]:
    """Two Workers on one GPU."""
    if not any(device.is_cuda for device in devices()):
        pytest.skip("needs a CUDA device")
    with WorkerGroup.local(2, "cuda:0", memory_bytes=MEMORY, host_bytes=MEMORY) as started:
        yield started


@given(seed=st.integers(0, 2**32 - 1))
def test_memory_of_a_gpu_is_read_written_and_copied_as_that_of_the_host(seed: int) -> None:
    # On the CPU: its views and copies are the same, only handles of CUDA are not there.
    random = np.random.default_rng(seed)
    dtype = np.dtype(random.choice(["u1", "i2", "f4", "f8"]))
    shape, halo = triple(random.integers(1, 6, 3).tolist()), triple(random.integers(0, 3, 3).tolist())
    found = []
    for memory in (CudaMemory("cpu", 2**26), HostMemory(2**26)):
        random = np.random.default_rng(seed)
        first, second = (BlockArray(memory.allocate(4096), dtype, shape, halo) for _ in range(2))
        memory.clear(first)
        memory.clear(second)
        content = random.integers(0, 100, shape).astype(dtype)
        memory.write(first, first.core_in_outer, content)
        part = Box.whole(shape).intersect(Box((0, 0, 0), triple(random.integers(1, 6, 3).tolist())))
        memory.copy(first, part.shift(halo), second, part)
        assert (memory.read(first, first.core_in_outer) == content).all()
        found.append(memory.read(second, Box.whole(second.outer_shape)).copy())
    assert found[0].dtype == dtype
    assert (found[0] == found[1]).all()


@given(nbytes=st.integers(1, 100))
def test_what_was_spilled_comes_back(nbytes: int) -> None:
    memory = CudaMemory("cpu", 2**26)
    shared = SharedArray.create((nbytes,), np.uint8)
    shared.array[...] = np.arange(1, nbytes + 1)
    back = memory.to_host(memory.adopt(shared))
    assert (back.array[:nbytes] == np.arange(1, nbytes + 1)).all()
    back.close()


@pytest.mark.gpu
def test_functions_on_a_gpu(cards: WorkerGroup) -> None:
    for kind in ("u1", "i2", "u4", "f4", "f8"):
        voxels = CUBE.astype(kind)
        assert (recv_gpu(send_gpu(voxels, halo=2)) == voxels).all()
    assert (recv_gpu(scaled(scaled(send_gpu(CUBE), 2), 3)) == 6 * CUBE).all()
    blocks = [persist_gpu(send_gpu(CUBE + number)) for number in range(3)]
    assert len({block.handle.worker for block in blocks}) == 2
    assert (recv_gpu(exec_gpu_seq(blocks, source=ADD, function="add")) == 3 * CUBE + 3).all()


@pytest.mark.gpu
def test_functions_in_python_run_on_the_gpu(cards: WorkerGroup) -> None:
    def half(block, z, y, x, p):  # type: ignore[no-untyped-def]
        return block[2 * z, y, x] * p[0]

    received = recv_gpu(exec_gpu(send_gpu(CUBE[:2]), function=half, parameters=[10], shape=(1, 4, 5), dtype="u2"))
    assert (received == 10 * CUBE[:1]).all()
    source = """
    void kind(In in, Out out, int z, int y, int x, const float* p) {
    #ifdef __CUDA_ARCH__
        out(z, y, x) = 1;
    #else
        out(z, y, x) = 0;
    #endif
    }
    """
    assert (recv_gpu(exec_gpu(send_gpu(CUBE), source=source, function="kind")) == 1).all()


@pytest.mark.gpu
def test_halos_on_a_gpu(cards: WorkerGroup) -> None:
    volume = np.random.default_rng(0).integers(1, 255, (12, 9, 8)).astype(np.uint8)
    edges, halo = (6, 5, 4), (2, 1, 2)
    handles = blocks_of(cards, volume, edges)
    described = {key: (handle, DeviceBlock(handle).shape) for key, handle in handles.items()}
    for key, parts in plan_halos(described, halo).items():
        assert (outer(append_halo(DeviceBlock(handles[key]), parts, halo)) == expected(volume, key, edges, halo)).all()


@pytest.mark.gpu
def test_images_on_a_gpu(cards: WorkerGroup) -> None:
    scene = scene_of(AHEAD.orbited(30, 20))
    assert psnr(drawn(cards, scene, ([18], [20], [])), whole(scene)) > 45


@pytest.mark.gpu
def test_blocks_are_spilled_to_the_host_then_refused(cards: WorkerGroup) -> None:
    voxels = np.zeros((16, 2**20), np.uint8)
    worker = cards.workers[1]
    handles = []
    with pytest.raises(NotEnoughMemory):
        for number in range(12):
            handles.append(cards.send(voxels + number, worker))
    assert 6 <= len(handles) <= 8
    assert cards.links.usage(worker)["spilled"] > 0
    for number, handle in enumerate(handles):
        assert (recv_gpu(DeviceBlock(handle)) == number).all()
    for handle in handles:
        DeviceBlock(handle).release()


@pytest.mark.gpu
def test_shaders_see_blocks_of_a_gpu(cards: WorkerGroup) -> None:
    if MACHINE["no-egl"]():
        pytest.skip("needs EGL")
    block = persist_gpu(send_gpu(CUBE))
    started = init_gl(block)
    assert started.handle
    assert started.value["transfer"] in ("shared", "copied")
    for kind in ("f4", "u1", "i2"):
        typed = DeviceBlock(cards.send(CUBE.astype(kind), cards.workers[0]))
        for x, y, z in ((0, 0, 0), (4, 3, 2)):
            image = recv_gpu(exec_gl(typed, vertex=FLAT, fragment=VALUE, size=(2, 3), uniforms={"place": (x, y, z)}))
            assert image.reshape(-1, 5).tolist() == [pytest.approx([CUBE[z, y, x]] * 4 + [7.0])] * 6


@pytest.mark.gpu
def test_a_crash_on_the_gpu_leaves_the_blocks(cards: WorkerGroup) -> None:
    block = DeviceBlock(cards.send(CUBE, cards.workers[0]))
    source = "void crash(In in, Out out, int z, int y, int x, const float* p) { *(volatile int*)8 = 1; }"
    with pytest.raises(Exception, match="crash"):
        recv_gpu(exec_gpu(block, source=source, function="crash"))
    assert (recv_gpu(block) == CUBE).all()
    assert (recv_gpu(scaled(block, 2)) == 2 * CUBE).all()
