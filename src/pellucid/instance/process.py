"""A viewer in a separate process, for the program that started it.

Here: ViewerOptions, and main, which ``python -m pellucid.instance.process DESCRIPTOR`` runs.
Not here: starting it (client), the viewer (server).

The MessageChannel behind the descriptor carries the ViewerOptions; the reply is {"url": ...}, or
{"kind", "what", "remedy"} where no viewer can start. Nothing secret is in the arguments or the environment.
"""

import logging
import os
import socket
import sys
import threading
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pellucid.dataclass_json import from_json
from pellucid.errors import InvalidInput, MissingPackage, PellucidError
from pellucid.instance.lifecycle.signals import exit_on_signals
from pellucid.workers.channel import MessageChannel

if TYPE_CHECKING:
    from pellucid.instance.server import Instance

TIMEOUT_S = 60.0
WATCH_S = 0.5
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ViewerOptions:
    """How a program starts its viewer. parent: the process with which it ends; 0 where it stays."""

    device: str | None = None
    port: int = 0
    roots: tuple[str, ...] = ()
    idle_timeout_s: float = 3600.0
    parent: int = 0


def main() -> None:
    logging.basicConfig(format="pellucid: %(message)s", level=logging.WARNING)
    exit_on_signals()
    line = MessageChannel(socket.socket(fileno=int(sys.argv[1])))
    message, _ = line.receive(TIMEOUT_S)
    try:
        options: ViewerOptions = from_json(ViewerOptions, message, "options")
        instance = _begun(options)
    except PellucidError as error:
        line.send(error_body(error))
        sys.exit(2)
    except Exception as error:  # The program that started this cannot see its output in every case.
        log.exception("the viewer could not start")
        line.send(error_body(_unexpected(error)))
        sys.exit(1)
    with closing(instance):
        if options.parent:
            threading.Thread(target=_end_with, args=(options.parent, instance), daemon=True).start()
        line.send({"url": instance.url})
        line.close()
        instance.run()


def _unexpected(error: Exception) -> PellucidError:
    if isinstance(error, ModuleNotFoundError) and error.name:
        return MissingPackage(error.name)
    what = f"The viewer could not start: {type(error).__name__}: {error}".rstrip(".")
    return PellucidError(f"{what}.", remedy="Check the installation with: pip check.")


def error_body(error: PellucidError) -> dict[str, Any]:
    """An error as JSON."""
    return {
        "kind": type(error).__name__,
        "what": error.what,
        "remedy": error.remedy,
        "line": int(getattr(error, "line", 0)),
    }


def _begun(options: ViewerOptions) -> "Instance":
    from pellucid.instance.worker_relay import PrestartedWorker

    with PrestartedWorker.started(options.device) as ahead:
        # The Worker takes as long to begin as this takes to import.
        from pellucid.instance.server import Instance
        from pellucid.instance.session import SessionOptions

        setup = SessionOptions(options.device, options.roots, options.idle_timeout_s, ahead=ahead)
        instance = Instance(None, setup, options.port)
        if not options.parent and not instance.is_listed:
            instance.close()
            remedy = "Free space in the state folder, or set PELLUCID_STATE_FOLDER to a folder with write permission."
            raise InvalidInput("The record of this viewer could not be saved, and keep=True needs one.", remedy=remedy)
        return instance


def _end_with(parent: int, instance: "Instance") -> None:
    """End when the program that started this does, however it does: its number is this one's parent until then."""
    over = threading.Event()
    while os.getppid() == parent:
        over.wait(WATCH_S)
    instance.stop()


if __name__ == "__main__":
    main()
