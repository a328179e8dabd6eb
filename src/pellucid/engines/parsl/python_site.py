"""Sites as Python programs: a file that defines ``config``, as Parsl's own documentation writes them.

Here: site_of_program, what its executors say of their workers; configuration_of, which is run.
Not here: sites in TOML (site).
"""

import runpy
from math import floor
from pathlib import Path
from typing import Any

from pellucid.engines.parsl.configuration import launch_by_module
from pellucid.engines.parsl.site import ParslSite, WorkerKind
from pellucid.errors import InvalidInput, MissingPackage


def site_of_program(path: Path) -> ParslSite:
    config = configuration_of(path)
    kinds = tuple(_kind(executor) for executor in config.executors)
    is_here = all(type(executor.provider).__name__ == "LocalProvider" for executor in config.executors)
    return ParslSite(path.stem, "local" if is_here else "program", kinds, config=path)


def configuration_of(path: Path) -> Any:
    """Run the file; the user has chosen it."""
    try:
        from parsl.config import Config
    except ModuleNotFoundError:
        raise MissingPackage("parsl", "parsl") from None
    try:
        found = runpy.run_path(str(path)).get("config")
    except Exception as error:
        raise InvalidInput(f"The site {path} failed: {error}.", remedy="Correct that file.") from error
    if not isinstance(found, Config):
        raise InvalidInput(f"{path} does not define config.", remedy="Write config = parsl.Config(executors=[...]).")
    for executor in found.executors:
        _refuse_threads(executor, path)
        launch_by_module(executor)
    return found


def _refuse_threads(executor: Any, path: Path) -> None:
    from parsl.executors import HighThroughputExecutor

    if not isinstance(executor, HighThroughputExecutor):
        raise InvalidInput(
            f"{path} has a {type(executor).__name__}, whose workers are not processes of their own.",
            remedy="Use a HighThroughputExecutor.",
        )


def _kind(executor: Any) -> WorkerKind:
    provider = executor.provider
    per_node = int(executor.workers_per_node)
    blocks = getattr(provider, "max_blocks", 1) * getattr(provider, "nodes_per_block", 1)
    memory = executor.mem_per_worker or (getattr(provider, "mem_per_node", None) or 0) / per_node
    return WorkerKind(
        executor.label,
        per_node,
        blocks,
        max(1, floor(executor.cores_per_worker)),
        int(memory * 2**30),
        tuple(executor.available_accelerators),
    )
