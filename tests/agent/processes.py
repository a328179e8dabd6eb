"""A real agent in a process of its own, which can be killed and started again.

Here: AgentProcess: asking it, waiting for phases, killing it; reading what processes show of themselves.
Not here: tests.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx

from pellucid.agent.lease import holder
from pellucid.client.agent_client import AgentClient
from pellucid.jobs.process_identity import ProcessId
from tests.suite_report import ROOT
from tests.waiting import TIMEOUT_S, wait_until

# The lease of an agent of another machine is watched for a minute, which is too long for a test.
QUICK_LEASE = """
from pellucid.agent import lease, main
lease.LASTS_S, lease.POLL_S, main.RENEWED_EVERY_S = 5.0, 0.05, 0.2
main.main()
"""


class AgentProcess:
    """folder: its state folder. site: the text of the site file. host: a name that its machine is to have; its lease is
    short then."""

    def __init__(self, folder: Path, site: str = "", host: str = "", **environment: str) -> None:
        self.folder, self.host = folder, host
        (folder / "site.toml").write_text(site)
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT / "src"),
            "PELLUCID_STATE_FOLDER": str(folder),
            "PELLUCID_SITE_FILE": str(folder / "site.toml"),
            **environment,
        }

    def start(self, *options: str) -> None:
        reading, writing = os.pipe()
        other = ["unshare", "--uts", "sh", "-c", 'hostname "$0"; exec "$@"', self.host] if self.host else []
        program = ["-c", QUICK_LEASE] if self.host else ["-m", "pellucid.agent.main"]
        command = [*other, sys.executable, *program, "--ready", str(writing), *options]
        self.process = subprocess.Popen(command, pass_fds=[writing], env=self.environment)
        os.close(writing)
        with open(reading, "rb") as pipe:  # noqa: PTH123
            text = pipe.read()
        assert text == b"ready", text
        lease = json.loads((self.folder / "agent/agent.json").read_text())
        self.base, self.token = str(lease["url"]), str(lease["token"])
        headers = {"Authorization": f"Bearer {self.token}"}
        self.client = httpx.Client(base_url=self.base, headers=headers, timeout=TIMEOUT_S)

    @property
    def url(self) -> str:
        """A fresh link to its page."""
        code = self.ask("POST", "/api/codes")["code"]
        return f"{self.base}#code={code}"

    def link(self, id: str) -> str:
        """A fresh link to a viewer."""
        return self.base + str(self.ask("POST", f"/api/jobs/{id}/open")["path"])

    def session(self, id: str) -> dict[str, str]:
        """A page's session with a viewer, through the agent; and the address of that page."""
        address, _, code = self.link(id).partition("#code=")
        answer = httpx.post(f"{address}api/session", json={"code": code, "address": address}, timeout=TIMEOUT_S)
        assert answer.status_code == 200, answer.text
        return {"address": address, **answer.json()}

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(TIMEOUT_S)

    def ask(self, method: str, path: str, **more: Any) -> Any:
        answer = self.client.request(method, path, **more)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def view(self, **request: object) -> str:
        """Start a viewer; its id."""
        return str(self.ask("POST", "/api/instances", json={"device": "cpu", **request})["id"])

    def run(self, folder: Path, *arguments: str, **request: object) -> str:
        """Start a task; its id."""
        request = {"arguments": arguments, "folder": str(folder), **request}
        return str(self.ask("POST", "/api/tasks", json=request)["id"])

    def until(self, id: str, *phases: str) -> dict[str, Any]:
        """Until it is in one of these; what is over stays so, and would be waited for in vain."""
        reply: dict[str, Any] = self.ask("GET", f"/api/jobs/{id}")
        while (phase := reply["state"]["phase"]) not in phases:
            assert phase not in ("ended", "failed", "lost"), reply["state"]
            reply = self.ask("GET", f"/api/jobs/{id}", params={"not_phase": phase, "wait_s": 30})
        return reply

    def cancel(self, id: str) -> None:
        self.ask("DELETE", f"/api/jobs/{id}")

    def place(self, id: str) -> Path:
        return self.folder / "agent/jobs" / id


@contextmanager
def agent(folder: Path, site: str = "", **environment: str) -> Iterator[AgentProcess]:
    """An agent until the block ends, and with it everything that it started."""
    started = AgentProcess(folder, site, **environment)
    started.start()
    try:
        yield started
        running = [one["id"] for one in started.ask("GET", "/api/jobs") if one["state"]["phase"] not in OVER]
        for id in running:
            started.cancel(id)
        for id in running:
            started.until(id, *OVER)
    finally:
        started.stop()


OVER = ("ended", "failed", "lost")


def end_everything(state: Path) -> None:
    """End the agent of a state folder, and before that whatever it keeps; also where a test came to no good end."""
    found = holder(state / "agent")
    if found is None or not (process := ProcessId.parse(found.process)).is_alive:
        return
    agent = AgentClient(found.url, found.token)
    running = [one["id"] for one in agent.jobs() if one["state"]["phase"] not in OVER]
    for id in running:
        agent.cancel(id)
    wait_until(lambda: all(agent.job(id)["state"]["phase"] in OVER for id in running))
    os.kill(process.pid, signal.SIGTERM)
    wait_until(lambda: not process.is_alive)


def shown_by_processes() -> str:
    """Arguments and environments of every process of this machine, as anybody (or this person) can read them."""
    shown = []
    for folder in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            with suppress(OSError):
                shown.append((folder / name).read_bytes().decode("latin-1"))
    return "\n".join(shown)
