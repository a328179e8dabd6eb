"""Handles: 24 bytes that lead to a block."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.cluster.handles import HANDLE_BYTES, Handle, WorkerId, checked_host
from pellucid.errors import InvalidInput

WORKERS = st.builds(
    WorkerId,
    host=st.ip_addresses(v=4).map(str),
    port=st.integers(0, 2**16 - 1),
    slot=st.integers(0, 2**16 - 1),
    incarnation=st.integers(0, 2**32 - 1),
)
HANDLES = st.builds(Handle, worker=WORKERS, block=st.integers(0, 2**64 - 1), version=st.integers(0, 2**32 - 1))


@given(HANDLES)
def test_a_handle_is_24_bytes_and_comes_back(handle: Handle) -> None:
    assert len(handle.pack()) == HANDLE_BYTES == 24
    assert Handle.unpack(handle.pack()) == handle
    assert Handle.parse(str(handle)) == handle


@given(HANDLES)
def test_a_changed_block_has_another_handle(handle: Handle) -> None:
    assert handle.changed != handle
    assert (handle.changed.worker, handle.changed.block) == (handle.worker, handle.block)


@pytest.mark.parametrize("text", ["", "00", "zz" * 24, "00" * 25])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"handle"):
        Handle.parse(text)


def test_workers_listen_at_numeric_addresses() -> None:
    assert checked_host("10.0.0.7") == "10.0.0.7"
    with pytest.raises(InvalidInput, match=r"cannot listen at '::1'\. Use a numeric IPv4"):
        checked_host("::1")
