"""Parsl, running: one for each site in this process, started when it is first needed and shared by all engines.

Here: ParslSession, session_of.
Not here: which block goes where (engine), what Parsl is given (configuration).
"""

import atexit
import os
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

from pellucid.engines.parsl.configuration import make_executor
from pellucid.engines.parsl.site import ParslSite, WorkerKind
from pellucid.engines.parsl.worker import BlockReply, BlockRequest, work_on_block
from pellucid.errors import MissingPackage
from pellucid.settings import make_private_folder

PERIOD_S = 0.5
"""Between two looks at whether workers have to be started; the first start waits for such a look."""


class ParslSession:
    """A site whose workers are started as they are needed. folder: shared with them."""

    def __init__(self, site: ParslSite) -> None:
        self.site = site
        self.folder = make_private_folder(site.folder) / uuid4().hex[:12]
        self.folder.mkdir(mode=0o700)
        self._labels: dict[str, WorkerKind] = {}
        self._lock = threading.Lock()
        self._kernel = _started(site, self.folder)
        if site.config is not None:
            self._labels = {kind.name: kind for kind in site.kinds}

    def submit(self, kind: WorkerKind, request: BlockRequest) -> "Future[BlockReply]":
        future: Future[BlockReply] = self.submit_function(kind, work_on_block, request)
        return future

    def submit_function(self, kind: WorkerKind, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Have a function of a module called by a worker."""
        future: Future[Any] = self._kernel.submit(function, arguments, [self._label(kind)], False, None, {})
        return future

    def _label(self, kind: WorkerKind) -> str:
        """Of the executor with such workers, which is started if there is none yet."""
        with self._lock:
            for label, running in self._labels.items():
                if running.count >= kind.count and running == replace(kind, per_node=running.per_node, **_LOOSE):
                    return label
            label = f"{kind.name}_{len(self._labels)}"
            self._kernel.add_executors([make_executor(self.site, kind, label)])
            self._labels[label] = replace(kind, **_LOOSE)
            return label

    def close(self) -> None:
        """End the workers; an engine that needs some afterwards starts others."""
        if _Sessions.process != os.getpid():
            return
        atexit.unregister(self.close)
        for key, session in list(_Sessions.by_site.items()):
            if session is self:
                del _Sessions.by_site[key]
        with suppress(Exception):  # Workers that are gone already cannot be ended.
            self._kernel.cleanup()
        shutil.rmtree(self.folder, ignore_errors=True)


_LOOSE: dict[str, Any] = {"memory_bytes": 0, "cores": 1}
"""What may differ between the tasks of one executor's workers."""


class _Sessions:
    """Of this process; a fork of it has none."""

    by_site: ClassVar[dict[str, ParslSession]] = {}
    process: ClassVar[int] = 0
    lock: ClassVar[threading.Lock] = threading.Lock()


def session_of(site: ParslSite) -> ParslSession:
    with _Sessions.lock:
        if _Sessions.process != os.getpid():
            _Sessions.by_site, _Sessions.process = {}, os.getpid()
        key = str(site.folder) if site.is_automatic else repr(site)
        if key not in _Sessions.by_site:
            _Sessions.by_site[key] = session = ParslSession(site)
            atexit.register(session.close)  # After Parsl's own, so that it runs before that, which would complain.
        return _Sessions.by_site[key]


def _started(site: ParslSite, folder: Path) -> Any:
    try:
        from parsl.config import Config
        from parsl.dataflow.dflow import DataFlowKernel
        from parsl.executors.threads import ThreadPoolExecutor
    except ModuleNotFoundError:
        raise MissingPackage("parsl", "parsl") from None
    if site.config is not None:
        from pellucid.engines.parsl.python_site import configuration_of

        return DataFlowKernel(configuration_of(site.config))
    # Retries are the engine's: it knows which errors may pass.
    none = ThreadPoolExecutor(label="none", max_threads=1)
    config = Config(
        executors=[none], run_dir=str(folder), retries=0, strategy_period=PERIOD_S, usage_tracking=0,
        initialize_logging=False,
    )  # fmt: skip
    return DataFlowKernel(config)
