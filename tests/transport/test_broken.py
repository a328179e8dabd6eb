"""Networks that cut, damage and delay: what arrived is kept, only the rest is sent again."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack

import numpy as np
import pytest

from pellucid import progress
from pellucid.errors import TransferInterrupted, TransferProtocolError
from pellucid.transport.client import TransferClient, TransferOptions, retrieve, send, stream
from pellucid.transport.host import OfferedArray, ReceiveLimits
from pellucid.transport.lanes.lane import Link
from pellucid.transport.lanes.tcp import END, PIECE
from pellucid.transport.server import Listener
from pellucid.transport.wire.announcement import MIN_PIECE, ArrayInfo, announce
from pellucid.transport.wire.messages import Channel
from tests.contracts.lanes import TOKEN, WAIT_S, Keeper, peer, reply, stall_receiver
from tests.transport.peer import voxels
from tests.transport.relay import Relay
from tests.waiting import wait_until

PIECE_BYTES = MIN_PIECE


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    with progress.use(progress.Silent()):
        yield


@pytest.fixture
def keeper() -> Keeper:
    return Keeper()


@pytest.fixture
def listener(keeper: Keeper) -> Iterator[Listener]:
    with Listener(token=TOKEN, host=keeper, limits=ReceiveLimits(limit_bytes=2**26, streams=2)) as listener:
        yield listener


@pytest.mark.parametrize("lane", ["tcp", "ucx"])
def test_a_cut_transfer_is_taken_up(lane: str, listener: Listener, keeper: Keeper) -> None:
    # The control connection of UCX carries little: it is cut by its own count.
    with Relay(listener.address.port, cut_after=12 * 2**20 if lane == "tcp" else 520) as relay:
        report = send(relay.address, voxels(), token=TOKEN, options=TransferOptions(lane))
        assert relay.cuts == 1
        again = relay.passed - relay.passed_before_cut
    received = listener.receive(WAIT_S)
    assert (received.array == voxels()).all()
    assert len(keeper.breaks) == 1
    assert report.resumed_bytes == keeper.breaks[0]
    assert report.nbytes == voxels().nbytes - keeper.breaks[0]
    if lane == "tcp":
        assert PIECE_BYTES <= keeper.breaks[0] < voxels().nbytes
        assert report.nbytes <= again <= report.nbytes + PIECE_BYTES  # Words, and what was in the relay's hands.


def test_what_was_there_stays_until_all_has_arrived(listener: Listener, keeper: Keeper) -> None:
    with Relay(listener.address.port, cut_after=4 * 2**20) as relay:
        with pytest.raises(TransferInterrupted, match="pieces already received are not resent"):
            send(relay.address, voxels(), token=TOKEN, options=TransferOptions("tcp", attempts=1))
        assert keeper.has_broken.wait(WAIT_S)
        with pytest.raises(TransferInterrupted, match="nothing arrived"):
            listener.receive(0)


def test_a_retrieval_is_taken_up(listener: Listener, keeper: Keeper) -> None:
    keeper.find = lambda request: OfferedArray(voxels())  # type: ignore[method-assign]
    with Relay(listener.address.port) as relay:
        cut = threading.Thread(target=_cut_after_a_piece, args=(relay,))
        cut.start()
        received = retrieve(relay.address, {}, token=TOKEN, options=TransferOptions("tcp"))
        cut.join(WAIT_S)
    assert (received.array == voxels()).all()


def _cut_after_a_piece(relay: Relay) -> None:
    while relay.returned < PIECE_BYTES:
        relay.has_returned.wait(WAIT_S)
        relay.has_returned.clear()
    relay.cut()


@pytest.fixture
def narrow(keeper: Keeper) -> Iterator[Listener]:
    """With one connection for pieces: so it is known which byte belongs to what."""
    with Listener(token=TOKEN, host=keeper, limits=ReceiveLimits(streams=1)) as listener:
        yield listener


def test_a_damaged_piece_is_sent_again(narrow: Listener) -> None:
    with Relay(narrow.address.port, flip_at=2 * PIECE_BYTES) as relay:
        send(relay.address, voxels(), token=TOKEN, options=TransferOptions("tcp"))
        assert voxels().nbytes + PIECE_BYTES < relay.passed < voxels().nbytes + 2 * PIECE_BYTES
        assert relay.cuts == 0
    assert (narrow.receive(WAIT_S).array == voxels()).all()


def test_without_checksums_damage_is_not_seen(narrow: Listener) -> None:
    with Relay(narrow.address.port, flip_at=2 * PIECE_BYTES) as relay:
        send(relay.address, voxels(), token=TOKEN, options=TransferOptions("tcp", checksum="none"))
    assert int((narrow.receive(WAIT_S).array != voxels()).sum()) == 1


def test_a_receiver_that_falls_behind_holds_the_sender_up(narrow: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    large, stalled, may_go_on = np.broadcast_to(np.uint8(7), (2**27,)), threading.Event(), threading.Event()
    stall_receiver(monkeypatch, stalled, may_go_on, calls=2)
    updates: list[progress.Update] = []

    def deliver() -> None:
        with progress.use(progress.Callbacks(updates.append, interval_s=0.0)):
            send(str(narrow.address), large, token=TOKEN, options=TransferOptions("tcp"))

    sending = threading.Thread(target=deliver)
    sending.start()
    assert stalled.wait(WAIT_S)
    seen: list[int] = []

    def has_stopped() -> bool:
        """Nothing more left the sender between this look and the two before."""
        seen.append(max(update.done for update in updates if update.name.startswith("Sending")))
        return len(seen) > 2 and 0 < seen[-1] == seen[-2] == seen[-3]

    wait_until(has_stopped)
    assert seen[-1] < large.nbytes // 2
    may_go_on.set()
    sending.join(WAIT_S)
    assert int(narrow.receive(WAIT_S).array.sum(dtype=np.int64)) == 7 * 2**27


def test_another_receiver_takes_over() -> None:
    """The receiving process is killed, and started again at the same port: all pieces are missing there."""
    resumed: list[str] = []
    with ExitStack() as stack:
        first = stack.enter_context(peer("serve", "127.0.0.1:0", TOKEN, "stall"))
        (address,) = reply(first, "listening")

        def replace_it() -> None:
            reply(first, "stalled")
            first.kill()
            first.wait()
            second = stack.enter_context(peer("serve", address, TOKEN))
            reply(second, "listening")
            resumed.extend(reply(second, "stored"))

        replacing = threading.Thread(target=replace_it)
        replacing.start()
        report = send(
            address, voxels(), token=TOKEN, label=ArrayInfo("scan"), options=TransferOptions("tcp", attempts=9)
        )
        replacing.join(WAIT_S)
    assert (report.nbytes, report.resumed_bytes) == (voxels().nbytes, 0)
    assert resumed == ["scan", "tcp", "0", "right"]


def test_a_slow_network(listener: Listener) -> None:
    with Relay(listener.address.port, delay_s=0.001) as relay:
        send(relay.address, voxels()[: 2**19], token=TOKEN, options=TransferOptions("tcp"))
    assert (listener.receive(WAIT_S).array == voxels()[: 2**19]).all()


def test_pieces_of_a_broken_transfer_are_forgotten(keeper: Keeper) -> None:
    with (
        Listener(token=TOKEN, host=keeper, limits=ReceiveLimits(keep_s=0.0)) as listener,
        Relay(listener.address.port, cut_after=12 * 2**20) as relay,
    ):
        assert send(relay.address, voxels(), token=TOKEN, options=TransferOptions("tcp")).resumed_bytes == 0
        assert (listener.receive(WAIT_S).array == voxels()).all()


@pytest.mark.parametrize(
    ("head", "fault"),
    [
        (PIECE.pack(99, PIECE_BYTES, 0), "piece 99 of 41"),
        (PIECE.pack(0, PIECE_BYTES + 1, 0), "524,289 bytes as piece 0, which has 524,288"),
        (PIECE.pack(40, PIECE_BYTES, 0), "524,288 bytes as piece 40, which has 308"),
    ],
)
def test_nothing_is_taken_beyond_what_was_announced(head: bytes, fault: str, listener: Listener) -> None:
    link, channels = begun(listener)
    channels[0].write_bytes(head)
    with pytest.raises(TransferProtocolError, match=fault):
        link.control.expect("stored")
    for channel in (*channels, link.control):
        channel.close()


def begun(listener: Listener) -> tuple[Link, list[Channel]]:
    """A transfer that was announced, with two channels for its pieces, none of which was sent."""
    announcement = announce(voxels().shape, voxels().dtype, None, ArrayInfo("greedy"), "none")
    link, lane = TransferClient.to(str(listener.address), TOKEN, TransferOptions("tcp")).call(announcement.transfer)
    link.control.write(announcement.message(lane=lane))
    link.control.expect("ready")
    return link, [link.join(), link.join()]


def test_a_sender_that_never_sends_what_is_missing(listener: Listener) -> None:
    link, channels = begun(listener)
    with pytest.raises(TransferProtocolError, match="arrived corrupted 4 times"):
        while True:
            for channel in channels:
                channel.write_bytes(PIECE.pack(END, 0, 0))
            link.control.expect("ready")
    for channel in (*channels, link.control):
        channel.close()


def test_a_cut_stream_is_taken_up(listener: Listener, keeper: Keeper) -> None:
    shape = (24, 256, 1024)
    made = np.arange(np.prod(shape), dtype=np.uint32).reshape(shape)
    with Relay(listener.address.port, cut_after=8 * 2**20) as relay:
        options = TransferOptions("tcp", window_bytes=4 * 2**20)
        with stream(relay.address, shape, "uint32", token=TOKEN, options=options) as writer:
            for slice_ in made:
                writer.append(slice_)
        assert relay.cuts == 1
        assert relay.passed < made.nbytes + 8 * 2**20
    assert (listener.receive(WAIT_S).array == made).all()
    assert len(keeper.breaks) == 1
