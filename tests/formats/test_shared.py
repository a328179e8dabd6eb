"""Arrays in shared memory: seen from two processes, released without a trace."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pellucid.errors import Corrupted, InvalidInput
from pellucid.formats.shared_memory import SharedArray

RECEIVER = """
import socket, sys
from pellucid.formats.shared_memory import SharedArray
connection = socket.socket(fileno=int(sys.argv[1]))
with SharedArray.receive_from(connection) as shared:
    shared.array[0, 1] = shared.array[1, 2] * 2
    connection.sendall(b"done")
    connection.recv(1)
"""


def memory_files() -> list[str]:
    """What this process holds of shared memory without a name."""
    targets = []
    for link in Path("/proc/self/fd").iterdir():
        try:
            targets.append(str(link.readlink()))
        except OSError:  # closed since it was listed
            continue
    return [target for target in targets if "memfd:pellucid" in target]


def test_another_process_sees_and_changes_the_same_memory() -> None:
    ours, theirs = socket.socketpair()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", RECEIVER, str(theirs.fileno())]
    receiver = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environment)
    theirs.close()
    with SharedArray.create((2, 3), "<f4") as shared, ours:
        shared.array[1, 2] = 21
        shared.share_to(ours)
        assert ours.recv(4) == b"done"
        assert shared.array[0, 1] == 42
    assert receiver.wait() == 0


def test_closing_gives_everything_back() -> None:
    before = memory_files()
    shared = SharedArray.create((4, 5, 6), np.uint16)
    assert (shared.shape, shared.dtype, shared.nbytes) == ((4, 5, 6), np.dtype("u2"), 240)
    assert len(memory_files()) > len(before)
    kept = shared.array
    shared.close()
    shared.close()
    assert kept.sum() == 0  # a view that is still in use stays valid
    del kept
    assert memory_files() == before
    with pytest.raises(InvalidInput, match="is closed"):
        _ = shared.array


def test_the_size_cannot_change_under_a_holder() -> None:
    with SharedArray.create((8,), np.uint8) as shared, pytest.raises(PermissionError):
        os.ftruncate(shared.descriptor, 4)


def test_an_empty_array() -> None:
    with SharedArray.create((0, 4, 5), np.uint8) as shared:
        assert shared.array.shape == (0, 4, 5)


@pytest.mark.parametrize(
    "message", [b"\xff\xff\xff\xff", b"\2\0\0\0{}", json.dumps({"shape": [9, 9], "dtype": "<u8"}).encode()]
)
def test_a_message_that_promises_too_much_is_refused(message: bytes) -> None:
    ours, theirs = socket.socketpair()
    framed = message if message[:1] != b"{" else len(message).to_bytes(4, "little") + message
    with SharedArray.create((4,), np.uint8) as shared, theirs:
        socket.send_fds(ours, [framed], [shared.descriptor])
        ours.close()
        before = len(memory_files())
        with pytest.raises(Corrupted, match="not sent by share_to"):
            SharedArray.receive_from(theirs)
        assert len(memory_files()) == before


def test_what_is_written_to_private_memory_is_seen_by_nobody_else() -> None:
    with SharedArray.create((3, 5000), "uint16") as shared:
        shared.array[...] = 7
        row = shared.array[1]
        other = SharedArray(os.dup(shared.descriptor), shared.shape, shared.dtype)
        shared.make_private()
        row[:10], shared.array[2] = 1, 2
        assert shared.is_private and (other.array == 7).all()
        assert shared.array[:, 0].tolist() == [7, 1, 2] and (shared.array[1, 10:] == 7).all()
        other.close()
