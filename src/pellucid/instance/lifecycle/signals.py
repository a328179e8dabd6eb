"""Stopping on signals.

Here: signals, by which a process still clears away what it leaves behind.
Not here: what that is (server), other reasons to end (idle).
"""

import signal
import sys


def exit_on_signals(code: int = 0) -> None:
    """From now on, end with this code when asked to. For the main thread.

    The server ends its connections when SIGTERM comes, and then raises it once more: without this, that would end the
    process on the spot, with files and memory left behind. A terminal that is closed asks too, but not whom it is not
    to concern (nohup).
    """

    def end(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # Asked again, it goes on clearing away.
        sys.exit(code)

    signal.signal(signal.SIGTERM, end)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
