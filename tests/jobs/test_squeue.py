"""What squeue said, recorded, and what it means."""

import pytest

from pellucid.jobs.job_state import JobState
from pellucid.jobs.squeue import COLUMNS, PHASES, parse, state_of

# Slurm 22.05: of those that wait, one has a higher priority and one is in another partition; a warning is between.
RECORDED = """3|pellucid-c|PENDING|Resources|1794726682|1794726742||4294901757|main
squeue: warning: something
4|other|PENDING|Priority|N/A|N/A||4294901758|main
5|pellucid-e|PENDING|None|N/A|N/A||4294901759|long
1|pellucid-a|RUNNING|None|1794726622|1794726682|gpu-01|4294901759|main
2|pellucid-b|COMPLETING|None|1794726622|1794726625|gpu-02|4294901758|main
7|pellucid-g|CANCELLED|None|1794726622|1794726625|gpu-02|4294901758|main
8|pellucid-h|TIMEOUT|TimeLimit|1794726622|1794726682|gpu-02|4294901758|main
9|pellucid-i|OUT_OF_MEMORY|OutOfMemory|1794726622|1794726682|gpu-02|4294901758|main
10|pellucid-j|BRAND_NEW|None|N/A|N/A||1|main
11|pellucid-k|PENDING|ReqNodeNotAvail, UnavailableNodes:gpu-[01-02]|N/A|N/A||1|main
""".replace("|", "\x1f")


def states() -> dict[str, JobState]:
    lines = parse(RECORDED)
    return {line.name.removeprefix("pellucid-"): state_of(line, lines) for line in lines}


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("a", JobState("running", ends_at=1794726682.0, node="gpu-01")),
        ("b", JobState("ending", node="gpu-02")),
        ("c", JobState("queued", "Resources", place=2, expected_start=1794726682.0)),
        ("e", JobState("queued", "", place=1)),
        ("g", JobState("ended", "Cancelled.", node="gpu-02")),
        ("h", JobState("ended", "Reached its time limit.", node="gpu-02")),
        ("i", JobState("failed", "Out of memory.", node="gpu-02")),
        ("j", JobState("unknown", "Slurm state: BRAND_NEW.")),
        ("k", JobState("queued", "ReqNodeNotAvail, UnavailableNodes:gpu-[01-02]", place=3)),
    ],
)
def test_recorded_lines(name: str, state: JobState) -> None:
    assert states()[name] == state


def test_what_is_no_job_is_passed_over() -> None:
    assert len(parse(RECORDED)) == 10
    assert parse("") == parse("a\x1fb") == []


def test_every_state_of_slurm_has_a_phase() -> None:
    # The states of squeue's manual, 22.05 to 25.05.
    manual = [
        "BOOT_FAIL", "CANCELLED", "COMPLETED", "CONFIGURING", "COMPLETING", "DEADLINE", "FAILED",
        "NODE_FAIL", "OUT_OF_MEMORY", "PENDING", "PREEMPTED", "RUNNING", "RESV_DEL_HOLD", "REQUEUE_FED",
        "REQUEUE_HOLD", "REQUEUED", "RESIZING", "REVOKED", "SIGNALING", "SPECIAL_EXIT", "STAGE_OUT",
        "STOPPED", "SUSPENDED", "TIMEOUT",
    ]  # fmt: skip
    assert set(manual) == set(PHASES)
    assert len(COLUMNS) == 9
