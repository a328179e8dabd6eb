"""Memory that is there before bytes come, and is used again."""

import errno
import os
import weakref

import numpy as np
import pytest

from pellucid.errors import NotEnoughMemory
from pellucid.formats.shared_memory import SharedArray
from pellucid.transport import shared_pages
from pellucid.transport.shared_pages import BufferPool, Mappings, reserve
from pellucid.transport.wire.announcement import NO_LABEL, announce
from pellucid.transport.wire.pieces import PieceTarget
from tests.waiting import wait_until

SHAPE = (3, 1024, 1024)


def pages(shared: SharedArray) -> int:
    """How many bytes of it there are, whoever has them mapped."""
    return os.fstat(shared.descriptor).st_blocks * 512


@pytest.mark.parametrize("is_old_kernel", [False, True], ids=["in one call", "page by page"])
def test_every_page_is_there(is_old_kernel: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if is_old_kernel:
        monkeypatch.setattr(shared_pages, "_advised", lambda content, advice: errno.EINVAL)
    with SharedArray.create(SHAPE, "uint8") as shared:
        assert pages(shared) == 0
        reserve(shared)
        assert pages(shared) == shared.nbytes
        assert not shared.array.any()


def test_memory_that_cannot_be_had_is_said_before_a_byte_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_pages, "_advised", lambda content, advice: errno.ENOMEM)
    with pytest.raises(NotEnoughMemory, match="free memory at the receiver"):
        PieceTarget.create(announce(SHAPE, "uint8", None, NO_LABEL, "none"))


def test_memory_is_used_again() -> None:
    store = BufferPool(limit_bytes=2**24)
    first = SharedArray.create(SHAPE, "uint8")
    first.array[...] = 7
    store.put(first)
    assert store.take((2, 2), "uint8") is None  # It would be a waste.
    again = store.take((2, 1024, 512), "uint16")
    assert again is not None and (again.array == 0x0707).all()
    assert store.take(SHAPE, "uint8") is None
    store.put(again)
    assert store.take((2, 1024, 512), "uint16") is again
    again.close()


def test_the_oldest_goes_first() -> None:
    store = BufferPool(limit_bytes=2 * 2**20)
    arrays = [SharedArray.create((2**20,), "uint8") for _ in range(3)]
    for array in arrays:
        store.put(array)
    wait_until(lambda: [array.descriptor >= 0 for array in arrays] == [False, True, True])
    assert store.take((2**20,), "uint8") is arrays[1]
    for array in arrays:
        array.close()


def test_a_stream_begins_with_zeros() -> None:
    store = BufferPool(limit_bytes=2**24)
    old = SharedArray.create(SHAPE, "uint8")
    old.array[...] = 7
    store.put(old)
    target = PieceTarget.create(announce(SHAPE, "uint8", None, NO_LABEL, "none", mode="stream"), store)
    assert target.shared is old
    assert not np.any(target.shared.array)


def test_what_was_mapped_a_moment_ago_still_is() -> None:
    mappings = Mappings(keep_s=60.0, most=1)
    with SharedArray.create(SHAPE, "uint8") as one, SharedArray.create(SHAPE, "uint8") as other:
        name, content = mappings.take(os.dup(one.descriptor))
        content[7] = 1
        assert one.array[0, 0, 7] == 1 and content.size == one.nbytes
        mappings.put(name, content)
        assert mappings.take(os.dup(one.descriptor))[1] is content
        mappings.put(name, content)
        mappings.put(*mappings.take(os.dup(other.descriptor)))  # There is room for one.
        assert mappings.take(os.dup(one.descriptor))[1] is not content


def test_what_nobody_uses_is_unmapped() -> None:
    mappings = Mappings(keep_s=0.0, most=2)
    with SharedArray.create(SHAPE, "uint8") as shared:
        name, content = mappings.take(os.dup(shared.descriptor))
        unmapped = weakref.ref(content)
        mappings.put(name, content)
        del content
        wait_until(lambda: unmapped() is None)
