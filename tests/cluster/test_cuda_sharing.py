"""Memory of a GPU seen from another process: each buffer shows its own contents, and images of blocks are right.

Failures name what finds the fault: addresses, names of allocations, whose contents were seen, the logs of the Workers;
with --log-cli-level=INFO, tests that pass do so too.
"""

import json
import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from pellucid.box import Box
from pellucid.cluster.blocks import DeviceBlock
from pellucid.cluster.compute.buffers import SharedBuffers
from pellucid.cluster.compute.protocol import ArraySpec, ShareBuffer
from pellucid.cluster.group import WorkerGroup
from pellucid.cluster.images.frames import ImagePlan, compose_frame, draw_block
from pellucid.cluster.nodes.folders import WorkerFolder
from pellucid.cluster.operations import ComputeBlock
from pellucid.cluster.worker.block_child import BlockChild
from pellucid.cluster.worker.cuda_memory import PAGE_BYTES, WORD, CudaMemory
from pellucid.cluster.worker.device_buffers import BlockArray
from pellucid.device import choose, devices
from pellucid.errors import InvalidInput, PellucidError
from pellucid.rendering.frame import Frame
from pellucid.rendering.scene import Scene
from tests.cluster.test_images import AHEAD, SPACING, VOXELS, placed, psnr, scene_of, whole
from tests.cluster.test_light import drawn as lit

log = logging.getLogger(__name__)
WORDS = (1, 3, 1000, PAGE_BYTES // WORD - 1, PAGE_BYTES // WORD, PAGE_BYTES // WORD + 1, 700_000, 5_000_000, 2, 17)
SHOWN = """
void show(In in, Out out, int z, int y, int x, const float* p) {
    out(z, y, x) = x == 0 ? (unsigned long long)in.data : in(0, 0, x == 1 ? 0 : in.width - 1);
}
"""
SHOW = ComputeBlock("kernel", json.dumps({"source": SHOWN, "function": "show"}), (), (1, 1, 3), "<u8")
UINT64 = np.dtype("<u8")
MEMORY = 32 * 2**20
ROUNDS = 16


@pytest.fixture
def memory() -> CudaMemory:
    if not any(device.is_cuda for device in devices()):
        pytest.skip("needs a CUDA device")
    return CudaMemory("cuda:0", 2 * MEMORY)  # Little is kept to be used again: most goes back to the driver.


def filled(memory: CudaMemory, words: int, value: int) -> BlockArray:
    array = BlockArray(memory.allocate(words * WORD), UINT64, (1, 1, words))
    memory.write(array, Box.whole(array.shape), np.full(array.shape, value, UINT64))
    return array


def seen_by(child: BlockChild, memory: CudaMemory, array: BlockArray) -> list[int]:
    """The address of a buffer in the child, its first and its last word there. On a thread of its own, as those of a
    Worker are, and by way of another buffer, which the child writes."""
    output = filled(memory, 3, 9)
    with ThreadPoolExecutor(1) as thread:
        thread.submit(child.compute, "showing a buffer", SHOW, [array], output).result()
    found: list[int] = memory.read(output, Box.whole(output.shape)).reshape(-1).tolist()
    memory.free(output.buffer)
    return found


@pytest.mark.gpu
def test_each_buffer_shows_its_own_contents_in_the_child(memory: CudaMemory) -> None:
    child = BlockChild(memory)
    lines, wrong = [], 0
    try:
        arrays = [filled(memory, words, 1000 + number) for number, words in enumerate(WORDS)]
        for turn in range(4):
            for number, array in enumerate(arrays):
                address, first, last = seen_by(child, memory, array)
                value = int(memory.read(array, Box((0, 0, 0), (1, 1, 1)))[0, 0, 0])
                is_right = value == first == last == 1000 * (turn + 1) + number
                wrong += not is_right
                lines.append(
                    f"turn {turn}, buffer {array.buffer.number} of {array.buffer.nbytes} bytes: "
                    f"{array.buffer.words.ptr:x} here, {address:x} there, {value} here, {first} and {last} there, "
                    f"name {memory.handover(array.buffer)[1]}{'' if is_right else ' WRONG'}"
                )
            for array in arrays[turn::2]:
                memory.free(array.buffer)  # Some are used again, and memory of others goes back to the driver.
            arrays = [
                filled(memory, words, 1000 * (turn + 2) + number)
                if number >= turn and (number - turn) % 2 == 0
                else rewritten(memory, arrays[number], 1000 * (turn + 2) + number)
                for number, words in enumerate(WORDS)
            ]
        assert not wrong, "\n".join(lines)
    finally:
        log.info("\n".join(lines))
        child.close()


def rewritten(memory: CudaMemory, array: BlockArray, value: int) -> BlockArray:
    memory.write(array, Box.whole(array.shape), np.full(array.shape, value, UINT64))
    return array


def test_memory_that_cannot_be_opened_is_refused_with_the_reason() -> None:
    """Warp gives other memory then, with anything in it."""
    buffers = SharedBuffers(choose("cpu"))
    buffers.add(ShareBuffer(1, 4096, "00" * 64 + "+0"), None)
    with pytest.raises(PellucidError, match=r"NVIDIA driver"):
        buffers.view(ArraySpec(1, "<f4", (1, 2, 3), (0, 0, 0)))
    buffers.forget((1,))
    with pytest.raises(InvalidInput, match=r"not known"):
        buffers.view(ArraySpec(1, "<f4", (1, 2, 3), (0, 0, 0)))


@pytest.fixture(scope="module")
def small_cards() -> Iterator[WorkerGroup]:
    """Two Workers on one GPU, with little memory."""
    if not any(device.is_cuda for device in devices()):
        pytest.skip("needs a CUDA device")
    with WorkerGroup.local(2, "cuda:0", memory_bytes=MEMORY, host_bytes=8 * MEMORY) as started:
        yield started


@pytest.fixture(scope="module")
def cards() -> Iterator[WorkerGroup]:
    """Two Workers on one GPU, with room for what the light of an image needs at a time, in pages of 2 MiB."""
    if not any(device.is_cuda for device in devices()):
        pytest.skip("needs a CUDA device")
    with WorkerGroup.local(2, "cuda:0", memory_bytes=16 * MEMORY) as started:
        yield started


def images_of(group: WorkerGroup, scenes: Sequence[Scene], cuts: tuple[list[int], ...], is_spilled: bool) -> list[str]:
    """A line for each image of blocks that stay on their Workers: how close it is to that of the whole."""
    blocks, lines = placed(group, cuts), []
    for number, scene in enumerate(scenes):
        if is_spilled:
            for worker in group.workers:
                DeviceBlock(group.send(np.zeros((MEMORY // 2**20 - 6, 2**20), np.uint8), worker)).release()
        plan = ImagePlan(scene, 96, 86, VOXELS.shape, SPACING)
        found = compose_frame([draw_block(block, start, plan) for start, block in blocks], plan)
        lines.append(line_of(number, found, whole(scene), group))
    for _, block in blocks:
        block.release()
    return lines


def line_of(number: int, found: Frame, expected: Frame, group: WorkerGroup) -> str:
    close, empty = psnr(found, expected), not found.rgba[..., :3].std() > 5
    usage = [group.links.usage(worker) for worker in group.workers]
    stored = ", ".join(f"{one['used_bytes'] >> 20} MiB used, {one['spilled']} spilled" for one in usage)
    return f"{'good' if close >= 45 and not empty else 'WRONG'} image {number}: {close:.1f} dB ({stored})"


def logs_of(group: WorkerGroup) -> str:
    specs = [WorkerFolder.of(group.credentials, spec) for spec in group._specs]
    return "\n".join(folder.log.read_text(errors="replace")[-4000:] for folder in specs)


@pytest.mark.gpu
@pytest.mark.parametrize("is_spilled", [False, True])
def test_images_of_blocks_on_two_workers_are_those_of_the_whole(small_cards: WorkerGroup, is_spilled: bool) -> None:
    views = [AHEAD.orbited(23.0 * turn, 7.0 * turn - 50.0) for turn in range(ROUNDS)]
    scenes = [scene_of(view, shading=("none", "gradient")[turn % 2]) for turn, view in enumerate(views)]
    lines = images_of(small_cards, scenes, ([18], [20], [] if is_spilled else [11]), is_spilled)
    log.info("\n".join(lines))
    assert not any(line.startswith("WRONG") for line in lines), "\n".join([*lines, logs_of(small_cards)])


@pytest.mark.gpu
@pytest.mark.parametrize("shading", ["shadow", "occlusion", "full"])
def test_light_of_blocks_on_a_gpu_is_that_of_the_whole(cards: WorkerGroup, tmp_path: Path, shading: str) -> None:
    source = tmp_path / "volume.npy"
    np.save(source, VOXELS)
    scene = scene_of(AHEAD.orbited(30, 20), shading=shading)
    line = line_of(0, lit(cards, source, scene, ([18], [20], [11])), whole(scene), cards)
    log.info("%s: %s", shading, line)
    assert line.startswith("good"), "\n".join([line, logs_of(cards)])
