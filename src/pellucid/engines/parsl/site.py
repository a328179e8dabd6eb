"""Where Parsl finds workers: sites, by name or from a file.

Here: ParslSite and WorkerKind, find_site, and reading a site from TOML.
Not here: what Parsl is given (configuration), sites as Python programs (python_site).

    provider = "slurm"                  # a provider of Parsl; "local" is this machine
    folder = "/scratch/me/pellucid"     # that workers and this program share: logs, keys, windows on their way
    setup = "module load cuda"          # shell commands before a worker starts

    [workers.cpu]                       # for blocks that need no GPU
    per_node = 8
    nodes = 2
    cores = 4                           # of one worker, like memory
    memory = "16GiB"
    [workers.cpu.provider]              # as Parsl calls them
    partition = "cpu"
    walltime = "02:00:00"

    [workers.gpu]
    gpus = 4                            # a worker for each; or their names
    memory = "60GiB"
    [workers.gpu.provider]
    partition = "gpu"
    scheduler_options = "#SBATCH --gres=gpu:4"
"""

import importlib
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from pellucid.errors import InvalidInput
from pellucid.jobs.allocation import SlurmAllocation
from pellucid.jobs.resources import Resources
from pellucid.settings import config_file, current, parse_size

LOCAL, SRUN = "local", "srun"
SUFFIXES = (".toml", ".py")
BYTES = "memory_bytes"


@dataclass(frozen=True)
class WorkerKind:
    """Workers that are alike. gpus: names of the GPUs of a node; a worker for each. options: of Parsl's provider.

    memory_bytes, cores: of one worker; 0: what the site does not say.
    """

    name: str
    per_node: int = 1
    nodes: int = 1
    cores: int = 1
    memory_bytes: int = 0
    gpus: tuple[str, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def count(self) -> int:
        return self.workers_per_node * self.nodes

    @property
    def workers_per_node(self) -> int:
        return min(self.per_node, len(self.gpus)) if self.gpus else self.per_node

    @property
    def resources(self) -> Resources:
        """Of one worker."""
        return Resources(self.memory_bytes, self.cores, 1 if self.gpus else 0)

    def fits(self, needs: Resources) -> bool:
        own = self.resources
        has_memory = not own.memory_bytes or needs.memory_bytes <= own.memory_bytes
        return has_memory and needs.cores <= own.cores and needs.gpus <= own.gpus


@dataclass(frozen=True)
class ParslSite:
    """kinds: of workers. provider: as Parsl calls it. folder: shared with the workers. config: a file in Python that
    makes Parsl's configuration itself. is_automatic: its workers follow from each engine's options."""

    name: str
    provider: str = LOCAL
    kinds: tuple[WorkerKind, ...] = ()
    folder: Path = field(default_factory=lambda: current().state_folder / "parsl")
    setup: str = ""
    config: Path | None = None
    is_automatic: bool = False

    @property
    def is_here(self) -> bool:
        return self.provider == LOCAL

    def kind_for(self, needs: Resources) -> WorkerKind | None:
        """Workers without a GPU for what needs none, where there are such workers."""
        fitting = [kind for kind in self.kinds if kind.fits(needs)]
        return min(fitting, key=lambda kind: len(kind.gpus), default=None)


def local_site(workers: int, memory_bytes: int, gpus: tuple[str, ...] = ()) -> ParslSite:
    """This machine. gpus: names of devices, such as cuda:1."""
    share = memory_bytes // max(1, workers)
    kinds = [WorkerKind("cpu", workers, cores=max(1, (os.cpu_count() or 1) // workers), memory_bytes=share)]
    if gpus:
        names = tuple(name.rpartition(":")[2] for name in gpus)
        kinds.append(WorkerKind("gpu", len(gpus), cores=kinds[0].cores, memory_bytes=share, gpus=names))
    return ParslSite(LOCAL, kinds=tuple(kinds), is_automatic=True)


def allocation_site(allocation: SlurmAllocation) -> ParslSite:
    """The nodes of a Slurm job: a worker for each core, and one for each GPU."""
    gpus = tuple(str(number) for number in range(allocation.gpus))
    cpu = WorkerKind(
        "cpu", allocation.cores, allocation.nodes, memory_bytes=allocation.memory_bytes // allocation.cores
    )
    kinds = [cpu]
    if gpus:
        cores, memory = max(1, allocation.cores // len(gpus)), allocation.memory_bytes // len(gpus)
        kinds.append(WorkerKind("gpu", len(gpus), allocation.nodes, cores, memory, gpus))
    return ParslSite(SRUN, SRUN, tuple(kinds))


def with_memory(site: ParslSite, share_bytes: int) -> ParslSite:
    """The site; workers of which it does not say how much memory they have are given this share."""
    return replace(site, kinds=tuple(replace(one, memory_bytes=one.memory_bytes or share_bytes) for one in site.kinds))


def find_site(name: str) -> ParslSite:
    """A site by the path of its file, or by its name in a folder of sites; "srun": the nodes of this Slurm job."""
    if name == SRUN:
        return allocation_site(SlurmAllocation.current())
    path = Path(name).expanduser()
    if path.suffix in SUFFIXES or "/" in name:
        if not path.is_file():
            raise InvalidInput(f"{name} does not exist.", remedy="Use the path of a site's file (.toml or .py).")
        return read_site(path.absolute())
    found = _named_sites()
    if name not in found:
        known = ", ".join([LOCAL, *sorted(found)])
        folders = " or ".join(str(folder) for folder in _folders())
        raise InvalidInput(
            f"Unknown site {name!r}.", remedy=f"Choose one of {known}, the path of a file, or put a file in {folders}."
        )
    return read_site(found[name])


def read_site(path: Path) -> ParslSite:
    if path.suffix == ".py":
        module = importlib.import_module("pellucid.engines.parsl.python_site")  # It needs Parsl, and this module.
        found: ParslSite = module.site_of_program(path)
        return found
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInput(f"Could not read the site {path}: {error}.", remedy="Correct that file.") from error
    return site_from_table(path.stem, table, str(path))


def site_from_table(name: str, table: Mapping[str, Any], where: str) -> ParslSite:
    known = {"provider", "folder", "setup", "workers"}
    _refuse_unknown(set(table) - known, known, where)
    kinds = table.get("workers", {})
    if not isinstance(kinds, dict) or not kinds or not all(isinstance(one, dict) for one in kinds.values()):
        raise InvalidInput(f"{where} has no workers.", remedy="Write a table such as [workers.cpu].")
    site = ParslSite(name, str(table.get("provider", LOCAL)), setup=str(table.get("setup", "")))
    if "folder" in table:
        site = replace(site, folder=Path(os.path.expandvars(str(table["folder"]))).expanduser())
    return replace(site, kinds=tuple(_kind(key, one, f"[workers.{key}] in {where}") for key, one in kinds.items()))


def _kind(name: str, table: dict[str, Any], where: str) -> WorkerKind:
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,30}", name):
        raise InvalidInput(f"Invalid name {name!r} in {where}.", remedy="Use lower-case letters, digits and _.")
    numbers = {one.name for one in fields(WorkerKind) if one.type in ("int", int)} - {BYTES}
    known = numbers | {"memory", "gpus", "provider"}
    _refuse_unknown(set(table) - known, known, where)
    chosen: dict[str, Any] = {}
    for key in numbers & set(table):
        if type(table[key]) is not int or table[key] < 1:
            raise InvalidInput(
                f"Invalid value {table[key]!r} for {key} in {where}.", remedy="Use a whole number from 1."
            )
        chosen[key] = table[key]
    gpus = _gpu_names(table.get("gpus", 0), where)
    chosen.setdefault("per_node", max(1, len(gpus)))
    options = tuple(sorted(table.get("provider", {}).items()))
    return WorkerKind(name, memory_bytes=_size(table, where), gpus=gpus, options=options, **chosen)


def _gpu_names(value: Any, where: str) -> tuple[str, ...]:
    if type(value) is int and 0 <= value <= 1024:
        return tuple(str(number) for number in range(value))
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return tuple(value)
    raise InvalidInput(f"Invalid value {value!r} for gpus in {where}.", remedy='Use a number, or names: ["0", "2"].')


def _size(table: Mapping[str, Any], where: str) -> int:
    try:
        return parse_size(table.get("memory", 0))
    except ValueError as error:
        raise InvalidInput(
            f"Invalid value {table['memory']!r} for memory in {where}.", remedy='Use a size such as "16GiB".'
        ) from error


def _refuse_unknown(unknown: set[str], known: set[str], where: str) -> None:
    if unknown:
        raise InvalidInput(
            f"Unknown setting {min(unknown)!r} in {where}.", remedy=f"Valid settings: {', '.join(sorted(known))}."
        )


def _folders() -> tuple[Path, ...]:
    """The user's sites, then those of the administrator."""
    return config_file().parent / "parsl", current().site_file.parent / "parsl"


def _named_sites() -> dict[str, Path]:
    found: dict[str, Path] = {}
    for folder in reversed(_folders()):
        for suffix in SUFFIXES:
            found.update({path.stem: path for path in sorted(folder.glob(f"*{suffix}"))})
    return found
