"""Arrays that are announced and filled piece by piece: which bytes are there, and what becomes of abandoned ones."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.errors import InvalidInput, NotFound
from pellucid.instance.arrays.uploads import EXPIRES_S, MAX_PENDING, ArrayUploads, with_span
from pellucid.instance.protocol.http_bodies import ArrayOffer
from tests.clock import Clock

OFFER = ArrayOffer((2, 3, 4), "uint8")


@pytest.fixture
def clock() -> Clock:
    return Clock(0.0)


@pytest.fixture
def arrays(clock: Clock) -> ArrayUploads:
    return ArrayUploads(clock=clock)


def test_abandoned_announcements_make_room_for_others(arrays: ArrayUploads, clock: Clock) -> None:
    abandoned = [arrays.announce(OFFER)[0] for _ in range(MAX_PENDING)]
    with pytest.raises(InvalidInput, match="Too many uploads"):
        arrays.announce(OFFER)
    clock.now += EXPIRES_S + 1
    id, nbytes = arrays.announce(OFFER)
    arrays.fill(id, 0, bytes(nbytes))
    assert arrays.finish(id)[0] == OFFER
    with pytest.raises(NotFound, match="uploads expire"):
        arrays.fill(abandoned[0], 0, b"1")


def test_one_that_is_being_filled_is_not_given_up_and_a_dead_senders_is(arrays: ArrayUploads, clock: Clock) -> None:
    slow, dead = arrays.announce(OFFER)[0], arrays.announce(OFFER)[0]
    arrays.fill(dead, 0, bytes(10))
    memory = arrays._coming[dead].shared
    for offset in range(24):
        clock.now += EXPIRES_S / 2
        arrays.expire()
        arrays.fill(slow, offset, bytes([offset]))
    _, handed = arrays.finish(slow)
    assert handed.shared.array.ravel().tolist() == list(range(24))
    with pytest.raises(NotFound):
        arrays.finish(dead)
    with pytest.raises(InvalidInput, match="closed"):
        _ = memory.array


def test_bytes_that_come_twice_count_once(arrays: ArrayUploads) -> None:
    id, _ = arrays.announce(OFFER)
    arrays.fill(id, 0, bytes(12))
    arrays.fill(id, 0, bytes(12))
    with pytest.raises(InvalidInput, match="Only 12 of 24 bytes have arrived"):
        arrays.finish(id)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12)), max_size=20))
def test_spans_are_the_bytes_that_came(pieces: list[tuple[int, int]]) -> None:
    spans: list[tuple[int, int]] = []
    there = np.zeros(64, bool)
    for start, length in pieces:
        spans = with_span(spans, (start, start + length))
        there[start : start + length] = True
    assert all(stop < start for (_, stop), (start, _) in pairwise(spans))
    counted = np.zeros(64, int)
    for start, stop in spans:
        counted[start:stop] += 1
    assert np.array_equal(counted, there)
