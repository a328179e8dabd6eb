"""Sending to an instance as any program would, in C for example; holding it up in the middle."""

import threading
from typing import Any

import pytest

from pellucid.formats.protocol import Voxels
from pellucid.instance.server import Instance
from pellucid.transport.client import TransferOptions, send, stream
from pellucid.transport.wire.announcement import ArrayInfo
from pellucid.transport.wire.pieces import PieceTarget
from tests.instance.loopback import Page
from tests.waiting import wait_until

TCP = TransferOptions("tcp", attempts=1)


def address_of(instance: Instance) -> str:
    return instance.session.transfer


def token_of(instance: Instance) -> str:
    return instance.session.access.token


def sent(instance: Instance, array: Voxels, options: TransferOptions = TCP, address: str = "", **metadata: Any) -> Any:
    where = address or address_of(instance)
    return send(where, array, metadata, token=token_of(instance), label=ArrayInfo("scan"), options=options)


def told_of_break(page: Page) -> dict[str, Any]:
    return page.hear_text("error")


def held(monkeypatch: pytest.MonkeyPatch, after: int) -> tuple[threading.Event, threading.Event]:
    """Pieces are kept only so far, until the second event; the first one says when."""
    reached, may_go_on, count, keep = threading.Event(), threading.Event(), iter(range(after)), PieceTarget.keep

    def kept(self: PieceTarget, *numbers: int) -> None:
        if next(count, None) is None:
            reached.set()
            may_go_on.wait(120)
        keep(self, *numbers)

    monkeypatch.setattr(PieceTarget, "keep", kept)
    return reached, may_go_on


def in_background(work: Any, *given: Any) -> tuple[threading.Thread, list[BaseException]]:
    failures: list[BaseException] = []

    def run() -> None:
        try:
            work(*given)
        except BaseException as error:  # noqa: BLE001 - looked at by the test
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, failures


def streaming(instance: Instance, array: Voxels, lane: str = "tcp", name: str = "scan") -> Any:
    where, token = address_of(instance), token_of(instance)
    return stream(where, array.shape, array.dtype, token=token, label=ArrayInfo(name), options=TransferOptions(lane))


def wait_for(name: str, instance: Instance) -> None:
    """Until a volume of that name is shown."""
    catalogue, history = instance.session.catalogue, instance.session.history
    wait_until(lambda: name in {catalogue.name(volume.source) for volume in history.scene.volumes})
