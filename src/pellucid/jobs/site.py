"""The site's settings for jobs.

Here: Site and NodeSpec, read from the site file; what a user may choose differently.
Not here: what one user decided (settings), the script made from it (batch_script).

    scheduler = "slurm"                  # or "local", which is also what holds without a file
    partition = "gpu"
    account = "imaging"
    constraint = "a100"
    time_limit_minutes = 480
    max_nodes = 1                        # over how many nodes the GPUs of a viewer may be spread
    options = ["--qos=interactive"]      # further options of sbatch
    may_override = ["partition", "time_limit_minutes"]
    poll_s = 2.0                         # how often the scheduler is asked; one question serves all jobs
    roots = ["~", "/data"]               # whose files the agent's page shows
    share = "s3://imaging/shared"        # where files go that are shared

    [node]                               # what one node has; lets requests be estimated, and refused early
    gpus = 4
    gpu_memory = "80GiB"
    memory = "512GiB"
    cores = 64
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from pellucid.errors import InvalidInput, NotAllowed
from pellucid.settings import parse_size

SCHEDULERS = {
    "local": "pellucid.jobs.local:LocalScheduler",
    "slurm": "pellucid.jobs.slurm:SlurmScheduler",
}
OVERRIDES = ("scheduler", "partition", "account", "constraint", "time_limit_minutes", "options")
SIZES = {"gpu_memory": "gpu_memory_bytes", "memory": "memory_bytes"}


@dataclass(frozen=True)
class NodeSpec:
    """One node; 0 where the file does not state it."""

    gpus: int = 0
    gpu_memory_bytes: int = 0
    memory_bytes: int = 0
    cores: int = 0


@dataclass(frozen=True)
class Site:
    """may_override: of OVERRIDES, what a user may choose differently."""

    scheduler: str = "local"
    partition: str = ""
    account: str = ""
    constraint: str = ""
    time_limit_minutes: int = 480
    options: tuple[str, ...] = ()
    may_override: tuple[str, ...] = OVERRIDES
    poll_s: float = 2.0
    roots: tuple[str, ...] = ("~",)
    share: str = ""
    max_nodes: int = 1
    node: NodeSpec = NodeSpec()

    def overridden(self, requests: Mapping[str, Any]) -> "Site":
        """The site with the choices of one user, for one job.

        >>> Site(may_override=("partition",)).overridden({"partition": "long"}).partition
        'long'
        """
        for name in requests:
            if name not in self.may_override:
                listed = ", ".join(self.may_override) or "nothing"
                raise NotAllowed(f"This site does not allow choosing {name}.", remedy=f"You may choose: {listed}.")
        return replace(self, **{name: _typed(Site, name, value, "the request") for name, value in requests.items()})


def read_site(path: Path) -> Site:
    """The site file; without one, everything runs on this machine."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return Site()
    except OSError as error:
        raise InvalidInput(f"Could not read the site file {path}: {error.strerror}.", remedy=_ASK) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"The site file {path} is not TOML: {error}.", remedy="Correct that line.") from error
    table.pop("hub", None)  # For the Hub: agent.hub.site_config.
    node = table.pop("node", {})
    if not isinstance(node, dict):
        raise InvalidInput(f"In {path}, node is not a table.", remedy="Write [node] on a line of its own.")
    site: Site = _built(Site, table, str(path))
    return replace(site, node=_built(NodeSpec, _sized(node, str(path)), str(path)))


_ASK = "Ask the administrator who installed Pellucid."


def _sized(node: dict[str, Any], where: str) -> dict[str, Any]:
    sized = {}
    for name, value in node.items():
        try:
            sized[SIZES.get(name, name)] = parse_size(value) if name in SIZES else value
        except ValueError as error:
            remedy = 'Use a size such as "80GiB".'
            raise InvalidInput(f"Invalid value {value!r} for {name} in {where}.", remedy=remedy) from error
    return sized


def _built(kind: Any, table: Mapping[str, Any], where: str) -> Any:
    return kind(**{name: _typed(kind, name, value, where) for name, value in table.items()})


def _typed(kind: Any, name: str, value: Any, where: str) -> Any:
    """A value in the type of its field."""
    known = {field.name: field.default for field in fields(kind) if field.name != "node"}
    if name not in known:
        raise InvalidInput(f"Unknown setting {name!r} in {where}.", remedy=f"Valid settings: {', '.join(known)}.")
    wanted = type(known[name])
    if wanted is tuple and isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):
        value = tuple(value)
    if wanted is float and type(value) is int:
        value = float(value)
    if type(value) is not wanted or (isinstance(value, int | float) and value < 0):
        raise InvalidInput(
            f"Invalid value {value!r} for {name} in {where}.", remedy=f"Use a value of type {wanted.__name__}."
        )
    choices = {"scheduler": tuple(SCHEDULERS), "may_override": OVERRIDES}.get(name, ())
    if choices and (unknown := set(value if isinstance(value, tuple) else (value,)) - set(choices)):
        remedy = f"Choose from: {', '.join(choices)}."
        raise InvalidInput(f"Invalid value {', '.join(sorted(unknown))} for {name} in {where}.", remedy=remedy)
    return value
