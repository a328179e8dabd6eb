"""How much memory a process has used.

Here: its own peak.
Not here: how much there is (pellucid.settings).
"""

import re
from pathlib import Path


def peak_bytes() -> int:
    """From /proc: what getrusage says also counts the process that started this one."""
    found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) * 1024 if found else 0
