"""Viewers that the agent starts, before and after they are ready.

Here: JobOptions, PendingViewer, JobViewer, AgentViewer, and asking the agent for one.
Not here: viewers of this program's own (launch), talking to the agent (agent_client).
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict

from pellucid.client.agent_client import AgentClient
from pellucid.client.viewer import Viewer
from pellucid.dataclass_json import from_json
from pellucid.errors import InvalidInput, JobEnded, PellucidError
from pellucid.instance.lifecycle.viewer_records import ViewerRecord
from pellucid.jobs.job_state import JobState
from pellucid.jobs.resources import Resources
from pellucid.jobs.site import OVERRIDES, read_site
from pellucid.settings import current, parse_size

ASK_AGAIN_S = 30.0
SHOWN_LINES = 5
READY = JobState("running")


class JobOptions(TypedDict, total=False):
    """Resources of a viewer, and where it runs.

    gpus: "auto" estimates them from shape (z, y, x) and dtype; 0 for none. memory: such as "64GiB". source: the file to
    show first; state: a saved state to show instead, by its name. From scheduler on, these are the settings of the site
    that users may override.
    """

    gpus: int | Literal["auto"]
    shape: tuple[int, int, int]
    dtype: str
    memory: str | int
    cores: int
    name: str
    source: str
    state: str
    scheduler: Literal["local", "slurm"]
    partition: str
    account: str
    constraint: str
    time_limit_minutes: int
    options: tuple[str, ...]


class PendingViewer:
    """A viewer that was requested. ``wait`` returns it as soon as it can be used."""

    def __init__(self, agent: AgentClient, reply: dict[str, Any]) -> None:
        self._agent, self._reply = agent, reply
        self.id: str = reply["id"]
        self.name: str = reply["name"]

    @property
    def state(self) -> JobState:
        """The current state; while it is queued, with place, reason and expected_start."""
        self._reply = self._agent.job(self.id)
        return _state(self._reply)

    @property
    def expected_start(self) -> float | None:
        """Seconds since 1970; None while the scheduler does not know."""
        return self.state.expected_start

    @property
    def resources(self) -> Resources:
        """The requested resources; estimated if they were not given."""
        resources: Resources = from_json(Resources, self._reply["resources"], "resources")
        return resources

    @property
    def log(self) -> str:
        return self._agent.log(self.id)

    def wait(self, timeout_s: float | None = None) -> "JobViewer":
        """Wait until it can be used. Raises JobEnded if it has ended, and TimeoutError after the timeout."""
        deadline = float("inf") if timeout_s is None else time.monotonic() + timeout_s
        while not self._is_ready():
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise TimeoutError(f"The viewer is {_state(self._reply).phase} after {timeout_s} s.")
            self._reply = self._agent.job(self.id, _state(self._reply).phase, min(left_s, ASK_AGAIN_S))
        return JobViewer(self, self._agent.link(self.id))

    def _is_ready(self) -> bool:
        state = _state(self._reply)
        if state.is_over or state.phase == "ending":
            raise JobEnded(self.name, state.reason or "It is stopping.", state.log[-SHOWN_LINES:])
        # Where the scheduler cannot be asked, a viewer that was there may well be.
        return bool(self._reply["path"]) and "running" in (state.phase, state.last)

    def shutdown(self) -> None:
        """Stop it, in any state."""
        self._agent.cancel(self.id)

    def wait_until_ended(self, timeout_s: float | None = None) -> None:
        """Until it has ended; after the timeout it is made to."""
        deadline = float("inf") if timeout_s is None else time.monotonic() + timeout_s
        state = self.state
        while not state.is_over:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                self.shutdown()
                deadline = float("inf")
            reply = self._agent.job(self.id, state.phase, min(max(left_s, 0.0), ASK_AGAIN_S))
            state = _state(reply)

    def __repr__(self) -> str:
        return f"Pending({self.name!r}, {_state(self._reply).phase})"


class JobViewer(Viewer):
    """A viewer that the agent keeps. job: its life there, with its log."""

    def __init__(self, job: PendingViewer, url: str) -> None:
        self.job = job
        super().__init__(url, job.wait_until_ended)

    @property
    def state(self) -> JobState:
        return self.job.state


@dataclass(frozen=True)
class AgentViewer(ViewerRecord):
    """A viewer that the agent keeps, wherever it runs. address: "" while it has none. id: by which the agent knows it.
    port: on this machine, else 0."""

    id: str = ""
    state: JobState = READY
    port: int = 0

    @property
    def url(self) -> str:
        """A link that opens it in a browser, as the owner; "" while it cannot be opened. Each access creates a new
        one."""
        return AgentClient.find_or_start().link(self.id) if self.address else ""

    @property
    def is_alive(self) -> bool:
        return not self.state.is_over

    @property
    def pending(self) -> PendingViewer:
        """To wait for it, or to end it."""
        agent = AgentClient.find_or_start()
        return PendingViewer(agent, agent.job(self.id))


def request_viewer(
    job: JobOptions, *, device: str | None, roots: Iterable[str | Path], idle_timeout_minutes: float
) -> PendingViewer:
    """Ask the agent for a viewer."""
    overrides = {name: value for name, value in job.items() if name in OVERRIDES}
    request: dict[str, Any] = {name: value for name, value in job.items() if name not in (*OVERRIDES, "memory", "gpus")}
    if job.get("gpus", "auto") != "auto":
        request["gpus"] = job["gpus"]
    if "memory" in job:
        request["memory_bytes"] = parse_size(job["memory"])
    folders = [str(Path(root).expanduser().absolute()) for root in (Path.cwd(), *roots)]
    if "source" in request and not {"shape", "gpus"} & request.keys():
        request |= _measured(str(request["source"]))
    request |= {"device": device, "roots": folders, "idle_timeout_s": idle_timeout_minutes * 60, "overrides": overrides}
    agent = AgentClient.find_or_start()
    return PendingViewer(agent, agent.start(request))


def _measured(source: str) -> dict[str, Any]:
    """Shape and type of a volume, where the site has described its nodes: its GPUs can be estimated from them."""
    from pellucid.formats.location import Location
    from pellucid.volume.series import open_series

    if not read_site(current().site_file).node.gpu_memory_bytes:
        return {}
    try:
        with open_series(Location.parse(source)) as series:
            header = series.header
    except PellucidError:  # No volume, or none that can be read from here: the viewer will say so.
        return {}
    return {"shape": header.levels[0].shape, "dtype": header.dtype.name}


def agent_viewers() -> list[AgentViewer]:
    """The viewers that the agent keeps and that are not over; none where no agent runs."""
    try:
        agent = AgentClient.find()
    except InvalidInput:  # It is on another machine, and keeps them all the same.
        return []
    reply = [] if agent is None else [one for one in agent.jobs() if one["kind"] == "viewer"]
    return [one for one in (_kept(agent, one) for one in reply if agent is not None) if one.is_alive]


def _kept(agent: AgentClient, reply: dict[str, Any]) -> AgentViewer:
    address = agent.address + reply["path"] if reply["path"] else ""
    state = _state(reply)
    return AgentViewer(address, 0, state.node, reply["created_at"], -1, id=reply["id"], state=state, port=reply["port"])


def _state(reply: dict[str, Any]) -> JobState:
    state: JobState = from_json(JobState, reply["state"], "state")
    return state
