"""A viewer inside a job.

Here: main, which ``python -m pellucid.agent.jobs.viewer_main FOLDER`` runs on whatever machine the job got.
Not here: starting the job (supervisor), the viewer (instance).

The request is in the job's folder, and the address is written there when the viewer listens.
"""

import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from pellucid.agent.jobs.certificate import make_certificate
from pellucid.agent.jobs.records import ADDRESS, REASON, REQUEST, SAVED, ViewerAddress, ViewerNote
from pellucid.agent.jobs.requests import ViewerJobOptions
from pellucid.agent.jobs.viewer_tasks import ViewerTasks
from pellucid.device.hardware import ALL
from pellucid.errors import InvalidInput, PellucidError
from pellucid.formats.system_errors import system_error
from pellucid.instance.lifecycle.signals import exit_on_signals
from pellucid.instance.worker_relay import PrestartedWorker
from pellucid.jobs.private_files import read_dataclass, write_json
from pellucid.transport.address import Certificate

if TYPE_CHECKING:
    from pellucid.instance.server import Instance

log = logging.getLogger(__name__)
TERMINATED = 128 + signal.SIGTERM
LOOPBACK = "127.0.0.1"
NOTED_EVERY_S = 30.0


def main() -> None:
    logging.basicConfig(format="pellucid: %(message)s", level=logging.WARNING)
    exit_on_signals(TERMINATED)
    folder, began = Path(sys.argv[1]), time.monotonic()
    try:
        request = _request(folder)
        with _device(request) as device:
            instance, certificate = _begun(folder, request, device)
            with closing(instance):
                _serve(instance, certificate, folder, request, began)
    except PellucidError as error:
        log.error("%s %s", error.what, error.remedy)
        sys.exit(2)


def _serve(
    instance: "Instance", certificate: Certificate | None, folder: Path, request: ViewerJobOptions, began: float
) -> None:
    try:
        write_json(folder / ADDRESS, asdict(_address(instance, certificate)))
    except OSError as error:  # No agent would ever find it.
        log.error("%s", system_error(error, str(folder)))
        sys.exit(2)
    try:
        _run(instance, folder, request, began)
    finally:
        (folder / ADDRESS).unlink(missing_ok=True)


def _run(instance: "Instance", folder: Path, request: ViewerJobOptions, began: float) -> None:
    threading.Thread(target=_note_use, args=(instance, folder / ADDRESS), name="pellucid-use", daemon=True).start()
    if request.minutes:
        _watch_time_limit(instance, folder, began + request.minutes * 60)
    instance.run()
    if instance.session.idle.is_expired:
        ViewerNote(f"It was idle for {_span(request.idle_timeout_s)}.").write(folder / REASON)


def _span(seconds: float) -> str:
    """
    >>> _span(3600.0), _span(30.0)
    ('60 min', '30 s')
    """
    return f"{seconds / 60:.0f} min" if seconds >= 60 else f"{seconds:.0f} s"


def _request(folder: Path) -> ViewerJobOptions:
    request = read_dataclass(ViewerJobOptions, folder / REQUEST)
    if request is None:
        raise InvalidInput(f"{folder} contains no viewer request.", remedy="Start viewers with pellucid.start().")
    return request


@contextmanager
def _device(request: ViewerJobOptions) -> Iterator[str | None]:
    """What draws: on several nodes Device Workers, which a step of the job starts there."""
    if int(os.environ.get("SLURM_JOB_NUM_NODES") or 1) == 1:
        yield request.device or devices_of(os.environ)
        return
    from pellucid.cluster.viewer.worker_source import viewer_workers

    with viewer_workers("srun") as workers:
        yield workers.device


def _begun(folder: Path, request: ViewerJobOptions, device: str | None) -> "tuple[Instance, Certificate | None]":
    with PrestartedWorker.started(device) as ahead:
        # The Worker takes as long to begin as this takes to import.
        from pellucid.instance.server import Instance
        from pellucid.instance.session import SessionOptions

        # Only where the agent may be on another machine does anyone have to be let in from there.
        certificate = make_certificate(folder) if request.is_remote else None
        setup = SessionOptions(
            device, request.roots, request.idle_timeout_s, max_bytes=request.max_bytes, ahead=ahead, scan=request.scan,
            runner=ViewerTasks(folder, is_here=not request.is_remote, overrides=request.overrides),
        )  # fmt: skip
        return Instance(request.source, setup, 0, request.state, certificate), certificate


def _note_use(instance: "Instance", address: Path) -> None:
    """The time of the address is kept at that of the last use: an agent on any machine knows it then."""
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


def _watch_time_limit(instance: "Instance", folder: Path, ends_at: float) -> None:
    from pellucid.agent.jobs.time_limit import TimeLimitWarning

    def saved(name: str) -> None:
        ViewerNote(name).write(folder / SAVED)

    time_limit = TimeLimitWarning(instance.session, ends_at - time.monotonic(), saved)
    threading.Thread(target=time_limit.watch, name="pellucid-wall", daemon=True).start()


def _address(instance: "Instance", certificate: Certificate | None) -> ViewerAddress:
    token = instance.session.access.token
    if certificate is None:
        return ViewerAddress(LOOPBACK, instance.port, token, socket=str(instance.unix_socket))
    return ViewerAddress(socket.gethostname(), instance.port, token, certificate.certificate.read_text())


if __name__ == "__main__":
    main()
