"""What a Spark program says about its Device Workers, and how its tasks get to know it.

Here: SparkOptions; the local properties of Spark that carry it.
Not here: setting them (application), reading them in a task (task).
"""

from dataclasses import dataclass

TOKEN_PROPERTY = "pellucid.application.token"
"""Spark hides what has "token" in its name from its web pages and logs."""
OPTIONS_PROPERTY = "pellucid.application.options"


@dataclass(frozen=True)
class SparkOptions:
    """device: of every Worker: "auto" (the GPUs of a node, or else its CPU), "cpu" or "cuda". memory_bytes: for the
    blocks of each; 0: half of what the node of a CPU has available, 0.8 of what a GPU has. host_bytes: for blocks that
    do not fit on a GPU. idle_timeout_s: how long a Worker waits for another executor. prefers_local:
    whether memory is shared with processes of the same machine. driver_host, table: set by SparkApplication."""

    device: str = "auto"
    memory_bytes: int = 0
    host_bytes: int = 0
    idle_timeout_s: float = 30.0
    prefers_local: bool = True
    driver_host: str = ""
    table: str = ""
