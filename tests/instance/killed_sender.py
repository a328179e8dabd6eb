"""A program that stops in the middle of sending: ``python -m tests.instance.killed_sender ADDRESS TOKEN LANE``."""

import sys

import numpy as np

from pellucid import progress
from pellucid.transport.connecting import Options, send
from pellucid.transport.pieces import Source
from tests.transport.peer import stall

if __name__ == "__main__":
    address, token, lane = sys.argv[1:]
    stall(Source, "gather" if lane == "shm" else "piece", 2)
    with progress.use(progress.Silent()):
        send(address, np.ones((5, 1024, 1024), np.uint32), token=token, options=Options(lane))
