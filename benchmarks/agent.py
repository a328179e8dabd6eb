"""What does it cost to go through the agent: a message, many bytes, a start, memory?

    python -m benchmarks.agent [--quick] [--json FILE]

Node, door and client are separate processes on one machine. "past the door" is the same
connection straight to the node.
"""

import os
import signal
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Unpack

import pellucid
from benchmarks.agent_ends import ID, Link, ends
from benchmarks.table import TARGET, Row, faster, interleave, options, report, shorter
from pellucid import settings
from pellucid.agent.certificate import make_certificate
from pellucid.agent.lease import holder
from pellucid.client.pending import JobOptions
from pellucid.jobs.processes import Process
from pellucid.transport.address import Certificate

MESSAGE = 100_000
MB = 1e6


def main() -> None:
    given = options("Through the agent and past it.")
    repeats, nbytes = (50, 2**27) if given.is_quick else (500, 2**29)
    with tempfile.TemporaryDirectory() as folder:
        rows = door_rows("plain", None, repeats, nbytes)
        rows += door_rows("TLS to the node", make_certificate(Path(folder)), repeats, nbytes)
        rows += start_rows(Path(folder))
    report("agent", rows, f"messages of 100 kB, {nbytes >> 20} MiB at once, median of {repeats}", given)


def door_rows(case: str, certificate: Certificate | None, repeats: int, nbytes: int) -> list[Row]:
    trusted = None if certificate is None else certificate.certificate
    with (
        ends(certificate) as (node, door),
        closing(Link(door, f"/i/{ID}/ws")) as through,
        closing(Link(node, "/ws", trusted)) as past,
    ):
        messages = interleave({"ours": lambda: through.ask(MESSAGE), "peer": lambda: past.ask(MESSAGE)}, repeats)
        bulk = interleave({"ours": lambda: through.ask(nbytes), "peer": lambda: past.ask(nbytes)}, 3)
    added_ms = (messages["ours"] - messages["peer"]) * 1000
    return [
        shorter(f"100 kB message, {case}", "ms", messages["ours"] * 1000, "past the door", messages["peer"] * 1000),
        shorter(f"added to it, {case}", "ms", max(added_ms, 1e-3), TARGET, 0.3),
        faster(f"many bytes, {case}", "MB/s", nbytes / bulk["ours"] / MB, "past the door", nbytes / bulk["peer"] / MB),
        faster(f"many bytes, {case}", "MB/s", nbytes / bulk["ours"] / MB, TARGET, 400),
    ]


def start_rows(folder: Path) -> list[Row]:
    """A viewer on this machine, with an agent that runs already, and without any."""
    os.environ["PELLUCID_STATE_FOLDER"] = str(folder / "state")
    with settings.use(settings.load()):
        times = interleave({"ours": lambda: _start(gpus=0), "peer": _start}, 3)
        through, past = times["ours"], times["peer"]
        pid = _agent_pid(folder / "state" / "agent")
        memory = int(Path(f"/proc/{pid}/status").read_text().partition("VmRSS:")[2].split()[0]) / 1024
        os.kill(pid, signal.SIGTERM)
    return [
        shorter("local start to ready, and its end", "s", through, "without the agent", past),
        shorter("the agent's memory", "MiB", memory, TARGET, 100.0, "memory"),
    ]


def _start(**job: Unpack[JobOptions]) -> None:
    """The time to end it again counts for both."""
    with pellucid.start(device="cpu", **job):
        pass


def _agent_pid(folder: Path) -> int:
    agent = holder(folder)
    if agent is None:
        raise RuntimeError("the agent has ended")
    return Process.parse(agent.process).pid


if __name__ == "__main__":
    main()
