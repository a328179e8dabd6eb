"""``pellucid transport``: test the connections between two machines and their speed.

Here: the command's two parts, listen and check, and the file that holds the token.
Not here: the lanes (transport).
"""

import argparse
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pellucid import progress
from pellucid.cli.arguments import bytes_argument
from pellucid.errors import InvalidInput, NotFound
from pellucid.python_processes import module_command
from pellucid.transport.host import ReceiveLimits
from pellucid.transport.lane_check import LaneCheck, LaneTestHost, check_lanes
from pellucid.transport.server import Listener


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("transport", help="test the connections between two machines and their speed")
    parser.add_argument("part", choices=("check", "listen"), help="listen on one machine, check from the other")
    parser.add_argument("address", nargs="?", help="HOST:PORT; without it, check measures this machine alone")
    parser.add_argument(
        "--token-file", type=Path, metavar="FILE", help="file with the token of both ends; listen creates it"
    )
    parser.add_argument("--size", type=bytes_argument, default=2**28, help="amount of data to send (default: 256MiB)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    return _listen(options) if options.part == "listen" else _check(options)


def _listen(options: argparse.Namespace) -> int:
    file = options.token_file
    if file is None:
        raise InvalidInput(
            "No token file was given.", remedy="Add --token-file FILE; it is created if it does not exist."
        )
    if not file.exists():
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
            opened.write(secrets.token_urlsafe(32))
    host, limits = LaneTestHost(options.size), ReceiveLimits(limit_bytes=options.size)
    with Listener(options.address or "0.0.0.0:0", token=_token(file), host=host, limits=limits) as listener:
        print(listener.address, flush=True)
        with suppress(KeyboardInterrupt):  # The usual end, and no failure.
            sys.stdin.read()
    return 0


def _token(file: Path) -> str:
    if not file.exists():
        raise NotFound(str(file))
    return file.read_text().strip()


def _check(options: argparse.Namespace) -> int:
    with progress.use(progress.Silent()):
        if options.address is None:
            with _own_listener(options.size) as (address, token):
                return _print(check_lanes(address, token, options.size))
        if options.token_file is None:
            raise InvalidInput(
                "No token file was given.", remedy="Add --token-file FILE, the token file of the listening machine."
            )
        return _print(check_lanes(options.address, _token(options.token_file), options.size))


@contextmanager
def _own_listener(size: int) -> Iterator[tuple[str, str]]:
    """A listening end in a process of its own, as it would be on another machine."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "token"
        command = module_command("pellucid", "--quiet", "transport", "listen", "127.0.0.1:0")
        arguments = [*command, "--token-file", str(file), "--size", str(size)]
        with subprocess.Popen(arguments, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None  # noqa: S101 - asked for above
            yield child.stdout.readline().strip(), _token(file)
            if child.stdin is not None:
                child.stdin.close()


def _print(found: list[LaneCheck]) -> int:
    print(f"{'lane':<6}{'send':>12}{'retrieve':>12}")
    for lane in found:
        rates = f"{lane.send_rate / 1e9:>7.2f} GB/s{lane.retrieve_rate / 1e9:>7.2f} GB/s"
        print(f"{lane.lane:<6}{rates if not lane.fault else '  ' + lane.fault}")
    return 0 if any(not lane.fault for lane in found) else 1
