"""What the NVIDIA driver of this machine says.

Here: its version, and query_driver, which asks its tool nvidia-smi.
Not here: the cards that can be used (hardware).
"""

import re
import subprocess
from pathlib import Path

TIMEOUT_S = 5


def query_driver(*fields: str, gpu: str = "") -> list[str]:
    """The values of nvidia-smi's fields, without their units. gpu: as in CUDA_VISIBLE_DEVICES; the first by default.

    Empty where there is no driver or no such card.
    """
    command = ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
    command += [f"--id={gpu}"] if gpu else []
    try:
        printed = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    first = printed.partition("\n")[0].strip()
    return [value.strip() for value in first.split(",")] if first else []


def driver_version() -> str | None:
    """The version of the NVIDIA driver, such as 580.65.06; None where there is none."""
    try:
        found = re.search(r"\b\d{3,}\.\d+(\.\d+)?\b", Path("/proc/driver/nvidia/version").read_text())
    except OSError:
        # Containers often hide the file and have the tool.
        return next(iter(query_driver("driver_version")), None)
    return found[0] if found else None
