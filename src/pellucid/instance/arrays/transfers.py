"""The progress of array transfers to this viewer, for its pages.

Here: TransferMonitor: how far each transfer is, stopping one, and what is said of one that broke off.
Not here: the transfers (transport), what becomes of them (receiver).
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from pellucid.errors import PellucidError
from pellucid.instance.protocol.server_messages import ErrorMessage
from pellucid.instance.session import Session
from pellucid.progress import amount

POLL_S = 0.2


@dataclass(frozen=True)
class Transfer:
    """number: by which the transport knows it. count: how many bytes are there."""

    number: str
    name: str
    nbytes: int
    count: Callable[[], int]


class TransferMonitor:
    """Begin and end may be called from any thread. cancel: ends a transfer, by its number."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.cancel: Callable[[str], None] = lambda number: None
        self._under_way: dict[str, tuple[Transfer, str, asyncio.Task[None]]] = {}

    def begin(self, transfer: Transfer) -> None:
        self._session.relay.call(lambda: self._begin(transfer))

    def end(self, number: str, error: PellucidError | None = None, kept: int = 0) -> None:
        """It is over. error: why, where it broke off; kept: bytes that need not be sent again."""
        self._session.relay.call(lambda: self._end(number, error, kept))

    def _begin(self, transfer: Transfer) -> None:
        tasks = self._session.tasks
        id = tasks.begin(f"Receiving {transfer.name}", lambda: self.cancel(transfer.number))
        watching = asyncio.get_running_loop().create_task(self._watch(id, transfer))
        self._under_way[transfer.number] = (transfer, id, watching)

    async def _watch(self, id: str, transfer: Transfer) -> None:
        before = -1
        while True:
            done = min(transfer.count(), transfer.nbytes)
            if done != before:  # A sender that stands still is no use of the viewer.
                self._session.tasks.report(id, done, transfer.nbytes, "B")
            before = done
            await asyncio.sleep(POLL_S)

    def _end(self, number: str, error: PellucidError | None, kept: int) -> None:
        transfer, id, watching = self._under_way.pop(number)
        watching.cancel()
        if error is None:
            self._session.tasks.report(id, transfer.nbytes, transfer.nbytes, "B")
        self._session.tasks.finish(id, error)
        if error is not None:
            what, remedy = interrupted_message(transfer.name, error, kept)
            self._session.broadcast(ErrorMessage(what, remedy, self._session.history.revision))


def interrupted_message(name: str, error: PellucidError, kept: int) -> tuple[str, str]:
    """The message for pages about an interrupted transfer.

    >>> interrupted_message("scan", PellucidError("The other end is gone.", remedy=""), 2**30)[1]
    'The data received so far stays visible. Send it again; 1.0 GiB have already arrived.'
    """
    again = f"Send it again; {amount(kept, 'B')} have already arrived." if kept else "Send it again."
    return (
        f"{name[:1].upper()}{name[1:]} did not arrive completely. {error.what}",
        f"The data received so far stays visible. {again}",
    )
