"""A command that stops when the program that started it ends, however that ends.

Here: end_with.
Not here: starting such a command (instance.reconstruction).
"""

import os
import signal
import threading

SHUTDOWN_TIMEOUT_S = 5.0


def end_with(descriptor: int) -> None:
    """Interrupt this process when nothing holds the other end of a pipe any more: what is written stays of use.

    The kernel closes the pipe of a program that is killed, too. For the main thread: SIGINT may be ignored here, as
    in what a script starts in the background, and the program that started this sends it, too.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=_watch, args=(descriptor,), name="pellucid-parent", daemon=True).start()


def _watch(descriptor: int) -> None:
    while os.read(descriptor, 4096):
        pass
    os.kill(os.getpid(), signal.SIGINT)
    threading.Event().wait(SHUTDOWN_TIMEOUT_S)
    os.kill(os.getpid(), signal.SIGKILL)
