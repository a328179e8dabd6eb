"""The process below a worker of Parsl, in which a task works on one block after the other.

Here: its entry point.
Not here: the loop (engines.worker), who starts it (worker).
"""

import ctypes
import pickle
import signal
import sys
from multiprocessing.connection import Connection
from typing import Any

from pellucid.engines.partial_output import check_growing_output
from pellucid.engines.worker import Failure, serve
from pellucid.errors import PellucidError

PR_SET_PDEATHSIG = 1


def main() -> None:
    # With its worker it ends at once: the block is done again elsewhere, and only one may write it.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    pipe: Connection[Any, Any] = Connection(int(sys.argv[1]))
    packed, context = pipe.recv()
    task = unpack_task(packed)
    try:
        check_growing_output(getattr(task, "target", ""))
    except PellucidError as error:
        pipe.send(Failure(error))
        return
    serve(pipe, task, context)


def pack_task(task: object) -> bytes:
    """By value where its class is defined in the program that runs, which workers do not have."""
    if type(task).__module__ != "__main__":
        return pickle.dumps(task)
    import dill

    return bytes(dill.dumps(task))


def unpack_task(packed: bytes) -> Any:
    if b"dill" not in packed:
        return pickle.loads(packed)
    import dill

    return dill.loads(packed)


if __name__ == "__main__":
    main()
