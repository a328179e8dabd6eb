"""What is in a file, found out by a child that ends at once: the agent itself loads no reader and stays small.

Here: Inspector.
Not here: finding it out (``pellucid info``), what follows for GPUs and memory (estimate).
"""

import asyncio
import json
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from pellucid.agent.jobs.environment import SOURCES
from pellucid.errors import InvalidInput, Unreadable
from pellucid.formats.local_files import VARIABLE, limit_text

TIMEOUT_S = 60.0
AT_ONCE = 2


class Inspector:
    """Made on the event loop. A few files at a time: a person who clicks through a folder must not load a machine.

    folders: inside which files are read.
    """

    def __init__(self, folders: Iterable[str]) -> None:
        self._allowed = limit_text(folders)
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def facts(self, source: str) -> dict[str, Any]:
        """volumes: what ``pellucid info`` says of each; scan: of a scan, its geometry, else None."""
        async with self._turns:
            code, text, fault = await _run(self._allowed, "info", source, "--json", "--quiet")
        if code:
            what, _, remedy = fault.strip().removeprefix("pellucid: ").partition("\n")
            raise InvalidInput(
                what or f"The reader failed with exit code {code}.",
                remedy=remedy or "Inspect the file with pellucid info.",
            )
        found = json.loads(text)
        if isinstance(found, dict) and "volumes" in found:
            return found
        return {"scan": None, "volumes": found if isinstance(found, list) else [found]}


async def _run(allowed: str, *arguments: str) -> tuple[int, str, str]:
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "pellucid", *arguments, stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(SOURCES), VARIABLE: allowed},
    )  # fmt: skip
    try:
        text, fault = await asyncio.wait_for(child.communicate(), TIMEOUT_S)
    except TimeoutError:
        raise Unreadable(arguments[1], f"inspecting it took longer than {TIMEOUT_S:.0f} s") from None
    finally:
        if child.returncode is None:  # Too slow, or the client has disconnected.
            with suppress(ProcessLookupError):
                child.kill()
    return child.returncode or 0, text.decode(errors="replace"), fault.decode(errors="replace")
