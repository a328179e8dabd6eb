"""Requests to the agent for viewers and tasks.

Here: ViewerRequest and TaskRequest, and the resources that they come to; the options of a viewer's process.
Not here: starting it (supervisor), how it arrives (app), what the site allows (jobs.site).
"""

import os
from dataclasses import dataclass
from pathlib import PurePath
from typing import ClassVar

from pellucid.agent.jobs.estimate import estimate, gpus_per_node, refuse_impossible, spread, volume_bytes
from pellucid.dataclass_json import check_storable
from pellucid.errors import InvalidInput
from pellucid.formats.location import Location
from pellucid.jobs.resources import Resources
from pellucid.jobs.site import Site

COMMANDS = (
    "convert", "pyramid", "render", "mesh", "slices", "reconstruct", "share", "compress", "decompress",
    "denoise", "segment", "apply", "superres", "train",
)  # fmt: skip
"""Commands that may run as a task: none that waits for a user."""
IDLE_TIMEOUT_S = 3600.0


@dataclass(frozen=True)
class Overrides:
    """Of what the site decided, what one user chose otherwise; None where not."""

    scheduler: str | None = None
    partition: str | None = None
    account: str | None = None
    constraint: str | None = None
    time_limit_minutes: int | None = None
    options: tuple[str, ...] | None = None

    def apply_to(self, site: Site) -> Site:
        given = {name: value for name, value in vars(self).items() if value is not None}
        return site.overridden(given)


@dataclass(frozen=True)
class ViewerRequest:
    """gpus: None to have it estimated from shape and dtype; 0 for a viewer on the CPU. memory_bytes, cores: 0 for an
    estimate. source: what is shown at first. scan: whose reconstruction the page opens at first. roots: what the page
    may open; without any, what the agent's own page shows. idle_timeout_s: it ends after so long without use.
    """

    gpus: int | None = None
    shape: tuple[int, int, int] | None = None
    dtype: str = "float32"
    memory_bytes: int = 0
    cores: int = 0
    name: str = ""
    source: str | None = None
    state: str = ""
    device: str | None = None
    roots: tuple[str, ...] = ()
    idle_timeout_s: float = IDLE_TIMEOUT_S
    overrides: Overrides = Overrides()
    scan: str = ""

    def __post_init__(self) -> None:
        check_storable(self, "the request")

    @property
    def title(self) -> str:
        if self.scan and not self.name:
            return f"Reconstruction of {PurePath(self.scan).name}"
        return self.name or (Location.parse(self.source).name if self.source else "viewer")

    @property
    def nbytes(self) -> int:
        return 0 if self.shape is None else volume_bytes(self.shape, self.dtype)

    def folders(self, site: Site) -> tuple[str, ...]:
        """What the page may open."""
        return self.roots or tuple(os.path.expandvars(root) for root in site.roots)

    def resources(self, site: Site) -> Resources:
        estimated = estimate(self.nbytes, site) if self.shape else Resources(gpus=min(1, gpus_per_node(site) or 0))
        wanted = Resources(
            self.memory_bytes or estimated.memory_bytes,
            self.cores,
            estimated.gpus if self.gpus is None else self.gpus,
            site.time_limit_minutes if site.scheduler != "local" else 0,
        )
        wanted = spread(wanted, site)
        refuse_impossible(wanted, site)
        return wanted


@dataclass(frozen=True)
class ViewerJobOptions:
    """The options of a viewer's process. is_remote: whether it may be on another machine than its agent. minutes:
    its time limit; 0 for none. max_bytes: of arrays that it is made for. roots: what the page may open. scan: whose
    reconstruction the page opens at first."""

    source: str | None
    state: str
    device: str | None
    roots: tuple[str, ...]
    idle_timeout_s: float
    overrides: Overrides
    max_bytes: int
    is_remote: bool
    minutes: int
    scan: str = ""

    @classmethod
    def of(cls, request: ViewerRequest, site: Site, minutes: int) -> "ViewerJobOptions":
        return cls(
            request.source, request.state, request.device, request.folders(site), request.idle_timeout_s,
            request.overrides, request.nbytes, site.scheduler != "local", minutes, request.scan,
        )  # fmt: skip


@dataclass(frozen=True)
class TaskRequest:
    """arguments: as for the command line, the command first. folder: where relative paths start. readable: the folders
    whose files it may read; without any, all."""

    arguments: tuple[str, ...]
    folder: str
    gpus: int = 0
    memory_bytes: int = 0
    cores: int = 0
    name: str = ""
    overrides: Overrides = Overrides()
    readable: tuple[str, ...] = ()
    scan: ClassVar[str] = ""

    def __post_init__(self) -> None:
        check_storable(self, "the request")
        if not self.arguments or self.arguments[0] not in COMMANDS:
            request = self.arguments[0] if self.arguments else ""
            raise InvalidInput(f"{request!r} cannot run as a task.", remedy=f"Choose one of: {', '.join(COMMANDS)}.")
        if not self.folder.startswith("/"):
            raise InvalidInput(
                f"{self.folder!r} is not an absolute path.", remedy="Use an absolute path for the folder."
            )

    @property
    def title(self) -> str:
        return self.name or " ".join(_short(word) for word in self.arguments)

    def resources(self, site: Site) -> Resources:
        minutes = site.time_limit_minutes if site.scheduler != "local" else 0
        wanted = Resources(self.memory_bytes, self.cores, self.gpus, minutes)
        refuse_impossible(wanted, site)
        return wanted


def _short(word: str) -> str:
    """A whole path by its last name.

    >>> _short("/data/scan.h5:/entry/data"), _short("--level=1")
    ('scan.h5', '--level=1')
    """
    return PurePath(word.partition(":")[0]).name if word.startswith("/") else word


JobRequest = ViewerRequest | TaskRequest
