"""The ``pellucid`` command.

Here: the table of commands, and what happens to errors.
Not here: any command (one module each).
"""

import argparse
import errno
import importlib
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from io import TextIOWrapper
from pathlib import Path

import pellucid
from pellucid import progress
from pellucid.cli.arguments import join_negative_numbers
from pellucid.errors import InvalidInput, PellucidError
from pellucid.printable import PrintableFormatter, printable
from pellucid.python_processes import safe_path

COMMANDS = (  # Modules below cli.
    "commands.info",
    "commands.convert",
    "commands.pyramid",
    "commands.compress",
    "commands.decompress",
    "reconstruct.command",
    "commands.segment",
    "commands.apply",
    "learn.denoise",
    "learn.train",
    "learn.superres",
    "commands.slices",
    "render.command",
    "commands.view",
    "commands.agent",
    "commands.hub",
    "commands.login",
    "commands.share",
    "commands.mesh",
    "commands.demo",
    "commands.transport",
    "commands.doctor",
)
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code says whether it worked (0), failed (1), was misused (2), is to be continued (75) or
    was interrupted (130)."""
    try:  # Importing all commands takes a moment, in which Ctrl-C needs no traceback.
        options = _parser().parse_args(join_negative_numbers(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:
        return INTERRUPTED
    logging.basicConfig(level=logging.WARNING, handlers=[_log_handler()])
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # A terminal that lacks a sign of ours shows another instead.
    if options.end_with >= 0:
        from pellucid.cli.parent import end_with

        end_with(options.end_with)
    if isinstance(sys.stderr, TextIOWrapper):
        sys.stderr.reconfigure(errors="backslashreplace")
    try:
        with progress.use(_reporter(options)), safe_path():
            code = int(options.run(options))
            sys.stdout.flush()
        if options.progress_file:
            _conclude(options)
        return code
    except (PellucidError, OSError, KeyboardInterrupt, MemoryError) as error:
        if options.progress_file:
            _conclude_with(error, options)
        if options.debug:
            raise
        return _reply(error)


def _log_handler() -> logging.Handler:
    handler = logging.StreamHandler()
    handler.setFormatter(PrintableFormatter("pellucid: %(message)s"))
    return handler


def _reporter(options: argparse.Namespace) -> progress.Reporter:
    if options.progress_file:
        from pellucid.cli.progress_file import ProgressFile, check_progress_file

        check_progress_file(Path(options.progress_file))
        return ProgressFile(options.progress_file)
    return progress.Silent() if options.quiet else progress.automatic()


def _conclude(options: argparse.Namespace) -> None:
    """Say what came of it: what a command calls its result, or what it has written."""
    from pellucid.cli.progress_file import write_result

    made = (getattr(options, name, None) for name in ("result", "output", "target"))
    write_result(options.progress_file, str(next((one for one in made if one), "")))


def _conclude_with(error: BaseException, options: argparse.Namespace) -> None:
    """Write the error for the program that started this; a file that is not a progress file stays as it is."""
    from pellucid.cli.progress_file import check_progress_file, write_error
    from pellucid.formats.system_errors import system_error

    refused = system_error(error) if isinstance(error, OSError) else _known_error(error)
    if isinstance(refused, PellucidError):
        with suppress(PellucidError):
            check_progress_file(Path(options.progress_file))
            write_error(options.progress_file, refused)


def _known_error(error: BaseException) -> BaseException:
    """The error itself; one of ours where memory ran out, or the disk is full."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        from pellucid.formats.system_errors import system_error

        return system_error(error)
    if not isinstance(error, MemoryError):
        return error
    return InvalidInput(
        "Not enough memory for this command.",
        remedy="Use a part of the volume (--box), a coarser level, or a machine with more memory.",
    )


def _reply(error: BaseException) -> int:
    """Say what happened, and return the exit code."""
    error = _known_error(error)
    match error:
        case PellucidError():
            text, code = f"{error.what}\n{error.remedy}", getattr(error, "exit_code", 1)
        case KeyboardInterrupt():
            text, code = "Interrupted. Run the same command again to continue.", INTERRUPTED
        case BrokenPipeError():  # The reader of our output, such as head, has seen enough.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        case OSError(filename=str(place), strerror=str(why)):
            text, code = f"{place}: {why}.\nCheck that the path exists, is writable, and has free space.", 1
        case _:
            text, code = f"{error}.\nCheck that the path exists, is writable, and has free space.", 1
    print(f"pellucid: {printable(text)}", file=sys.stderr)
    return code


@cache
def _parser() -> argparse.ArgumentParser:
    """Of all commands; it takes longer to make than many a command to run."""
    parser = argparse.ArgumentParser("pellucid", description=pellucid.__doc__ and pellucid.__doc__.splitlines()[0])
    parser.add_argument("--version", action="version", version=f"pellucid {pellucid.__version__}")
    _add_common(parser, default=False)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name in COMMANDS:
        importlib.import_module(f"pellucid.cli.{name}").add_parser(commands)
    for command in _nested(commands):  # Also behind the command; not given there, what stood before holds.
        _add_common(command, default=argparse.SUPPRESS)
    return parser


def _nested(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> Iterator[argparse.ArgumentParser]:
    """All commands, also those below others, such as ``train segment``."""
    for command in commands.choices.values():
        below = [action for action in command._actions if isinstance(action, argparse._SubParsersAction)]
        yield from (found for action in below for found in _nested(action))
        if not below:
            yield command


def _add_common(parser: argparse.ArgumentParser, default: object) -> None:
    parser.add_argument("--quiet", action="store_true", default=default, help="do not show progress")
    parser.add_argument(
        "--progress-file", default=argparse.SUPPRESS if default is argparse.SUPPRESS else "", metavar="FILE",
        help="write progress to this file as JSON, for another program",
    )  # fmt: skip
    descriptor = argparse.SUPPRESS if default is argparse.SUPPRESS else -1
    parser.add_argument("--end-with", type=int, default=descriptor, help=argparse.SUPPRESS)
    parser.add_argument("--debug", action="store_true", default=default, help="show the traceback of an error")


if __name__ == "__main__":
    sys.exit(main())
