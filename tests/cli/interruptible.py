"""``pellucid``, which Ctrl-C interrupts also where a shell has started the tests in the background."""

import signal
import sys

from pellucid.cli.main import main

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main(sys.argv[1:]))
