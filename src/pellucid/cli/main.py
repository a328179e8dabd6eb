"""The ``pellucid`` command.

Here: the table of commands, and what happens to errors.
Not here: any command (one module each).
"""

import argparse
import importlib
import logging
import sys
from collections.abc import Sequence

import pellucid
from pellucid import progress
from pellucid.errors import PellucidError

COMMANDS = ("info", "convert", "pyramid", "slices", "demo", "doctor")
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code says whether it worked (0), failed (1), was misused (2) or interrupted (130)."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(format="pellucid: %(message)s", level=logging.WARNING)
    try:
        with progress.use(progress.Silent() if options.quiet else progress.automatic()):
            return int(options.run(options))
    except PellucidError as error:
        if options.debug:
            raise
        print(f"pellucid: {error.what}\n{error.do}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("pellucid: interrupted. Give the same command again to continue.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        return 0  # The reader of our output, such as head, has seen enough.


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("pellucid", description=pellucid.__doc__ and pellucid.__doc__.splitlines()[0])
    parser.add_argument("--version", action="version", version=f"pellucid {pellucid.__version__}")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument("--debug", action="store_true", help="show where in the program an error comes from")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name in COMMANDS:
        importlib.import_module(f"pellucid.cli.{name}").add_parser(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
