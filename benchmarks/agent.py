"""What does it cost to go through the agent: a message, many bytes, a start, memory?

    python -m benchmarks.agent [--quick] [--json FILE]

Node, proxy and client are separate processes on one machine. "without the proxy" is the same
connection straight to the node. Slurm is a private one on this machine, as in the tests, with an
idle node.
"""

import os
import signal
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Unpack

import pellucid
from benchmarks.agent_ends import ID, Link, ends
from benchmarks.table import TARGET, Row, faster, interleave, options, report, shorter, unavailable
from pellucid import settings
from pellucid.agent.jobs.certificate import make_certificate
from pellucid.agent.lease import holder
from pellucid.client.agent_client import AgentClient
from pellucid.client.job_viewers import JobOptions
from pellucid.jobs.process_identity import ProcessId
from pellucid.transport.address import Certificate
from tests.slurm_cluster import SlurmCluster, can_run, started

MESSAGE = 100_000
MB = 1e6
CROWD = 120
SLURM = 'scheduler = "slurm"\npartition = "main"\n'


def main() -> None:
    given = options("Through the agent and past it.")
    repeats, nbytes = (50, 2**27) if given.is_quick else (500, 2**29)
    with tempfile.TemporaryDirectory() as folder:
        rows = proxy_rows("plain", None, repeats, nbytes)
        rows += proxy_rows("TLS to the node", make_certificate(Path(folder)), repeats, nbytes)
        rows += start_rows(Path(folder), 3 if given.is_quick else 5)
        rows += slurm_rows(Path(folder), 3 if given.is_quick else 5)
    report("agent", rows, f"messages of 100 kB, {nbytes >> 20} MiB at once, median of {repeats}", given)


def proxy_rows(case: str, certificate: Certificate | None, repeats: int, nbytes: int) -> list[Row]:
    trusted = None if certificate is None else certificate.certificate
    with (
        ends(certificate) as (node, acceptor),
        closing(Link(acceptor, f"/i/{ID}/ws")) as through,
        closing(Link(node, "/ws", trusted)) as past,
    ):
        messages = interleave({"ours": lambda: through.ask(MESSAGE), "peer": lambda: past.ask(MESSAGE)}, repeats)
        bulk = interleave({"ours": lambda: through.ask(nbytes), "peer": lambda: past.ask(nbytes)}, 3)
    added_ms = (messages["ours"] - messages["peer"]) * 1000
    return [
        shorter(f"100 kB message, {case}", "ms", messages["ours"] * 1000, "without the proxy", messages["peer"] * 1000),
        shorter(f"added to it, {case}", "ms", max(added_ms, 1e-3), TARGET, 0.3),
        faster(
            f"many bytes, {case}", "MB/s", nbytes / bulk["ours"] / MB, "without the proxy", nbytes / bulk["peer"] / MB
        ),
        faster(f"many bytes, {case}", "MB/s", nbytes / bulk["ours"] / MB, TARGET, 400),
    ]


@contextmanager
def person(folder: Path, site: str, **environment: str) -> Iterator[Path]:
    """A user of whom nothing runs yet; their agent is stopped at the end."""
    folder.mkdir()
    (folder / "site.toml").write_text(site)
    os.environ |= environment
    os.environ |= {"PELLUCID_STATE_FOLDER": str(folder), "PELLUCID_SITE_FILE": str(folder / "site.toml")}
    with settings.use(settings.load()):
        try:
            yield folder / "agent"
        finally:
            os.kill(_agent_pid(folder / "agent"), signal.SIGTERM)


def start_rows(folder: Path, repeats: int) -> list[Row]:
    """A viewer on this machine, with an agent that runs already, and without any."""
    with person(folder / "local", "") as agent:
        _start(gpus=0)
        _start()
        through, past = zip(*((_start(gpus=0), _start()) for _ in range(repeats)), strict=True)
        memory = _resident_mib(agent)
    case = "local start to ready"
    return [
        shorter(case, "s", statistics.median(through), TARGET, 2.0),
        shorter(case, "s", statistics.median(through), "without the agent", statistics.median(past)),
        shorter("the agent's memory", "MiB", memory, TARGET, 100.0, "memory"),
    ]


def slurm_rows(folder: Path, repeats: int) -> list[Row]:
    """A viewer on an idle node, and one more where many wait."""
    if not can_run():
        return [unavailable("Slurm start to ready", TARGET, "Slurm is not here, or not for this person")]
    with started() as cluster, person(folder / "slurm", SLURM, **cluster.environment) as agent:
        _start(gpus=0)
        seconds = [_start(gpus=0) for _ in range(repeats)]
        crowded = _start_in_a_crowd(cluster)
        memory = _resident_mib(agent)
    return [
        shorter("Slurm start to ready, idle node", "s", statistics.median(seconds), TARGET, 3.0),
        shorter(f"asking for one more while {CROWD} wait", "s", crowded, TARGET, 2.0),
        shorter(f"the agent's memory after {CROWD}", "MiB", memory, TARGET, 100.0, "memory"),
    ]


def _start(**job: Unpack[JobOptions]) -> float:
    """Seconds until a viewer can be used; it is ended again."""
    began = time.perf_counter()
    with pellucid.start(device="cpu", **job):
        return time.perf_counter() - began


def _start_in_a_crowd(cluster: SlurmCluster) -> float:
    cluster.command("scontrol", "update", "nodename=localhost", "state=drain", "reason=benchmark")
    for _ in range(CROWD):
        pellucid.start(gpus=1, wait=False)
    began = time.perf_counter()
    pellucid.start(gpus=1, wait=False)
    seconds = time.perf_counter() - began
    cluster.command("scancel", "--user=root", "--state=PENDING")
    agency = AgentClient.find_or_start()
    while any(one["state"]["phase"] == "queued" for one in agency.jobs()):
        time.sleep(0.1)
    return seconds


def _agent_pid(folder: Path) -> int:
    agent = holder(folder)
    if agent is None:
        raise RuntimeError("the agent has ended")
    return ProcessId.parse(agent.process).pid


def _resident_mib(folder: Path) -> float:
    status = Path(f"/proc/{_agent_pid(folder)}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


if __name__ == "__main__":
    main()
