"""A program that stops in the middle of sending: ``python -m tests.instance.killed_sender ADDRESS TOKEN LANE``."""

import sys

import numpy as np

from pellucid import progress
from pellucid.transport.client import TransferOptions, send
from pellucid.transport.wire.pieces import PieceSource
from tests.transport.peer import stall

if __name__ == "__main__":
    address, token, lane = sys.argv[1:]
    stall(PieceSource, "gather" if lane == "shm" else "piece", 2)
    with progress.use(progress.Silent()):
        send(address, np.ones((5, 1024, 1024), np.uint32), token=token, options=TransferOptions(lane))
