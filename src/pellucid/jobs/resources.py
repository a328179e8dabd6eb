"""The resources that a block of a task or a job needs.

Here: Resources.
Not here: how much of it there is (engines.budget, jobs.site).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Resources:
    """0: for a job, the default of the scheduler; for a block, none, or one core. nodes: among which a job divides the
    others, equally."""

    memory_bytes: int = 0
    cores: int = 0
    gpus: int = 0
    minutes: int = 0
    nodes: int = 1
