"""What every lane must do. A new lane subclasses LaneContract and names itself.

Here: the contract, for two ends in one process and, where one of them is killed, in two.
Not here: what only one lane can do wrong (its own tests).
"""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pellucid import progress
from pellucid.errors import (
    Cancelled,
    InvalidInput,
    PellucidError,
    ReceiverBusy,
    TokenRejected,
    TransferInterrupted,
    TransferTooLarge,
    Unreachable,
)
from pellucid.formats.protocol import Voxels
from pellucid.transport.client import TransferOptions, allocate, retrieve, send
from pellucid.transport.host import Host, Mailbox, OfferedArray, ReceiveLimits
from pellucid.transport.server import Listener
from pellucid.transport.wire.announcement import TYPES, Announcement, ArrayInfo
from pellucid.transport.wire.pieces import PieceTarget
from tests.suite_report import ROOT
from tests.transport.peer import voxels
from tests.waiting import wait_until

TOKEN = "correct horse battery"
WAIT_S = 120.0
SMALL = np.arange(60, dtype=np.int16).reshape(3, 4, 5)
LAYOUTS: Mapping[str, Voxels] = {
    "contiguous": SMALL,
    "every second": SMALL[:, ::2, 1:],
    "Fortran": np.asfortranarray(SMALL),
    "transposed": SMALL.T,
    "backwards": SMALL[::-1, :, ::-1],
    "big endian": SMALL.astype(">i2"),
    "broadcast": np.broadcast_to(SMALL[0, 0], (3, 4, 5)),
    "no voxel": SMALL[:0],
    "one number": np.array(7.5),
    "one axis": SMALL.ravel(),
}


class Keeper(Mailbox):
    """A mailbox that remembers what else it was told, and hands out the same array to everybody."""

    def __init__(self) -> None:
        super().__init__()
        self.allocated: list[Announcement] = []
        self.breaks: list[int] = []
        self.has_allocated = threading.Event()
        self.may_allocate = threading.Event()
        self.may_allocate.set()
        self.has_broken = threading.Event()

    def allocate(self, announcement: Announcement) -> PieceTarget:
        self.allocated.append(announcement)
        self.has_allocated.set()
        self.may_allocate.wait(WAIT_S)
        return super().allocate(announcement)

    def on_interrupted(self, announcement: Announcement, kept: int, error: PellucidError) -> None:
        self.breaks.append(kept)
        self.has_broken.set()

    def find(self, request: Mapping[str, Any]) -> OfferedArray:
        if request.get("box") != "all":
            raise InvalidInput("There is no such box.", remedy="Ask for all.")
        return OfferedArray(SMALL[:, ::2], ArrayInfo("found", (2.0, 1.0, 1.0), "um"), {"request": dict(request)})


@contextmanager
def peer(*arguments: str, prefix: tuple[str, ...] = ()) -> Iterator["subprocess.Popen[str]"]:
    """The other end as a process; ended with the block."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    command = [*prefix, sys.executable, "-m", "tests.transport.peer", *arguments]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def reply(child: "subprocess.Popen[str]", word: str) -> list[str]:
    """The words after this one, on the next line that the child prints."""
    assert child.stdout is not None
    first, *rest = child.stdout.readline().split() or ["nothing"]
    assert first == word, (first, rest)
    return rest


def after(event: Callable[[float], object], action: Callable[[], None]) -> threading.Thread:
    """Do something, in a thread of its own, when something else has happened."""

    def run() -> None:
        event(WAIT_S)
        action()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


class Ends:
    """The two ends of a lane."""

    lane: str
    served: tuple[str, ...] = ()
    """What else the listening process is told."""
    kept_before_stall = 2
    """How often pieces are kept before a receiving end that stalls does so. Where all come at once: never."""

    def address(self, listener: Listener) -> str:
        """Where the listening end is reached."""
        return str(listener.address)

    @contextmanager
    def listening(self, host: Host, limits: ReceiveLimits) -> Iterator[Listener]:
        with Listener(token=TOKEN, host=host, limits=limits) as listener:
            yield listener

    @pytest.fixture(autouse=True)
    def nothing_is_left(self) -> Iterator[None]:
        before = sorted(path.name for path in Path("/dev/shm").iterdir() if "pellucid" in path.name)
        with progress.use(progress.Silent()):
            yield
        assert sorted(path.name for path in Path("/dev/shm").iterdir() if "pellucid" in path.name) == before

    @pytest.fixture
    def keeper(self) -> Keeper:
        return Keeper()

    @pytest.fixture
    def listener(self, keeper: Keeper) -> Iterator[Listener]:
        with self.listening(keeper, ReceiveLimits(limit_bytes=2**26, streams=2)) as listener:
            yield listener

    def send(self, to: Listener | str, array: Voxels, metadata: Any = None, **options: Any) -> Any:
        address = to if isinstance(to, str) else self.address(to)
        label = ArrayInfo("scan", (3.0, 2.0, 1.0), "um")
        return send(
            address, array, metadata, token=TOKEN, label=label, options=TransferOptions(lane=self.lane, **options)
        )


class ProcessContract(Ends):
    """One of the ends is a process of its own, and may be killed."""

    def test_the_sender_is_killed(self, listener: Listener, keeper: Keeper) -> None:
        with peer("send", self.address(listener), TOKEN, self.lane, "stall") as child:
            reply(child, "stalled")
            child.kill()
        assert keeper.has_broken.wait(WAIT_S)
        with pytest.raises(TransferInterrupted, match="nothing arrived"):
            keeper.next(0)
        self.send(listener, SMALL)
        assert (listener.receive(WAIT_S).array == SMALL).all()

    def test_the_receiver_is_killed(self) -> None:
        with peer("serve", "127.0.0.1:0", TOKEN, f"stall={self.kept_before_stall}", *self.served) as child:
            (address,) = reply(child, "listening")
            after(lambda _: reply(child, "stalled"), child.kill)
            with pytest.raises((TransferInterrupted, Unreachable)):
                self.send(address, voxels(), attempts=2)

    def test_between_two_processes(self) -> None:
        with peer("serve", "127.0.0.1:0", TOKEN, *self.served) as child:
            (address,) = reply(child, "listening")
            self.send(address, voxels())
            assert reply(child, "stored") == ["scan", self.lane, "0", "right"]
            received = retrieve(address, {}, token=TOKEN, options=TransferOptions(self.lane))
            assert (received.array == voxels()).all()


class LaneContract(ProcessContract):
    """Subclass it and set ``lane``; ``listening`` may be overridden where the listening end needs more."""

    @pytest.mark.parametrize("layout", list(LAYOUTS))
    def test_any_layout_arrives(self, layout: str, listener: Listener) -> None:
        array = LAYOUTS[layout]
        report = self.send(listener, array)
        received = listener.receive(WAIT_S)
        assert received.array.shape == array.shape
        assert (received.array == array).all()
        assert (report.lane, report.nbytes) == (self.lane, array.nbytes)

    @pytest.mark.parametrize("dtype", list(TYPES.values()))
    def test_any_type_arrives(self, dtype: str, listener: Listener) -> None:
        array = (SMALL % 2).astype(dtype)
        self.send(listener, array)
        received = listener.receive(WAIT_S)
        assert received.array.dtype == array.dtype
        assert (received.array == array).all()

    @pytest.mark.parametrize("layout", ["in place", "read only", "gathered"])
    @pytest.mark.parametrize("checksum", ["xxh3", "none"])
    def test_several_pieces(self, layout: str, checksum: str, listener: Listener) -> None:
        array = voxels()[: 5 * 2**20].reshape(5, 1024, 1024)
        array.flags.writeable = layout != "read only"
        array = array.transpose(1, 0, 2) if layout == "gathered" else array
        self.send(listener, array, checksum=checksum)
        assert (listener.receive(WAIT_S).array == array).all()

    def test_what_was_said_about_it_arrives(self, listener: Listener) -> None:
        self.send(listener, SMALL, {"exposure_s": 0.5, "sample": "Käfer\n2"})
        received = listener.receive(WAIT_S)
        assert received.label == ArrayInfo("scan", (3.0, 2.0, 1.0), "um")
        assert received.metadata == {"exposure_s": 0.5, "sample": "Käfer\n2"}

    def test_metadata_up_to_the_limit(self, listener: Listener) -> None:
        self.send(listener, SMALL, {"a": "x" * (128 * 1024 - 9)})
        assert len(listener.receive(WAIT_S).metadata["a"]) == 128 * 1024 - 9
        with pytest.raises(InvalidInput, match="131,073 bytes as JSON; the maximum is 131,072"):
            self.send(listener, SMALL, {"a": "x" * (128 * 1024 - 8)})

    def test_another_token_is_refused(self, listener: Listener, keeper: Keeper) -> None:
        with pytest.raises(TokenRejected, match="rejected the token"):
            send(self.address(listener), SMALL, token="wrong horse battery", options=TransferOptions(lane=self.lane))
        assert keeper.allocated == []

    def test_too_much_is_refused_with_both_sizes(self, listener: Listener, keeper: Keeper) -> None:
        array = np.broadcast_to(np.uint8(1), (2**26 + 1,))
        with pytest.raises(TransferTooLarge, match=r"67,108,865 bytes.*at most 64\.0 MiB \(67,108,864 bytes\)"):
            self.send(listener, array)
        assert keeper.allocated == []

    def test_a_refusal_of_the_host_arrives(self, listener: Listener, keeper: Keeper) -> None:
        def refuse(announcement: Announcement) -> PieceTarget:
            raise InvalidInput("The card is full.", remedy="Close a volume.")

        keeper.allocate = refuse  # type: ignore[method-assign]
        with pytest.raises(InvalidInput, match=r"The card is full\. Close a volume\."):
            self.send(listener, SMALL)

    def test_nobody_listens(self) -> None:
        with Listener(token=TOKEN) as listener:
            address = self.address(listener)
        with pytest.raises(Unreachable, match="Connection refused"):
            self.send(address, SMALL)

    def test_the_next_sender_waits(self, listener: Listener, keeper: Keeper) -> None:
        keeper.may_allocate.clear()
        first = threading.Thread(target=self.send, args=(listener, SMALL))
        second = threading.Thread(target=self.send, args=(listener, SMALL + 1))
        first.start()
        assert keeper.has_allocated.wait(WAIT_S)
        second.start()
        keeper.may_allocate.set()
        assert (listener.receive(WAIT_S).array == SMALL).all()
        assert (listener.receive(WAIT_S).array == SMALL + 1).all()
        first.join(WAIT_S)
        second.join(WAIT_S)

    def test_the_next_sender_is_refused(self, keeper: Keeper) -> None:
        keeper.may_allocate.clear()
        with self.listening(keeper, ReceiveLimits(is_waiting=False)) as listener:
            first = threading.Thread(target=self.send, args=(listener, SMALL))
            first.start()
            assert keeper.has_allocated.wait(WAIT_S)
            with pytest.raises(ReceiverBusy, match="busy with another array"):
                self.send(listener, SMALL, attempts=1)
            keeper.may_allocate.set()
            first.join(WAIT_S)
            assert (listener.receive(WAIT_S).array == SMALL).all()

    def test_progress_is_told_at_both_ends(self, listener: Listener) -> None:
        updates: list[progress.Update] = []
        with progress.use(progress.Callbacks(updates.append, interval_s=0.0)):
            self.send(listener, voxels())
            listener.receive(WAIT_S)
        ends = {update.name: update.done for update in updates if update.is_finished}
        assert ends == {"Sending scan": voxels().nbytes, "Receiving scan": voxels().nbytes}

    def test_the_sender_cancels(self, listener: Listener, keeper: Keeper) -> None:
        cancel = threading.Event()
        keeper.may_allocate.clear()
        after(keeper.has_allocated.wait, cancel.set)
        with pytest.raises(Cancelled):
            self.send(listener, SMALL, cancel=cancel)
        keeper.may_allocate.set()
        self.send(listener, SMALL + 1)
        assert (listener.receive(WAIT_S).array == SMALL + 1).all()

    def test_the_receiver_cancels(self, keeper: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
        stalled = threading.Event()
        with self.listening(keeper, ReceiveLimits()) as listener:
            stall_receiver(monkeypatch, stalled, listener.is_closing, self.kept_before_stall)
            closing = after(stalled.wait, listener.close)
            with pytest.raises((Cancelled, TransferInterrupted, Unreachable)):
                self.send(listener, voxels(), attempts=1)
            closing.join(WAIT_S)
        with pytest.raises(TransferInterrupted, match="nothing arrived"):
            keeper.next(0)

    def test_the_sender_cancels_in_the_middle(
        self, listener: Listener, keeper: Keeper, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cancel, stalled, may_go_on = threading.Event(), threading.Event(), threading.Event()
        stall_receiver(monkeypatch, stalled, may_go_on, self.kept_before_stall)
        cancelling = after(stalled.wait, cancel.set)
        with pytest.raises(Cancelled):
            self.send(listener, voxels(), cancel=cancel)
        cancelling.join(WAIT_S)
        may_go_on.set()
        assert keeper.has_broken.wait(WAIT_S)
        self.send(listener, SMALL)
        assert (listener.receive(WAIT_S).array == SMALL).all()

    def test_two_at_once_where_that_is_allowed(self, keeper: Keeper) -> None:
        keeper.may_allocate.clear()
        with self.listening(keeper, ReceiveLimits(at_once=2)) as listener:
            threads = [threading.Thread(target=self.send, args=(listener, SMALL + each)) for each in (0, 1)]
            for thread in threads:
                thread.start()
            wait_until(lambda: len(keeper.allocated) == 2)
            keeper.may_allocate.set()
            arrived = [listener.receive(WAIT_S).array for _ in threads]
            for thread in threads:
                thread.join(WAIT_S)
        assert sorted(int(array[0, 0, 0]) for array in arrived) == [0, 1]

    def test_an_array_is_retrieved(self, listener: Listener) -> None:
        options = TransferOptions(lane=self.lane)
        received = retrieve(self.address(listener), {"box": "all"}, token=TOKEN, options=options)
        assert (received.array == SMALL[:, ::2]).all()
        assert received.label == ArrayInfo("found", (2.0, 1.0, 1.0), "um")
        assert received.metadata == {"request": {"box": "all"}}
        assert received.report is not None and received.report.lane == self.lane

    def test_what_cannot_be_retrieved_says_why(self, listener: Listener) -> None:
        with pytest.raises(InvalidInput, match="There is no such box"):
            retrieve(self.address(listener), {"box": "half"}, token=TOKEN, options=TransferOptions(lane=self.lane))

    def test_no_more_is_retrieved_than_wanted(self, listener: Listener) -> None:
        options = TransferOptions(lane=self.lane, limit_bytes=10)
        with pytest.raises(TransferTooLarge, match=r"60 bytes.*at most 10 bytes"):
            retrieve(self.address(listener), {"box": "all"}, token=TOKEN, options=options)

    @pytest.mark.parametrize("depth", [3, 0])
    def test_memory_is_asked_for_first(self, depth: int, listener: Listener) -> None:
        with allocate(
            self.address(listener), (depth, 4, 5), "int16", token=TOKEN, options=TransferOptions(self.lane)
        ) as wanted:
            mine = wanted.array
            mine[...] = SMALL[:depth]
            report = wanted.send()
            mine[...] = 0
            with pytest.raises(InvalidInput, match="Allocate a new one"):
                _ = wanted.array
        received = listener.receive(WAIT_S).array
        assert received.shape == (depth, 4, 5) and (received == SMALL[:depth]).all()
        assert report.nbytes == (0 if self.lane == "shm" else SMALL[:depth].nbytes)


def stall_receiver(
    monkeypatch: pytest.MonkeyPatch, stalled: threading.Event, may_go_on: threading.Event, calls: int
) -> None:
    """Hold the receiving end up, when it has kept pieces so often, until it may go on."""
    original, count = PieceTarget.keep, iter(range(calls))

    def keep(self: PieceTarget, *numbers: int) -> None:
        if next(count, None) is None:
            stalled.set()
            may_go_on.wait(WAIT_S)
        original(self, *numbers)

    monkeypatch.setattr(PieceTarget, "keep", keep)
