"""Peers pull boxes of each other's arrays: through shared memory and over TCP, over connections that stay open."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.box import Box, triple
from pellucid.errors import InvalidInput, NotFound, PellucidError, TokenRejected
from pellucid.formats.protocol import Voxels
from pellucid.formats.shared_memory import SharedArray
from pellucid.transport.acceptor import Acceptor
from pellucid.transport.address import Address
from pellucid.transport.peers.client import PeerClient
from pellucid.transport.peers.connection import PeerConnection
from pellucid.transport.peers.requests import PullRequest
from pellucid.transport.peers.server import serve_pulls
from pellucid.transport.wire.messages import Channel, Message, Timeout
from tests.waiting import wait_until

TOKEN = "a token of these tests"
BOTH = pytest.mark.parametrize("is_local", [True, False], ids=["shm", "tcp"])


@dataclass
class Held:
    """A block of a Provider: open as often as it is counted. is_on_device: not in memory that others can map."""

    shared: SharedArray
    is_on_device: bool = False
    opened: int = 0
    is_shared: bool = False

    @property
    def shape(self) -> tuple[int, int, int]:
        return triple(self.shared.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.shared.dtype
        return dtype

    @property
    def memory(self) -> tuple[SharedArray, Voxels] | None:
        return None if self.is_on_device else (self.shared, self.shared.array)

    def read(self, box: Box) -> Voxels:
        return self.shared.array[box.slices]

    def share(self) -> None:
        self.is_shared = True

    def close(self) -> None:
        self.opened -= 1


class Provider:
    def __init__(self) -> None:
        self.blocks: dict[bytes, Held] = {}

    def add(self, name: str, array: Voxels, **how: bool) -> bytes:
        shared = SharedArray.create(array.shape, array.dtype)
        np.copyto(shared.array, array)
        key = name.encode().ljust(24, b"\0")
        self.blocks[key] = Held(shared, **how)
        return key

    def open_block(self, key: bytes) -> Held:
        if key not in self.blocks:
            raise NotFound(key.rstrip(b"\0").decode())
        self.blocks[key].opened += 1
        return self.blocks[key]


@dataclass
class Listening:
    provider: Provider
    acceptor: Acceptor
    channels: list[Channel] = field(default_factory=list)

    @property
    def address(self) -> Address:
        return self.acceptor.address


@contextmanager
def listening() -> Iterator[Listening]:
    provider = Provider()
    served: Listening

    def serve(_: Message, channel: Channel, __: Callable[[], bool]) -> None:
        served.channels.append(channel)
        serve_pulls(channel, provider)

    acceptor = Acceptor(
        Address("127.0.0.1", 0),
        lambda: (TOKEN,),
        serve,
        None,
    )
    served = Listening(provider, acceptor)
    yield served
    acceptor.close()


@pytest.fixture(scope="module")
def peer() -> Iterator[Listening]:
    with listening() as served:
        yield served


@contextmanager
def client(is_local: bool, token: str = TOKEN) -> Iterator[PeerClient]:
    made = PeerClient(token, prefers_local=is_local)
    yield made
    made.close()


@BOTH
@given(seed=st.integers(0, 2**32 - 1))
def test_boxes_arrive_in_arrays_of_any_order(peer: Listening, is_local: bool, seed: int) -> None:
    random = np.random.default_rng(seed)
    arrays = [random.integers(0, 255, random.integers(1, 12, 3)).astype(random.choice(["u1", "<f4"])) for _ in range(3)]
    keys = [peer.provider.add(f"random {number}", array) for number, array in enumerate(arrays)]
    pulls, expected = [], []
    for key, array in zip(keys, arrays, strict=True):
        low = random.integers(0, array.shape)
        box = Box(triple(low.tolist()), triple(random.integers(low + 1, np.array(array.shape) + 1).tolist()))
        room = np.zeros([n + 2 for n in box.shape], array.dtype, order=random.choice(["C", "F"]))
        pulls.append(PullRequest(key, box, room[1:-1, 1:-1, 1:-1]))
        expected.append(np.pad(array[box.slices], 1))
    with client(is_local) as pulling:
        pulling.pull({peer.address: pulls})
    for pull, wanted in zip(pulls, expected, strict=True):
        assert (np.asarray(pull.into.base if pull.into.base is not None else pull.into) == wanted).all()


@BOTH
def test_one_connection_serves_all_pulls_and_no_block_stays_pinned(peer: Listening, is_local: bool) -> None:
    array = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    key = peer.provider.add("many times", array)
    into = np.zeros((1, 4, 5), np.float32)
    with client(is_local) as pulling:
        for plane in range(3):
            pulling.pull({peer.address: [PullRequest(key, Box((plane, 0, 0), (plane + 1, 4, 5)), into)]})
            assert (into == array[plane]).all()
        assert pulling.connections_made == 1
    held = peer.provider.blocks[key]
    wait_until(lambda: held.opened == 0)


def test_changes_of_a_block_in_place_are_seen_without_another_handover(peer: Listening) -> None:
    key = peer.provider.add("changing", np.zeros((2, 2, 2), np.float32))
    into = np.ones((2, 2, 2), np.float32)
    pull = {peer.address: [PullRequest(key, Box.whole((2, 2, 2)), into)]}
    with client(is_local=True) as pulling:
        pulling.pull(pull)
        assert (into == 0).all()
        peer.provider.blocks[key].shared.array[...] = 7
        pulling.pull(pull)
        assert (into == 7).all()


def test_memory_that_the_peer_has_given_back_is_unmapped_with_the_next_pull(peer: Listening) -> None:
    into, box = np.empty((2, 2, 2), np.float32), Box.whole((2, 2, 2))
    kept = peer.provider.add("kept", np.full((2, 2, 2), -1, np.float32))
    connection = PeerConnection(peer.address, TOKEN, Timeout(10.0))
    try:
        for number in range(20):
            key = peer.provider.add("short-lived", np.full((2, 2, 2), number, np.float32))
            for one, value in ((kept, -1), (key, number)):
                connection.pull([PullRequest(one, box, into)])
                assert (into == value).all()
            wait_until(lambda key=key: not peer.provider.blocks[key].opened)  # type: ignore[misc]
            peer.provider.blocks.pop(key).shared.close()
            assert len(connection._buffers) <= 3
    finally:
        connection.close()


def test_large_pulls_over_tcp_use_two_connections(peer: Listening) -> None:
    arrays = [np.full((4, 512, 512), number, np.float32) for number in range(4)]
    keys = [peer.provider.add(f"large {number}", array) for number, array in enumerate(arrays)]
    into = [np.empty_like(array) for array in arrays]
    box = Box.whole((4, 512, 512))
    with client(is_local=False) as pulling:
        pulling.pull({peer.address: [PullRequest(key, box, one) for key, one in zip(keys, into, strict=True)]})
        assert pulling.connections_made == 2
    assert all((one == array).all() for one, array in zip(into, arrays, strict=True))


def test_whole_blocks_are_mapped_where_they_are(peer: Listening) -> None:
    key = peer.provider.add("mapped", np.full((2, 3, 4), 5, np.uint16))
    with client(is_local=True) as pulling:
        found = pulling.map(peer.address, [key])
        assert found is not None
        assert (found[0].array == 5).all()
        assert peer.provider.blocks[key].is_shared
        peer.provider.blocks[key].shared.array[0, 0, 0] = 9  # The same memory: nothing was copied.
        assert found[0].array[0, 0, 0] == 9
    with client(is_local=False) as pulling:
        assert pulling.map(peer.address, [key]) is None


@BOTH
def test_shapes_and_types_are_described(peer: Listening, is_local: bool) -> None:
    keys = [peer.provider.add("flat", np.ones((1, 2, 3), "<f8")), peer.provider.add("byte", np.ones((4, 5, 6), "u1"))]
    with client(is_local) as pulling:
        found = pulling.describe(peer.address, keys)
    assert found == [((1, 2, 3), np.dtype("<f8")), ((4, 5, 6), np.dtype("u1"))]


def test_blocks_that_are_not_in_shared_memory_are_sent(peer: Listening) -> None:
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    key = peer.provider.add("on a device", array, is_on_device=True)
    into = np.zeros_like(array)
    with client(is_local=True) as pulling:
        assert pulling.map(peer.address, [key]) is None  # The connection stays good.
        pulling.pull({peer.address: [PullRequest(key, Box.whole((2, 3, 4)), into)]})
    assert (into == array).all()


@BOTH
def test_a_missing_block_is_an_error_and_the_next_pull_works(peer: Listening, is_local: bool) -> None:
    key = peer.provider.add("there", np.ones((1, 1, 1), np.uint8))
    box, into = Box.whole((1, 1, 1)), np.zeros((1, 1, 1), np.uint8)
    with client(is_local) as pulling:
        with pytest.raises(NotFound, match="missing does not exist"):
            pulling.pull(
                {peer.address: [PullRequest(key, box, into), PullRequest(b"missing".ljust(24, b"\0"), box, into)]}
            )
        pulling.pull({peer.address: [PullRequest(key, box, into)]})
    assert into[0, 0, 0] == 1


@BOTH
def test_a_box_outside_a_block_is_refused(peer: Listening, is_local: bool) -> None:
    key = peer.provider.add("small", np.ones((2, 2, 2), np.uint8))
    with client(is_local) as pulling, pytest.raises(InvalidInput, match="outside a block"):
        pulling.pull({peer.address: [PullRequest(key, Box((0, 0, 0), (2, 2, 3)), np.zeros((2, 2, 3), np.uint8))]})


@BOTH
def test_another_token_is_refused(peer: Listening, is_local: bool) -> None:
    with client(is_local, "the token of another application") as pulling, pytest.raises(TokenRejected):
        pulling.pull({peer.address: [PullRequest(bytes(24), Box.whole((1, 1, 1)), np.zeros((1, 1, 1), np.uint8))]})


@BOTH
def test_a_connection_that_was_cut_while_idle_is_replaced(is_local: bool) -> None:
    with listening() as served, client(is_local) as pulling:
        key = served.provider.add("again", np.ones((1, 1, 1), np.uint8))
        into = np.zeros((1, 1, 1), np.uint8)
        plan = {served.address: [PullRequest(key, Box.whole((1, 1, 1)), into)]}
        pulling.pull(plan)
        for channel in served.channels:
            channel.close()
        into[...] = 0
        pulling.pull(plan)
        assert into[0, 0, 0] == 1 and pulling.connections_made == 2


def test_a_peer_that_is_gone_is_an_error(peer: Listening) -> None:
    with listening() as served, client(is_local=True) as pulling:
        key = served.provider.add("gone", np.ones((1, 1, 1), np.uint8))
        plan = {served.address: [PullRequest(key, Box.whole((1, 1, 1)), np.zeros((1, 1, 1), np.uint8))]}
        pulling.pull(plan)
        served.acceptor.close()
        for channel in served.channels:
            channel.close()
        with pytest.raises(PellucidError, match=r"Could not reach|interrupted"):
            pulling.pull(plan)
