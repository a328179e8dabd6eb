"""What happens in Spark when blocks are lost: their partitions are computed again, by Spark itself.

Here: Origin, which marks blocks that come from a cached RDD; kept_or_computed; PartitionTable in the driver, DriverLink
in tasks; is_loss.
Not here: noticing a loss (links, worker.block_store).

A task or a driver that finds a block lost reports from which partition of which cached RDD it came. The table forgets
that partition's handles and has Spark drop the RDD from its cache; a task fails, and Spark tries it again. Partitions
that are computed then take their handles from the table where these are still good, so that only lost ones are
computed from their lineage.
"""

import logging
import pickle
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pellucid.cluster.blocks import DeviceBlock
from pellucid.cluster.handles import WorkerId
from pellucid.errors import BlockLost, Cancelled, PellucidError, TransferInterrupted
from pellucid.transport.acceptor import Acceptor
from pellucid.transport.address import Address
from pellucid.transport.dialing import dial
from pellucid.transport.wire.messages import MAX_BODY, Channel, Message, Timeout

LOG = logging.getLogger(__name__)
FIND, KEEP, LOST, FOUND = "find", "keep", "lost", "found"
PURPOSE = {"role": "partitions"}
TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Origin:
    """A partition of an RDD that Spark keeps, from which a block came. rdd: its number in the application."""

    rdd: int
    partition: int


def _blocks_in(element: Any) -> Iterator[DeviceBlock]:
    if isinstance(element, DeviceBlock):
        yield element
    elif isinstance(element, tuple | list):
        for one in element:
            yield from _blocks_in(one)


def _workers_in(content: bytes) -> set[WorkerId]:
    """Those that have blocks of a partition."""
    return {block.handle.worker for block in _blocks_in(pickle.loads(content))}


def kept_or_computed(number: int, partition: int, elements: Iterable[Any]) -> Iterator[Any]:
    """A partition as it was computed before, where its blocks are still there; otherwise computed now, and kept. Its
    blocks remember where they come from. Elements are blocks, or tuples and lists with blocks in them.

    Without looking at the elements nothing is computed: they come from an iterator.
    """
    driver, origin = driver_of_task(), Origin(number, partition)
    known = driver.find(origin)
    if known is not None:
        yield from pickle.loads(known)
        return
    computed = list(elements)
    for block in _blocks_in(computed):
        block.origin = origin
    driver.keep(origin, pickle.dumps(computed))
    yield from computed


class PartitionTable:
    """In the driver: the handles of partitions that Spark keeps, as they were computed. on_loss: is given the number of
    an RDD of which a partition is lost, after that is forgotten; called in threads of the connections. is_there:
    whether a Worker responds; with one that does not, all partitions go that it had."""

    def __init__(
        self,
        host: str,
        token: str,
        on_loss: Callable[[int], None],
        is_there: Callable[[WorkerId], bool] = lambda worker: True,
    ) -> None:
        self._on_loss, self._is_there = on_loss, is_there
        self._kept: dict[Origin, bytes] = {}
        self._lock = threading.Lock()
        self._is_closing = threading.Event()
        self._acceptor = Acceptor(Address(host, 0), lambda: (token,), self._enter, None)
        self.address = self._acceptor.address

    def close(self) -> None:
        self._is_closing.set()
        self._acceptor.close()

    def _enter(self, opening: Message, channel: Channel, _: Callable[[], bool]) -> None:
        channel.timeout = Timeout(TIMEOUT_S, self._is_closing)
        try:
            while True:
                message = channel.expect(FIND, KEEP, LOST, is_patient=True)
                origin = Origin(message.number("rdd"), message.number("partition"))
                channel.write(Message(FOUND, {}, self._answer(message, origin)))
        except (TransferInterrupted, Cancelled):
            channel.close()

    def _answer(self, message: Message, origin: Origin) -> bytes:
        with self._lock:
            if message.kind == FIND:
                return self._kept.get(origin, b"")
            if message.kind == KEEP:
                self._kept[origin] = message.body
                return b""
        self.report([origin])
        return b""

    def report(self, origins: Sequence[object]) -> None:
        """Blocks that came from these partitions are lost."""
        for origin in origins:
            if not isinstance(origin, Origin):
                continue
            with self._lock:
                content = self._kept.pop(origin, None)
            if content is not None:
                LOG.info("partition %s of RDD %s is computed again", origin.partition, origin.rdd)
                for rdd in sorted({origin.rdd, *self._forget_of_ended(content)}):
                    self._on_loss(rdd)

    def _forget_of_ended(self, content: bytes) -> set[int]:
        """A task reports the first block that it misses. Where its Worker has ended, others would fail one by one."""
        ended = {worker for worker in _workers_in(content) if not self._is_there(worker)}
        if not ended:
            return set()
        with self._lock:
            lost = [origin for origin, kept in self._kept.items() if ended & _workers_in(kept)]
            for origin in lost:
                del self._kept[origin]
        return {origin.rdd for origin in lost}


class DriverLink:
    """In a task: to the table of the driver."""

    def __init__(self, address: str, token: str) -> None:
        self._address, self._token = address, token
        self._channel: Channel | None = None
        self._lock = threading.Lock()

    def find(self, origin: Origin) -> bytes | None:
        """What was kept."""
        return self._ask(FIND, origin) or None

    def keep(self, origin: Origin, content: bytes) -> None:
        """What is too large for a message is not kept."""
        if len(content) <= MAX_BODY:
            self._ask(KEEP, origin, content)

    def report(self, origins: Sequence[object]) -> None:
        """Blocks that came from these partitions are lost."""
        for origin in origins:
            if isinstance(origin, Origin):
                self._ask(LOST, origin)

    def _ask(self, kind: str, origin: Origin, body: bytes = b"") -> bytes:
        """Without a driver that listens nothing is known, and a task that lost a block simply fails. A connection that
        was cut is made once more: what is sent says the same twice."""
        message = Message(kind, {"rdd": str(origin.rdd), "partition": str(origin.partition)}, body)
        with self._lock:
            for is_last in (self._channel is None, True):
                try:
                    return self._reply(message)
                except (PellucidError, OSError) as error:
                    self._channel = None
                    if is_last:
                        LOG.warning("The driver does not respond: %s", error)
                        break
        return b""

    def _reply(self, message: Message) -> bytes:
        if self._channel is None:
            self._channel = dial(Address.parse(self._address), self._token, PURPOSE, Timeout(TIMEOUT_S))
        self._channel.write(message)
        return self._channel.expect(FOUND).body


def driver_of_task() -> DriverLink:
    from pellucid.cluster.spark.task import driver_link

    return driver_link()


def is_loss(error: BaseException) -> bool:
    """Whether an action failed because blocks were lost. Of an error in a task, Spark keeps the text."""
    return isinstance(error, BlockLost) or f".{BlockLost.__name__}: " in str(error)
