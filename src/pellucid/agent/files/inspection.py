"""Inspecting a file in a short-lived child process: the agent itself loads no reader and stays small.

Here: Inspector.
Not here: finding it out (``pellucid info``), what follows for GPUs and memory (estimate).
"""

import asyncio
import json
import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from pellucid.agent.jobs.environment import SOURCES
from pellucid.errors import InvalidInput, Unreadable
from pellucid.formats.local_files import VARIABLE, limit_text
from pellucid.jobs.task_progress import read_progress
from pellucid.python_processes import module_command

TIMEOUT_S = 60.0
AT_ONCE = 2


class Inspector:
    """Made on the event loop. A few files at a time: a user who clicks through a folder must not load a machine.

    folders: inside which files are read.
    """

    def __init__(self, folders: Iterable[str]) -> None:
        self._allowed = limit_text(folders)
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def facts(self, source: str) -> dict[str, Any]:
        """volumes: what ``pellucid info`` says of each; scan: of a scan, its geometry, else None."""
        with tempfile.TemporaryDirectory(prefix="pellucid-inspect-") as folder:
            progress = Path(folder) / "progress.json"
            async with self._turns:
                code, text = await _run(self._allowed, source, progress)
            ended = read_progress(progress)
        if code and ended is not None and ended.error is not None:
            raise ended.error.to_error()
        if code:
            raise InvalidInput(f"The reader failed with exit code {code}.", remedy=f"Run pellucid info {source}.")
        found = json.loads(text)
        if isinstance(found, dict) and "volumes" in found:
            return found
        return {"scan": None, "volumes": found if isinstance(found, list) else [found]}


async def _run(allowed: str, source: str, progress: Path) -> tuple[int, str]:
    """The exit code of pellucid info, and what it prints; its error is in the progress file."""
    child = await asyncio.create_subprocess_exec(
        *module_command("pellucid", "info", source, "--json", "--progress-file", str(progress)),
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(SOURCES), VARIABLE: allowed},
    )  # fmt: skip
    try:
        text, _ = await asyncio.wait_for(child.communicate(), TIMEOUT_S)
    except TimeoutError:
        raise Unreadable(source, f"inspecting it took longer than {TIMEOUT_S:.0f} s") from None
    finally:
        if child.returncode is None:  # Too slow, or the client has disconnected.
            with suppress(ProcessLookupError):
                child.kill()
    return child.returncode or 0, text.decode(errors="replace")
