"""The process between a program and Parsl's workers, in a group of its own, ended with the program.

Here: its entry point.
Not here: what it does (Parsl's interchange).
"""

import os
import pickle
import sys
import threading
import time

from parsl.executors.high_throughput.interchange import Interchange

POLL_S = 1.0


def main() -> None:
    os.setsid()  # Ctrl-C at the terminal is the program's to handle.
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    Interchange(**pickle.load(sys.stdin.buffer)).start()


def _end_with(parent: int) -> None:
    """A program that was killed could not say so."""
    while os.getppid() == parent:
        time.sleep(POLL_S)
    os._exit(1)


if __name__ == "__main__":
    main()
