"""The environment variables that a job needs from the agent.

Here: job_environment: the variables that a job is started with, none of them secret.
Not here: starting it (jobs).
"""

import os
from pathlib import Path

import pellucid.errors

SOURCES = Path(pellucid.errors.__file__).parents[1]
PREFIXES = ("PELLUCID_", "XDG_")
STORAGE = (
    "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE",
    "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE",
)  # fmt: skip
"""Where objects are. Keys are not among them: those belong in a file."""


def job_environment() -> dict[str, str]:
    """Settings, and where this Pellucid is: a job must find the same one, and the same records."""
    ours = {name: value for name, value in os.environ.items() if name.startswith(PREFIXES) or name in STORAGE}
    return ours | {"PYTHONPATH": str(SOURCES)}
