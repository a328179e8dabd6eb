"""Which blocks stay on a device: cached ones go first, then persistent ones are spilled, then new ones are refused."""

from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.box import Box
from pellucid.cluster.handles import Handle, WorkerId
from pellucid.cluster.operations import KeepMode
from pellucid.cluster.worker.block_store import BlockStore
from pellucid.cluster.worker.host_memory import HostMemory
from pellucid.errors import BlockLost, NotEnoughMemory

PAGE = 4096
SHAPE = (1, 1, PAGE)
WORKER = WorkerId("127.0.0.1", 5100, 0, 7)


def store_of(pages: int, host_pages: int = 0) -> BlockStore:
    """A store with room for so many blocks of a page."""
    return BlockStore(WORKER, HostMemory(pages * PAGE), host_pages * PAGE)


def put(store: BlockStore, value: int, mode: KeepMode) -> Handle:
    array = store.allocate(SHAPE, np.dtype(np.uint8))
    store.memory.write(array, Box.whole(SHAPE), np.full(SHAPE, value, np.uint8))
    return store.put(array, mode)


def value(store: BlockStore, handle: Handle) -> int:
    with store.borrow(handle) as array:
        voxels = store.memory.read(array, Box.whole(SHAPE))
        assert (voxels == voxels[0, 0, 0]).all()
        return int(voxels[0, 0, 0])


def is_there(store: BlockStore, handle: Handle) -> bool:
    try:
        value(store, handle)
    except BlockLost:
        return False
    return True


def test_the_least_recently_used_cached_block_goes_first() -> None:
    store = store_of(3)
    first, second, third = (put(store, number, "cache") for number in range(3))
    value(store, first)
    fourth = put(store, 3, "cache")
    assert [is_there(store, handle) for handle in (first, second, third, fourth)] == [True, False, True, True]
    with pytest.raises(BlockLost, match=r"127\.0\.0\.1:5100 is lost: it was released, or removed from the cache"):
        value(store, second)


def test_persistent_blocks_stay_until_they_are_released() -> None:
    store = store_of(2)
    kept = put(store, 1, "persist")
    cached = put(store, 2, "cache")
    put(store, 3, "cache")
    assert (is_there(store, kept), is_there(store, cached)) == (True, False)
    store.release(kept)
    store.release(kept)  # A second time is no error.
    assert not is_there(store, kept)


def test_without_room_the_sizes_are_named_and_nothing_is_lost() -> None:
    store = store_of(2)
    kept = [put(store, number, "persist") for number in range(2)]
    with pytest.raises(NotEnoughMemory, match=r"4\.0 KiB needed, 0 bytes available\. Release persistent blocks"):
        put(store, 2, "persist")
    assert [value(store, handle) for handle in kept] == [0, 1]


def test_cached_blocks_go_before_persistent_ones_are_spilled() -> None:
    store = store_of(2, host_pages=1)
    kept, cached = put(store, 1, "persist"), put(store, 2, "cache")
    other = put(store, 3, "persist")
    assert not is_there(store, cached)
    assert store.usage.spilled == 0
    third = put(store, 4, "persist")
    assert store.usage.spilled_bytes == PAGE
    with pytest.raises(NotEnoughMemory):  # Neither on the device nor on the host.
        put(store, 5, "persist")
    assert store.usage.persistent == 3
    store.release(third)
    assert [value(store, handle) for handle in (kept, other)] == [1, 3]


def test_a_spilled_block_comes_back_with_its_voxels() -> None:
    store = store_of(1, host_pages=2)
    first, second = put(store, 1, "persist"), put(store, 2, "persist")
    for _ in range(2):
        assert [value(store, handle) for handle in (first, second)] == [1, 2]
    assert store.usage.spilled == 5  # The first when the second came, then one for each value but the last.


def test_a_block_in_use_is_neither_evicted_nor_spilled() -> None:
    store = store_of(1, host_pages=1)
    handle = put(store, 1, "cache")
    with store.borrow(handle), pytest.raises(NotEnoughMemory):
        put(store, 2, "cache")
    put(store, 2, "cache")
    assert not is_there(store, handle)


def test_a_block_that_is_released_in_use_goes_when_that_ends() -> None:
    store = store_of(2)
    handle = put(store, 1, "persist")
    with store.borrow(handle), store.borrow(handle):
        store.release(handle)
        assert value(store, handle) == 1
    assert not is_there(store, handle)
    assert (store.usage.cached, store.usage.persistent, store.usage.used_bytes) == (0, 0, 0)


def test_a_new_halo_leaves_older_handles_valid() -> None:
    store = store_of(2)
    before = put(store, 1, "persist")
    with store.borrow(before) as array:
        after = store.halo_changed(before, array)
        assert store.halo_changed(before, array) == after  # The same change, made again.
    assert after == before.changed
    assert value(store, before) == value(store, after) == 1


def test_what_a_peer_reads_is_not_used_again_before_it_has_been_read() -> None:
    store = store_of(4)
    handle = put(store, 5, "persist")
    with store.borrow(handle) as read:  # A neighbour pulls from it,
        with store.borrow(handle):  # and meanwhile it gets room for a halo, in another buffer.
            store.halo_changed(handle, store.allocate(SHAPE, np.dtype(np.uint8)))
        others = [put(store, 9, "persist") for _ in range(2)]
        assert (store.memory.read(read, Box.whole(SHAPE)) == 5).all()
    assert store.usage.used_bytes == 3 * PAGE  # Then its memory goes.
    assert [value(store, other) for other in others] == [9, 9]


def test_a_handle_of_another_incarnation_is_lost() -> None:
    store = store_of(1)
    handle = put(store, 1, "persist")
    other = Handle(WorkerId("127.0.0.1", 5100, 0, 8), handle.block)
    with pytest.raises(BlockLost, match=r"its Worker was replaced"):
        value(store, other)


@given(st.lists(st.tuples(st.sampled_from(["cache", "persist", "release", "use"]), st.integers(0, 9)), max_size=60))
def test_what_is_there_is_right_and_fits(steps: list[tuple[str, int]]) -> None:
    store, values, handles = store_of(4, host_pages=2), count(1), dict[Handle, int]()
    persistent = set[Handle]()
    for step, which in steps:
        known = list(handles)
        if step in ("cache", "persist"):
            number = next(values) % 256
            try:
                handle = put(store, number, "cache" if step == "cache" else "persist")
            except NotEnoughMemory:
                assert len(persistent) >= 6
                continue
            handles[handle] = number
            persistent |= {handle} if step == "persist" else set()
        elif known:
            handle = known[which % len(known)]
            if step == "release":
                store.release(handle)
                persistent.discard(handle)
                del handles[handle]
            elif is_there(store, handle):
                assert value(store, handle) == handles[handle]
            else:
                assert handle not in persistent or len(persistent) > 4
        assert store.usage.used_bytes <= 4 * PAGE
        assert store.usage.spilled_bytes <= 2 * PAGE
