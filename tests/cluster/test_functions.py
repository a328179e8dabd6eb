"""Operations on blocks, run by Device Workers on this machine: chains, users' code, halos, losses."""

import os
import pickle
import signal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.cluster import context
from pellucid.cluster.blocks import DeviceBlock
from pellucid.cluster.functions import (
    cache_gpu,
    exec_gpu,
    exec_gpu_seq,
    persist_gpu,
    recv_gpu,
    send_gpu,
    unpersist_gpu,
)
from pellucid.cluster.group import WorkerGroup
from pellucid.cluster.links import WorkerLink, WorkerLinks
from pellucid.errors import BlockLost, InvalidInput, TokenRejected, WorkerLost
from pellucid.formats.protocol import Voxels

SOURCE = """
float weighted(float value, float weight) { return weight * value; }
void scale(In in, Out out, int z, int y, int x, const float* p) {
    out(z, y, x) = weighted(in(z, y, x), p[0]);
}
"""
ADD = """
void add(const In* in, int count, Out out, int z, int y, int x, const float* p) {
    float sum = 0;
    for (int i = 0; i < count; ++i) sum += in[i](z, y, x);
    out(z, y, x) = sum;
}
"""
CUBE = np.arange(60, dtype=np.float32).reshape(3, 4, 5)


def scaled(block: DeviceBlock, by: float) -> DeviceBlock:
    result: DeviceBlock = exec_gpu(block, source=SOURCE, function="scale", parameters=[by])
    return result


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_what_is_sent_comes_back(group: WorkerGroup, seed: int) -> None:
    random = np.random.default_rng(seed)
    shape = random.integers(1, 20, random.integers(1, 4))
    kind = random.choice(["u1", "i1", "u2", "i2", "u4", "i4", "i8", "f4", "f8"])
    voxels = np.asarray(random.integers(0, 100, shape).astype(kind), order=random.choice(["C", "F"]))
    received = recv_gpu(send_gpu(voxels, halo=int(random.integers(0, 3))))
    assert received.dtype == voxels.dtype
    assert (received.reshape(voxels.shape) == voxels).all()


def test_a_chain_between_two_actions_is_one_round_trip(group: WorkerGroup) -> None:
    before = group.links.round_trips
    received = recv_gpu(scaled(scaled(cache_gpu(send_gpu(CUBE)), 2), 3))
    assert group.links.round_trips == before + 1
    assert (received == 6 * CUBE).all()


def group_block(group: WorkerGroup) -> DeviceBlock:
    """A block on the first Worker."""
    return DeviceBlock(group.send(CUBE, group.workers[0]))


def test_what_has_run_does_not_run_again(group: WorkerGroup) -> None:
    block = persist_gpu(scaled(send_gpu(CUBE), 2))
    handle = block.handle
    before = group.links.round_trips
    assert (recv_gpu(scaled(block, 2)) == 4 * CUBE).all()
    assert (block.handle, group.links.round_trips) == (handle, before + 1)


def test_the_shape_of_a_handle_is_asked_for_once(group: WorkerGroup) -> None:
    handle = group.send(CUBE, group.workers[0])
    before = group.links.round_trips
    for _ in range(3):  # As in a loop of Spark, whose tasks receive the handle every time.
        block = DeviceBlock(handle)
        assert (block.shape, block.dtype) == (CUBE.shape, CUBE.dtype)
    assert group.links.round_trips == before + 1


def test_a_persistent_block_that_came_back_is_made_once_and_can_be_released(group: WorkerGroup) -> None:
    def persistent() -> int:
        return sum(int(group.links.usage(worker)["persistent"]) for worker in group.workers)

    before = persistent()
    block = persist_gpu(scaled(send_gpu(CUBE), 2))
    for _ in range(3):
        assert (recv_gpu(block) == 2 * CUBE).all()
    assert persistent() == before + 1
    assert block.shape == CUBE.shape
    assert (recv_gpu(scaled(block, 2)) == 4 * CUBE).all()
    unpersist_gpu(block)
    assert persistent() == before


def test_a_pickled_block_is_its_handle(group: WorkerGroup) -> None:
    block = scaled(send_gpu(CUBE), 2)
    pickled = pickle.dumps(block)
    assert len(pickled) < 24 + 100
    again = pickle.loads(pickled)
    assert again.handle == block.handle
    assert (recv_gpu(again) == 2 * CUBE).all()


def test_received_voxels_are_this_process_own(group: WorkerGroup) -> None:
    block = persist_gpu(send_gpu(CUBE))
    received = recv_gpu(block)
    received[...] = -1
    assert (recv_gpu(block) == CUBE).all()


def test_an_array_can_change_after_it_was_sent(group: WorkerGroup) -> None:
    voxels = CUBE.copy()
    block = persist_gpu(send_gpu(voxels))
    assert block.handle
    voxels[...] = -1
    assert (recv_gpu(block) == CUBE).all()


def test_functions_in_python_and_another_result(group: WorkerGroup) -> None:
    def half(block, z, y, x, p):  # type: ignore[no-untyped-def]
        return block[2 * z, y, x] * p[0]

    block = send_gpu(CUBE[:2])
    received = recv_gpu(exec_gpu(block, function=half, parameters=[10], shape=(1, 4, 5), dtype="u2"))
    assert received.dtype == np.uint16
    assert (received == 10 * CUBE[:1]).all()


def test_a_function_reads_the_halo(group: WorkerGroup) -> None:
    source = """
    void left(In in, Out out, int z, int y, int x, const float* p) { out(z, y, x) = in(z, y, x - 1) + in.width; }
    """
    received = recv_gpu(exec_gpu(send_gpu(CUBE, halo=(0, 0, 1)), source=source, function="left"))
    assert (received[:, :, 0] == 5).all()  # A halo is 0 until it is filled.
    assert (received[:, :, 1:] == CUBE[:, :, :-1] + 5).all()


def test_a_sequence_of_blocks_of_several_workers(group: WorkerGroup) -> None:
    blocks = [persist_gpu(send_gpu(CUBE + number)) for number in range(3)]
    assert len({block.handle.worker for block in blocks}) == 2
    received = recv_gpu(exec_gpu_seq(blocks, source=ADD, function="add"))
    assert (received == 3 * CUBE + 3).all()
    with pytest.raises(InvalidInput, match=r"The sequence of blocks is empty"):
        exec_gpu_seq([], source=ADD, function="add")
    with pytest.raises(InvalidInput, match=r"The blocks of a sequence differ"):
        recv_gpu(exec_gpu_seq([blocks[0], send_gpu(CUBE[:1])], source=ADD, function="add"))


def test_without_a_block_there_is_a_function_of_one(group: WorkerGroup) -> None:
    twice = exec_gpu(source=SOURCE, function="scale", parameters=[2])
    assert (recv_gpu(pickle.loads(pickle.dumps(twice))(send_gpu(CUBE))) == 2 * CUBE).all()


def test_a_compile_error_names_the_users_line_and_the_next_function_works(group: WorkerGroup) -> None:
    wrong = exec_gpu(group_block(group), source=SOURCE.replace("= weighted", "= weihgted"), function="scale")
    for _ in range(2):  # Also when Spark tries again.
        with pytest.raises(InvalidInput, match=r"Line 4 of the source of 'scale': use of undeclared identifier 'weihg"):
            recv_gpu(wrong)
    with pytest.raises(InvalidInput, match=r"The source does not define a function 'shrink'"):
        exec_gpu(send_gpu(CUBE), source=SOURCE, function="shrink")
    assert (recv_gpu(scaled(send_gpu(CUBE), 2)) == 2 * CUBE).all()


def test_a_crash_fails_with_its_reason_and_blocks_stay(group: WorkerGroup) -> None:
    block = persist_gpu(send_gpu(CUBE))
    assert block.handle
    source = "void crash(In in, Out out, int z, int y, int x, const float* p) { *(volatile int*)8 = 1; }"
    with pytest.raises(WorkerLost, match=r"running the function 'crash' on a block: it crashed \(SIGSEGV\)"):
        recv_gpu(exec_gpu(block, source=source, function="crash"))
    assert (recv_gpu(scaled(block, 2)) == 2 * CUBE).all()


def test_a_released_block_is_lost(group: WorkerGroup) -> None:
    block = persist_gpu(send_gpu(CUBE))
    unpersist_gpu(block)
    with pytest.raises(BlockLost, match=r"it was released"):
        recv_gpu(block)


@pytest.mark.parametrize("voxels", [np.zeros((2, 2, 2, 2)), np.zeros(0), np.array(["a"]), np.zeros(3, complex)])
def test_other_arrays_are_refused(voxels: Voxels) -> None:
    with pytest.raises(InvalidInput, match=r"cannot become a block\. Use one to three axes"):
        send_gpu(voxels)


def test_without_workers_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context._State, "contexts", [])
    with pytest.raises(InvalidInput, match=r"There are no Device Workers here\. Use a WorkerGroup"):
        recv_gpu(send_gpu(CUBE))


def test_a_wrong_token_is_refused(group: WorkerGroup) -> None:
    with pytest.raises(TokenRejected):
        WorkerLink(group.workers[0].address, "another application's token")


def test_over_tcp_the_result_is_the_same() -> None:
    with WorkerGroup.local(2, threads=1, memory_bytes=2**26, prefers_local=False) as remote:
        first, second = (remote.send(CUBE + number, worker) for number, worker in enumerate(remote.workers))
        block = exec_gpu_seq([DeviceBlock(first), DeviceBlock(second)], source=ADD, function="add")
        assert (recv_gpu(block) == 2 * CUBE + 1).all()
        links = WorkerLinks(remote.credentials.token, prefers_local=False)
        link = WorkerLink(remote.workers[0].address, remote.credentials.token, prefers_local=False)
        assert not link.is_local
        link.close()
        links.close()


def test_a_killed_worker_is_lost_and_another_one_is_found() -> None:
    with WorkerGroup.local(1, threads=1, memory_bytes=2**26) as one:
        block = DeviceBlock(one.send(CUBE, one.workers[0]))
        link = WorkerLink(one.workers[0].address, one.credentials.token, os.getpid())
        os.kill(link.pid, signal.SIGKILL)
        with pytest.raises(BlockLost, match=r"is lost: (it does not respond|the connection ended)"):
            recv_gpu(block)
        with pytest.raises(BlockLost, match=r"it does not respond"):
            recv_gpu(block)
