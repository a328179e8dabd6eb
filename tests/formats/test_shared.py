"""Arrays in shared memory: seen from two processes, released without a trace."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pellucid.errors import InvalidInput
from pellucid.formats.shared_memory import SharedArray

RECEIVER = """
import sys
from pellucid.formats.shared_memory import SharedArray
with SharedArray(int(sys.argv[1]), (2, 3), "<f4") as shared:
    shared.array[0, 1] = shared.array[1, 2] * 2
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
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with SharedArray.create((2, 3), "<f4") as shared:
        shared.array[1, 2] = 21
        command = [sys.executable, "-c", RECEIVER, str(shared.descriptor)]
        subprocess.run(command, pass_fds=[shared.descriptor], env=environment, check=True)
        assert shared.array[0, 1] == 42


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


def test_what_is_written_to_private_memory_stays_in_this_process() -> None:
    with SharedArray.create((3, 5000), "uint16") as shared:
        shared.array[...] = 7
        row = shared.array[1]
        other = SharedArray(os.dup(shared.descriptor), shared.shape, shared.dtype)
        shared.make_private()
        row[:10], shared.array[2] = 1, 2
        assert shared.is_private and (other.array == 7).all()
        assert shared.array[:, 0].tolist() == [7, 1, 2] and (shared.array[1, 10:] == 7).all()
        other.close()
