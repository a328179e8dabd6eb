"""Starting, finding and connecting to viewers.

Here: start, connect, instances.
Not here: what to do with a viewer (viewer), its process (instance.process), viewers started by the agent (job_viewers).
"""

import os
import socket
import subprocess
import sys
from collections.abc import Iterable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload
from urllib.parse import urlsplit

from pellucid.client.connection import error_from_body
from pellucid.client.login import logged_in
from pellucid.errors import WorkerLost
from pellucid.jobs.site import read_site
from pellucid.python_processes import module_command
from pellucid.settings import current
from pellucid.workers.channel import MessageChannel

if TYPE_CHECKING:
    from pellucid.client.job_viewers import JobOptions, PendingViewer
    from pellucid.client.viewer import Viewer
    from pellucid.instance.lifecycle.viewer_records import ViewerRecord

TIMEOUT_S, EXIT_TIMEOUT_S = 180.0, 10.0


@overload
def start(
    *,
    device: str | None = ...,
    roots: Iterable[str | Path] = ...,
    port: int = ...,
    idle_timeout_minutes: float = ...,
    keep: bool = ...,
    wait: Literal[True] = ...,
    **job: "Unpack[JobOptions]",
) -> "Viewer": ...
@overload
def start(
    *,
    device: str | None = ...,
    roots: Iterable[str | Path] = ...,
    port: int = ...,
    idle_timeout_minutes: float = ...,
    keep: bool = ...,
    wait: Literal[False],
    **job: "Unpack[JobOptions]",
) -> "PendingViewer": ...
def start(
    *,
    device: str | None = None,
    roots: Iterable[str | Path] = (),
    port: int = 0,
    idle_timeout_minutes: float = 60.0,
    keep: bool = False,
    wait: bool = True,
    **job: "Unpack[JobOptions]",
) -> "Viewer | PendingViewer":
    """Start a viewer and return when it is ready: on this machine, or on a node if the site uses Slurm.

    It is a separate process. It stops with this program, or after ``idle_timeout_minutes`` without use; with keep=True
    it outlives the program. roots: folders that the page may open, besides the current folder and those of files that
    ``load`` opens. device: cpu, cuda, cuda:1, or several that share a volume: cuda:0,cuda:1 or all (default: the first
    GPU, or the CPU).

    With job options (gpus="auto", shape (z, y, x), dtype, memory, cores, partition, ...) the agent submits a job; such
    a viewer outlives this program. With wait=False the result is a PendingViewer, which has the expected start.
    """
    if job or not wait or _is_elsewhere():
        from pellucid.client.job_viewers import request_viewer

        pending = request_viewer(job, device=device, roots=roots, idle_timeout_minutes=idle_timeout_minutes)
        return pending.wait() if wait else pending
    ours, theirs = socket.socketpair()
    process = _launched(theirs)
    # What this end needs is imported while the other end starts.
    from pellucid.client.viewer import Viewer
    from pellucid.instance.process import ViewerOptions

    folders = (Path.cwd(), *(Path(root).expanduser().absolute() for root in roots))
    options = ViewerOptions(
        device, port, tuple(map(str, folders)), idle_timeout_minutes * 60, 0 if keep else os.getpid()
    )
    return Viewer(_ready(ours, process, options), _ending(process))


def connect(url: str) -> "Viewer":
    """Connect to a running viewer by a link: one that works once (``viewer.url``), or a share link. Of your own
    viewers, the address of the page is enough."""
    from pellucid.client.viewer import Viewer

    return Viewer(url if "#" in url else _own_link(url))


def _own_link(address: str) -> str:
    """A link to the user's own viewer at this address; where there is none, the address itself."""
    found = (one for one in instances() if one.address.rstrip("/") == address.rstrip("/"))
    return next((one.url for one in found), address)


def instances() -> "list[ViewerRecord]":
    """Your viewers on this machine, and those of your agent, the oldest first.

    ``connect(found.url)`` connects to one; those of the agent (AgentViewer) also have an id and a state.
    """
    from pellucid.client.job_viewers import agent_viewers
    from pellucid.instance.lifecycle.viewer_records import running_viewers

    through_agent = agent_viewers()
    ports = {one.port for one in through_agent}
    here = [one for one in running_viewers() if urlsplit(one.address).port not in ports]
    return sorted([*here, *through_agent], key=lambda record: record.started_at)


def _is_elsewhere() -> bool:
    """Whether the site, or the user, wants viewers to run somewhere else than here."""
    return logged_in() is not None or read_site(current().site_file).scheduler != "local"


def _launched(line: socket.socket) -> "subprocess.Popen[bytes]":
    with line:
        descriptor = line.fileno()
        # A session of its own: Ctrl-C is for this program, which then ends the viewer in order.
        return subprocess.Popen(
            module_command("pellucid.instance.process", str(descriptor)),
            pass_fds=[descriptor], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )  # fmt: skip


def _ready(connection: socket.socket, process: "subprocess.Popen[bytes]", options: Any) -> str:
    """The viewer's address, waited for; where there can be none, the reason is raised."""
    with closing(MessageChannel(connection)) as line:
        try:
            line.send(asdict(options))
            reply, _ = line.receive(TIMEOUT_S)
        except TimeoutError as error:
            process.kill()
            process.wait()
            raise WorkerLost("starting the viewer", f"it did not respond for {TIMEOUT_S:.0f} s") from error
        except (EOFError, OSError) as error:
            raise WorkerLost("starting the viewer", _exit_text(process)) from error
        except BaseException:  # Ctrl-C: nothing may be left behind.
            process.kill()
            process.wait()
            raise
    if "url" not in reply:
        process.wait()
        raise error_from_body(reply)
    return str(reply["url"])


def _exit_text(process: "subprocess.Popen[bytes]") -> str:
    """Why a process that closed its connection ended. It is killed only if it does not end by itself: a process that
    is about to end of an error would otherwise look like one that the system killed."""
    from pellucid.workers.process import exit_reason

    try:
        code = process.wait(EXIT_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return "it closed its connection"
    return exit_reason(code).why


def _ending(process: "subprocess.Popen[bytes]") -> Any:
    def end(timeout_s: float | None) -> None:
        """Until it has ended; after the timeout it is made to."""
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    return end
