"""A viewer inside a job.

Here: main, which ``python -m pellucid.agent.launched FOLDER`` runs on whatever machine the job got.
Not here: starting the job (keeper), the viewer (instance).

The wish is in the folder, and the address goes there when the viewer listens: nobody has to be there to take it.
"""

import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pellucid.agent.certificate import make_certificate
from pellucid.agent.records import ADDRESS, REASON, SAVED, WISH, Address
from pellucid.device.hardware import ALL
from pellucid.errors import InvalidInput, PellucidError
from pellucid.formats.system_errors import system_error
from pellucid.instance.ending import end_in_order
from pellucid.instance.relay import Ahead
from pellucid.jobs.job import read_json, write_json
from pellucid.transport.address import Certificate

if TYPE_CHECKING:
    from pellucid.instance.server import Instance

log = logging.getLogger(__name__)
TERMINATED = 128 + signal.SIGTERM
LOOPBACK = "127.0.0.1"
NOTED_EVERY_S = 30.0


def main() -> None:
    logging.basicConfig(format="pellucid: %(message)s", level=logging.WARNING)
    end_in_order(TERMINATED)
    folder, began = Path(sys.argv[1]), time.monotonic()
    try:
        wish = _wish(folder)
        instance, certificate = _begun(folder, wish)
    except PellucidError as error:
        log.error("%s %s", error.what, error.do)
        sys.exit(2)
    with closing(instance):
        try:
            write_json(folder / ADDRESS, asdict(_address(instance, certificate)))
        except OSError as error:  # No agent would ever find it.
            log.error("%s", system_error(error, str(folder)))
            sys.exit(2)
        try:
            _run(instance, folder, wish, began)
        finally:
            (folder / ADDRESS).unlink(missing_ok=True)


def _run(instance: "Instance", folder: Path, wish: dict[str, Any], began: float) -> None:
    threading.Thread(target=_note_use, args=(instance, folder / ADDRESS), name="pellucid-use", daemon=True).start()
    if wish["minutes"]:
        _watch_the_wall(instance, folder, began + wish["minutes"] * 60)
    instance.run()
    if instance.session.idle.is_over:
        write_json(folder / REASON, {"word": f"Nobody used it for {_span(wish['grace_s'])}."})


def _span(seconds: float) -> str:
    """
    >>> _span(3600.0), _span(30.0)
    ('60 min', '30 s')
    """
    return f"{seconds / 60:.0f} min" if seconds >= 60 else f"{seconds:.0f} s"


def _wish(folder: Path) -> dict[str, Any]:
    wish = read_json(folder / WISH)
    if wish is None:
        raise InvalidInput(f"There is no wish in {folder}.", do="Start the viewer through pellucid.start().")
    return wish


def _begun(folder: Path, wish: dict[str, Any]) -> "tuple[Instance, Certificate | None]":
    device = wish["device"] or devices_of(os.environ)
    with Ahead.started(device) as ahead:
        # The Worker takes as long to begin as this takes to import.
        from pellucid.instance.server import Instance
        from pellucid.instance.session import Setup

        # Only where the agent may be on another machine does anybody have to be let in from there.
        certificate = make_certificate(folder) if wish["is_remote"] else None
        setup = Setup(device, tuple(wish["roots"]), wish["grace_s"], most_bytes=wish["most_bytes"], ahead=ahead)
        return Instance(wish["source"], setup, 0, wish["state"], certificate), certificate


def _note_use(instance: "Instance", address: Path) -> None:
    """The time of the address is kept at that of the last use: an agent knows it then, wherever it is."""
    never = threading.Event()
    while not never.wait(NOTED_EVERY_S):
        used_at = time.time() - instance.session.idle.unused_s
        with suppress(FileNotFoundError):
            os.utime(address, (used_at, used_at))


def devices_of(environment: Mapping[str, str]) -> str | None:
    """All that a job was given, where that is more than one: so many were asked for because one has no room.

    >>> devices_of({"CUDA_VISIBLE_DEVICES": "2,3"}), devices_of({"CUDA_VISIBLE_DEVICES": "0"}), devices_of({})
    ('all', None, None)
    """
    return ALL if "," in environment.get("CUDA_VISIBLE_DEVICES", "") else None


def _watch_the_wall(instance: "Instance", folder: Path, ends_at: float) -> None:
    from pellucid.agent.wall import Wall

    def saved(name: str) -> None:
        write_json(folder / SAVED, {"word": name})

    wall = Wall(instance.session, ends_at - time.monotonic(), saved)
    threading.Thread(target=wall.watch, name="pellucid-wall", daemon=True).start()


def _address(instance: "Instance", certificate: Certificate | None) -> Address:
    token = instance.session.access.token
    if certificate is None:
        return Address(LOOPBACK, instance.port, token, socket=str(instance.unix_socket))
    return Address(socket.gethostname(), instance.port, token, certificate.certificate.read_text())


if __name__ == "__main__":
    main()
