"""What Parsl is given for a site: an executor for each kind of workers, with the provider that starts them.

Here: make_executor; check_kind, which finds what a provider would refuse, without a cluster.
Not here: sites (site), starting Parsl (session).
"""

import importlib
import inspect
import shlex
import sys
from collections.abc import Callable
from functools import cache
from math import ceil
from pathlib import Path
from typing import Any

from pellucid.engines.parsl.site import SRUN, ParslSite, WorkerKind
from pellucid.errors import InvalidInput, MissingPackage
from pellucid.jobs.allocation import step_words
from pellucid.python_processes import module_command

PROVIDERS = {
    "local": "LocalProvider",
    "srun": "LocalProvider",
    "slurm": "SlurmProvider",
    "pbspro": "PBSProProvider",
    "torque": "TorqueProvider",
    "lsf": "LSFProvider",
    "condor": "CondorProvider",
    "gridengine": "GridEngineProvider",
    "kubernetes": "KubernetesProvider",
    "aws": "AWSProvider",
    "googlecloud": "GoogleCloudProvider",
    "azure": "AzureProvider",
}
ELSEWHERE = frozenset({"kubernetes", "aws", "googlecloud", "azure"})
"""Providers whose workers have another file system and another Python than this program."""
SCHEDULERS = frozenset({"slurm", "pbspro", "torque", "lsf", "condor", "gridengine"})
SCHEDULER_POLL_S = 5
HEARTBEAT_S, HEARTBEAT_THRESHOLD_S = 2, 60
"""A lost worker is noticed within the first; a lost node within the second."""
POOL = "parsl.executors.high_throughput.process_worker_pool"
FIRST_WORD = "process_worker_pool.py "


def make_executor(site: ParslSite, kind: WorkerKind, label: str) -> Any:
    """A HighThroughputExecutor for one kind of workers."""
    from parsl.executors import HighThroughputExecutor

    check_kind(site, kind)
    executor = HighThroughputExecutor(
        label=label,
        provider=_provider_class(site)(**_options(site, kind)),
        address="127.0.0.1" if site.is_here else None,
        # How many workers there are is decided here, not by the cores that Parsl counts.
        cores_per_worker=1e-3,
        max_workers_per_node=kind.workers_per_node,
        available_accelerators=list(kind.gpus),
        heartbeat_period=HEARTBEAT_S,
        heartbeat_threshold=HEARTBEAT_THRESHOLD_S,
        encrypted=True,  # What arrives is unpickled: only programs that have the key may send anything.
    )
    launch_by_module(executor, "python3" if site.provider in ELSEWHERE else sys.executable)
    return executor


def launch_by_module(executor: Any, python: str = sys.executable) -> None:
    """Start Parsl's processes by their modules instead of by scripts, which the PATH may lack; and the one between
    program and workers in a group of its own, so that Ctrl-C stops the work and not the way to the workers."""
    own = f"{shlex.quote(python)} -P -m {POOL} "
    executor.launch_cmd = executor.launch_cmd.replace(FIRST_WORD, own) if executor.launch_cmd else None
    if executor.interchange_launch_cmd == ["interchange.py"]:
        executor.interchange_launch_cmd = module_command("pellucid.engines.parsl.interchange_main")


def check_kind(site: ParslSite, kind: WorkerKind) -> None:
    """Refuse what a provider would refuse; nothing is started, and no cluster needs to be there."""
    known = inspect.signature(_provider_class(site)).parameters
    chosen = _options(site, kind)
    where = f"[workers.{kind.name}.provider] of site {site.name}"
    if unknown := sorted(set(chosen) - set(known)):
        raise InvalidInput(
            f"{PROVIDERS[site.provider]} has no option {unknown[0]!r}, in {where}.",
            remedy=f"Valid options: {', '.join(known)}.",
        )
    needed = [name for name, one in known.items() if one.default is inspect.Parameter.empty and name not in chosen]
    if needed:
        raise InvalidInput(
            f"{PROVIDERS[site.provider]} needs the option {needed[0]!r}, in {where}.",
            remedy=f"Add it: {needed[0]} = ...",
        )
    for name, value in chosen.items():
        _check_type(name, value, known[name].annotation, where)
    if (check := CHECKS.get(site.provider)) is not None:
        check(site, chosen, where)


def _check_type(name: str, value: Any, wanted: Any, where: str) -> None:
    """typeguard is what Parsl itself checks with, when it makes the provider."""
    import typeguard

    if wanted is inspect.Parameter.empty:
        return
    try:
        typeguard.check_type(value, wanted)
    except typeguard.TypeCheckError as error:
        raise InvalidInput(
            f"Invalid value {value!r} for {name} in {where}: {error}.", remedy="Use a value of that type."
        ) from error


def _check_kubernetes(site: ParslSite, options: dict[str, Any], where: str) -> None:
    paths = [Path(path) for _, path in options.get("persistent_volumes", [])]
    if not any(path == site.folder or path in site.folder.parents for path in paths):
        raise InvalidInput(
            f"Workers of site {site.name} do not have the folder {site.folder}.",
            remedy=f"Mount it: persistent_volumes = [['claim', '{site.folder}']] in {where}.",
        )


def _check_cloud(site: ParslSite, options: dict[str, Any], where: str) -> None:
    if not site.setup.strip() and not options["worker_init"].strip():
        raise InvalidInput(
            f"Workers of site {site.name} start on empty machines.",
            remedy='Write what installs Pellucid and mounts the shared folder: setup = "...".',
        )


CHECKS: dict[str, Callable[[ParslSite, dict[str, Any], str], None]] = {
    "kubernetes": _check_kubernetes,
    "aws": _check_cloud,
    "azure": _check_cloud,
}


def _provider_class(site: ParslSite) -> Any:
    if site.provider not in PROVIDERS:
        raise InvalidInput(
            f"Unknown provider {site.provider!r} of site {site.name}.",
            remedy=f"Choose one of: {', '.join(PROVIDERS)}.",
        )
    try:
        providers = importlib.import_module("parsl.providers")
    except ModuleNotFoundError:
        raise MissingPackage("parsl", "parsl") from None
    found = getattr(providers, PROVIDERS[site.provider])
    return _soon_known(found) if site.provider in SCHEDULERS else found


@cache
def _soon_known(provider: Any) -> Any:
    """The provider, which finds out sooner that a job has ended: Parsl asks a scheduler once a minute."""
    return type(provider.__name__, (provider,), {"status_polling_interval": SCHEDULER_POLL_S})


def _options(site: ParslSite, kind: WorkerKind) -> dict[str, Any]:
    """What follows from the kind of workers, and what the site says itself, which overrides it."""
    own = {name: _as_tuples(value) for name, value in kind.options}
    known = inspect.signature(_provider_class(site)).parameters
    following = {
        "init_blocks": kind.nodes,
        "min_blocks": 0,
        "max_blocks": kind.nodes,
        "nodes_per_block": 1,
        "worker_init": _worker_init(site, own.pop("worker_init", "")),
        **_requested(site, kind),
    }
    return {**{name: value for name, value in following.items() if name in known}, **own}


def _requested(site: ParslSite, kind: WorkerKind) -> dict[str, Any]:
    """Cores, memory and GPUs of one node, in the words of the provider."""
    cores, memory = kind.cores * kind.workers_per_node, kind.memory_bytes * kind.workers_per_node
    if site.provider == "slurm":
        gib = {"mem_per_node": ceil(memory / 2**30)} if memory else {}
        gpus = {"gpus_per_node": len(kind.gpus)} if kind.gpus else {}
        return {"cores_per_node": cores, "exclusive": False, **gib, **gpus}
    if site.provider == "kubernetes":
        mebibytes = {name: f"{ceil(memory / 2**20)}Mi" for name in ("init_mem", "max_mem")} if memory else {}
        limits = {"extra_limits": {"nvidia.com/gpu": str(len(kind.gpus))}} if kind.gpus else {}
        return {"init_cpu": cores, "max_cpu": cores, **mebibytes, **limits}
    if site.provider == SRUN:  # One step on all nodes of the job, which are there already.
        return {"nodes_per_block": kind.nodes, "init_blocks": 1, "max_blocks": 1, "launcher": _step_launcher()}
    names = {"pbspro": "cpus_per_node", "lsf": "cores_per_node", "condor": "cores_per_slot"}
    return {names[site.provider]: cores} if site.provider in names else {}


def _step_launcher() -> Any:
    """For a Slurm job: a task on each node, without files in the current folder."""
    from parsl.launchers.base import Launcher

    class StepLauncher(Launcher):  # type: ignore[misc]  # Parsl has no types here.
        def __call__(self, command: str, tasks_per_node: int, nodes_per_block: int, script_dir: str = "") -> str:
            return shlex.join([*step_words(nodes_per_block), "bash", "-c", command])

    return StepLauncher()


def _worker_init(site: ParslSite, own: str) -> str:
    """What a shell does before the workers start. Modules in the current folder are never theirs."""
    if site.provider in ELSEWHERE:
        lines = []
    else:
        lines = ["export PYTHONSAFEPATH=1", f"export PYTHONPATH={shlex.quote(_module_path())}"]
    return "\n".join([*lines, *(text for text in (site.setup.strip(), own.strip()) if text)]) + "\n"


def _module_path() -> str:
    """Folders of modules that this program has and another of its Python would not have."""
    prefixes = {Path(prefix).resolve() for prefix in (sys.prefix, sys.base_prefix)}
    folders = [Path(entry) for entry in sys.path if entry and Path(entry).is_dir()]
    own = [folder for folder in folders if not prefixes & {folder.resolve(), *folder.resolve().parents}]
    return ":".join(str(folder.absolute()) for folder in own)


def _as_tuples(value: Any) -> Any:
    """Parsl takes pairs as tuples, and TOML has lists."""
    if isinstance(value, list):
        return [tuple(one) if isinstance(one, list) else one for one in value]
    return value
