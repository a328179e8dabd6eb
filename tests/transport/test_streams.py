"""Volumes that are sent while they are made."""

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from pellucid import progress
from pellucid.box import Box
from pellucid.errors import InvalidInput
from pellucid.transport.client import TransferOptions, stream
from pellucid.transport.host import ReceiveLimits
from pellucid.transport.server import Listener
from pellucid.transport.wire.blocks import MAX_BLOCK, cut
from pellucid.transport.wire.pieces import PieceTarget
from tests.contracts.lanes import TOKEN, WAIT_S, Keeper

SHAPE = (6, 20, 30)
VOXELS = np.arange(6 * 20 * 30, dtype=np.uint16).reshape(SHAPE)


class Watcher(Keeper):
    """Remembers which boxes arrived, and may be told to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.boxes: list[Box] = []
        self.has_arrived = threading.Event()
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def on_block(self, target: PieceTarget, box: Box) -> None:
        self.boxes.append(box)
        self.has_arrived.set()
        self.may_go_on.wait(WAIT_S)


@pytest.fixture
def watcher() -> Watcher:
    return Watcher()


@pytest.fixture
def listener(watcher: Watcher) -> Iterator[Listener]:
    with (
        progress.use(progress.Silent()),
        Listener(token=TOKEN, host=watcher, limits=ReceiveLimits(limit_bytes=2**28, streams=2)) as listener,
    ):
        yield listener


@pytest.mark.parametrize("lane", ["shm", "tcp", "ucx"])
def test_slices_in_order(lane: str, listener: Listener, watcher: Watcher) -> None:
    with stream(str(listener.address), SHAPE, "uint16", token=TOKEN, options=TransferOptions(lane)) as writer:
        for slice_ in VOXELS:
            writer.append(slice_)
    assert (listener.receive(WAIT_S).array == VOXELS).all()
    assert sorted(watcher.boxes) == [Box((z, 0, 0), (z + 1, 20, 30)) for z in range(6)]


@pytest.mark.parametrize("lane", ["shm", "tcp"])
def test_blocks_in_any_order(lane: str, listener: Listener) -> None:
    starts = [(z, y, x) for x in (0, 13) for z in (3, 0) for y in (10, 0)]
    with stream(str(listener.address), SHAPE, "uint16", token=TOKEN, options=TransferOptions(lane)) as writer:
        for z, y, x in starts:
            writer.write(VOXELS[z : z + 3, y : y + 10, x : 13 if x == 0 else 30], (z, y, x))
    assert (listener.receive(WAIT_S).array == VOXELS).all()


@pytest.mark.parametrize("lane", ["shm", "tcp"])
def test_a_block_may_be_changed_when_it_is_handed_over(lane: str, listener: Listener) -> None:
    slice_ = np.empty((20, 30), np.uint16)
    with stream(str(listener.address), SHAPE, "uint16", token=TOKEN, options=TransferOptions(lane)) as writer:
        for value in range(6):
            slice_[...] = value
            writer.append(slice_)
    assert listener.receive(WAIT_S).array[:, 7, 7].tolist() == [0, 1, 2, 3, 4, 5]


def test_a_slow_receiver_holds_the_writer_up(listener: Listener, watcher: Watcher) -> None:
    watcher.may_go_on.clear()
    written = 0
    is_waiting = threading.Event()

    def produce() -> None:
        nonlocal written
        with stream(
            str(listener.address),
            (64, 64, 64),
            "uint8",
            token=TOKEN,
            options=TransferOptions("tcp", window_bytes=3 * 4096),
        ) as writer:
            for _ in range(64):
                writer.append(np.ones((64, 64), np.uint8))
                written += 1
                if written == 3:
                    is_waiting.set()

    producing = threading.Thread(target=produce)
    producing.start()
    assert is_waiting.wait(WAIT_S)
    assert watcher.has_arrived.wait(WAIT_S)
    assert written == 3
    watcher.may_go_on.set()
    producing.join(WAIT_S)
    assert written == 64
    assert listener.receive(WAIT_S).array.sum() == 64**3


@pytest.mark.parametrize("lane", ["shm", "tcp"])
def test_a_writer_that_fails_leaves_nothing_behind(lane: str, listener: Listener, watcher: Watcher) -> None:
    with (
        pytest.raises(RuntimeError, match="the detector is off"),
        stream(str(listener.address), SHAPE, "uint16", token=TOKEN, options=TransferOptions(lane)) as writer,
    ):
        writer.append(VOXELS[0])
        raise RuntimeError("the detector is off")
    assert watcher.has_broken.wait(WAIT_S)


def test_what_does_not_fit_is_refused(listener: Listener) -> None:
    with stream(str(listener.address), SHAPE, "uint16", token=TOKEN) as writer:
        with pytest.raises(InvalidInput, match=r"at \(5, 0, 0\) of shape \(2, 20, 30\) \(z, y, x\) does not fit"):
            writer.write(VOXELS[:2], (5, 0, 0))
        with pytest.raises(InvalidInput, match="A block has type float32"):
            writer.write(VOXELS.astype(np.float32))
        writer.write(VOXELS)
    assert (listener.receive(WAIT_S).array == VOXELS).all()
    with pytest.raises(InvalidInput, match="Invalid shape"):
        stream(str(listener.address), (3, 4), "uint16", token=TOKEN)


def test_large_blocks_are_cut() -> None:
    parts = list(cut(Box((1, 0, 0), (4, 4096, 8192)), 4))
    assert sum(part.size for part in parts) == 3 * 4096 * 8192
    assert max(part.size for part in parts) * 4 <= MAX_BLOCK
    assert parts[0].start == (1, 0, 0) and parts[-1].stop == (4, 4096, 8192)
