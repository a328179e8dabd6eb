"""Metrics of the agent for Prometheus.

Here: text, the metrics as it reads them.
Not here: what is counted (supervisor).
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from pellucid.agent.jobs.supervisor import JobSupervisor


def text(supervisor: JobSupervisor) -> str:
    return "\n".join(_lines(supervisor)) + "\n"


def _lines(supervisor: JobSupervisor) -> Iterator[str]:
    counts = Counter((record.kind, record.state.phase) for record in supervisor.records)
    reply = [(f'kind="{kind}",phase="{phase}"', count) for (kind, phase), count in sorted(counts.items())]
    yield from _metric("pellucid_jobs", "gauge", "Viewers and tasks on record.", reply)
    request = sorted(supervisor.schedulers.request.items())
    questions = [(f'scheduler="{name}"', one.count) for name, one in request]
    yield from _metric(
        "pellucid_scheduler_questions_total", "counter", "Number of queries to the scheduler.", questions
    )
    silent = [(f'scheduler="{name}"', one.unanswered) for name, one in request]
    yield from _metric("pellucid_scheduler_unanswered_total", "counter", "Number of queries without a reply.", silent)
    seconds = [(f'scheduler="{name}"', round(one.seconds, 6)) for name, one in request]
    yield from _metric("pellucid_scheduler_answer_seconds", "gauge", "Duration of the last query.", seconds)
    yield from _metric("process_resident_memory_bytes", "gauge", "Memory used by the agent.", [("", _resident_bytes())])


def _metric(name: str, kind: str, what: str, values: Iterable[tuple[str, float]]) -> Iterator[str]:
    yield f"# HELP {name} {what}"
    yield f"# TYPE {name} {kind}"
    for labels, value in values:
        yield f"{name}{{{labels}}} {value}" if labels else f"{name} {value}"


def _resident_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024
