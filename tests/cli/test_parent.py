"""A command that ends with the program that started it."""

import signal
import subprocess
import sys

PROGRAM = """
import signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
from pellucid.cli.parent import end_with
end_with(0)
time.sleep(60)
"""


def test_it_is_interrupted_also_where_it_was_started_with_interrupts_ignored() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], input=b"", check=False, capture_output=True)
    assert done.returncode == -signal.SIGINT, done.stderr
