"""Requests to the user's agent.

Here: AgentClient: found, or started where none is there; what it is asked.
Not here: the agent (agent), viewers that it starts (job_viewers).
"""

import os
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pellucid.agent.jobs.environment import SOURCES
from pellucid.agent.lease import AgentElsewhere, holder
from pellucid.client.connection import Connection
from pellucid.client.login import logged_in
from pellucid.errors import InvalidInput, WorkerLost
from pellucid.jobs.private_files import private_folder
from pellucid.python_processes import module_command
from pellucid.settings import current

TRIES = 100
POLL_S = 0.1


class AgentClient:
    """url: the agent's address. bearer: its token, or the user's at the Hub that it is behind."""

    def __init__(self, url: str, bearer: str, is_behind_hub: bool = False) -> None:
        self._connection, self._is_behind_hub = Connection(url, bearer=bearer, is_hub=is_behind_hub), is_behind_hub

    @classmethod
    def find(cls) -> "AgentClient | None":
        """The agent that runs behind the Hub, or on this machine, if one does. One on another cannot be reached."""
        if (hub := logged_in()) is not None:
            found = hub.found()
            return None if found is None else cls(found.agent_url, found.token, is_behind_hub=True)
        has = holder(_folder())
        if has is not None and not has.is_here:
            remedy = "Use that machine. If it is gone, run pellucid open here to start a new agent."
            raise InvalidInput(f"Your agent runs on {has.host} and cannot be reached from this machine.", remedy=remedy)
        return cls(has.url, has.token) if has is not None and has.is_alive and has.url else None

    @classmethod
    def find_or_resume(cls) -> "AgentClient | None":
        """The agent that runs, or a new one where the last one was killed: what that started may still run."""
        if logged_in() is None and (has := holder(_folder())) is not None and has.is_here and not has.is_alive:
            return cls.find_or_start()
        return cls.find()

    @classmethod
    def find_or_start(cls) -> "AgentClient":
        """The agent that runs, or a new one."""
        if (hub := logged_in()) is not None:
            return cls(hub.started().agent_url, hub.token, is_behind_hub=True)
        for _ in range(TRIES):
            with suppress(InvalidInput):  # One on another machine may be gone: one that is started here finds out.
                if (agent := cls.find()) is not None:
                    return agent
            state, what, remedy = _started()
            if state == "elsewhere":
                raise AgentElsewhere(what, remedy=remedy)
            if state not in ("ready", "running"):
                why = f"{what} {remedy}".strip() or f"{_folder() / 'agent.log'} has details"
                raise WorkerLost("starting the agent", why)
            if state != "ready":  # Another program is starting it, which cannot be awaited from here.
                time.sleep(POLL_S)
        raise WorkerLost("starting the agent", f"{_folder() / 'agent.log'} has details")

    @property
    def url(self) -> str:
        """Of the agent's own page, with a code that works once; behind a Hub, users log in instead."""
        if self._is_behind_hub:
            return self.address
        return self._connection.link(f"code={self._connection.ask('POST', '/api/codes')['code']}")

    @property
    def address(self) -> str:
        """Without any secret."""
        return self._connection.address

    def link(self, id: str) -> str:
        """A link to a viewer that works once."""
        return self.address + str(self._reply("POST", f"/api/jobs/{id}/open", None)["path"])

    def start(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return self._reply("POST", "/api/instances", request)

    def run(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Start a task."""
        return self._reply("POST", "/api/tasks", request)

    def run_batch(self, request: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Start a task for each of many files."""
        reply: list[dict[str, Any]] = self._connection.ask("POST", "/api/batches", request)
        return reply

    def jobs(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = self._connection.ask("GET", "/api/jobs")
        return listed

    def job(self, id: str, not_phase: str = "", wait_s: float = 0.0) -> dict[str, Any]:
        """What is known of one; with ``not_phase``, when it is in another phase, or wait_s are over."""
        return self._reply("GET", f"/api/jobs/{id}", None, not_phase=not_phase, wait_s=wait_s)

    def log(self, id: str) -> str:
        return self._connection.exchange("GET", f"/api/jobs/{id}/log").decode(errors="replace")

    def cancel(self, id: str) -> None:
        self._connection.ask("DELETE", f"/api/jobs/{id}")

    def _reply(self, method: str, path: str, body: object, **query: object) -> dict[str, Any]:
        reply: dict[str, Any] = self._connection.ask(method, path, body, **query)
        return reply


def _folder() -> Path:
    return current().state_folder / "agent"


def _started() -> tuple[str, str, str]:
    """Start an agent that outlives this program: its StartState, what is wrong, what to do. All empty if it crashed."""
    reading, writing = os.pipe()
    log = os.open(private_folder(_folder()) / "agent.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        subprocess.Popen(
            module_command("pellucid.agent.main", "--ready", str(writing)),
            pass_fds=[writing], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(SOURCES)},
        )  # fmt: skip
    finally:
        os.close(writing)
        os.close(log)
    with open(reading) as pipe:  # noqa: PTH123
        state, what, remedy, *_ = [*pipe.read().split("\n"), "", ""]
    return state, what, remedy
