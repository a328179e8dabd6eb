"""``pellucid view``: show a volume in the browser.

Here: the command's arguments, its links.
Not here: the viewer (instance), opening the browser (browser).
"""

import argparse
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING

from pellucid.cli.arguments import add_source, number_argument, source_location
from pellucid.cli.browser import has_browser, open_browser
from pellucid.errors import InvalidInput
from pellucid.formats.text_options import parse_shape

if TYPE_CHECKING:
    from pellucid.instance.protocol.model_bodies import ModelRequest
    from pellucid.instance.server import Instance
    from pellucid.transport.address import Certificate

NEVER_S = 10 * 365 * 86400.0
MODEL = re.compile(r"(\.py:\w+|\.pt2)$")
"""A class or a function in a Python file, or an exported program."""


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("view", help="show a volume in the browser")
    add_source(parser, is_optional=True)
    add_viewer(parser)
    parser.add_argument(
        "--engine", default="", metavar="NAME",
        help="render with Device Workers, which hold the volume in blocks: spark://HOST:PORT, srun, or local",
    )  # fmt: skip
    parser.add_argument(
        "--workers", type=int, metavar="N", help="number of Device Workers with --engine local, or per node with srun"
    )
    parser.set_defaults(run=run)


def add_viewer(parser: argparse.ArgumentParser) -> None:
    """What every command that opens the viewer takes."""
    parser.add_argument("--port", type=int, default=0, metavar="N", help="port to listen on (default: any free port)")
    parser.add_argument(
        "--network", action="store_true",
        help="also accept connections from other machines, over TLS; the printed address includes the certificate",
    )  # fmt: skip
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    parser.add_argument(
        "--device",
        help="cpu, cuda, cuda:1, or several GPUs that share a volume: cuda:0,cuda:1 or all (default: the first)",
    )
    parser.add_argument(
        "--root", action="append", default=[], metavar="FOLDER",
        help="folder whose files may be opened in the viewer; repeatable (default: that of the file, and this one)",
    )  # fmt: skip
    parser.add_argument("--state", default="", metavar="NAME", help="show a saved state, given by its name or file")
    parser.add_argument(
        "--idle-timeout",
        type=number_argument,
        default=60.0,
        metavar="MINUTES",
        help="stop after this many minutes without use (default: 60; 0: never)",
    )


def run(options: argparse.Namespace) -> int:
    if options.source and MODEL.search(options.source):
        serve(None, options, _model_request(options))
        return 0
    source = str(source_location(options).absolute) if options.source else None
    if options.engine:
        _serve_from_workers(source, options)
    else:
        serve(source, options)
    return 0


def _serve_from_workers(source: str | None, options: argparse.Namespace) -> None:
    """Volumes are in blocks on the Workers of an engine, and drawn there."""
    from pellucid.cluster.viewer.worker_source import viewer_workers

    if options.device:
        raise InvalidInput(
            "--device does not apply to --engine.", remedy="Leave it out: an engine uses the devices of its nodes."
        )
    with viewer_workers(options.engine, options.workers) as workers:
        options.device = workers.device
        serve(source, options)


def _model_request(options: argparse.Namespace) -> "ModelRequest":
    """A PyTorch model that is named like a source. --shape: the voxels to evaluate."""
    from pellucid.client.models import split_model_name
    from pellucid.instance.protocol.model_bodies import ModelRequest

    path, name = split_model_name(options.source)
    return ModelRequest(path, name, parse_shape(options.shape) if options.shape else None)


def serve(source: str | None, options: argparse.Namespace, model: "ModelRequest | None" = None) -> None:
    """Show a source or a PyTorch model until Ctrl-C; without one, the viewer waits until a file is opened in the page.
    Of a scan, the page opens the reconstruction."""
    from pellucid.instance.lifecycle.signals import exit_on_signals
    from pellucid.instance.server import Instance, default_roots
    from pellucid.instance.session import SessionOptions
    from pellucid.tomo.scan_files.registry import is_scan

    exit_on_signals()
    roots = tuple(options.root) or default_roots(model.path if model else source)
    scan = source if source is not None and not options.state and is_scan(source) else ""
    setup = SessionOptions(
        options.device,
        roots,
        idle_timeout_s=options.idle_timeout * 60 or NEVER_S,
        opens_recent=not options.root,
        scan=scan,
        model=model,
    )
    with _certificate(options.network) as certificate:
        instance = Instance(None if scan else source, setup, options.port, options.state, certificate)
        with closing(instance), suppress(KeyboardInterrupt):  # The usual end, and no failure.
            _print_first(instance, options.network)
            if not options.no_browser and has_browser():
                open_browser(instance.url)
            instance.run()


@contextmanager
def _certificate(is_wanted: bool) -> "Iterator[Certificate | None]":
    """A certificate for one viewer, until that ends."""
    if not is_wanted:
        yield None
        return
    from pellucid.agent.jobs.certificate import make_certificate
    from pellucid.instance.lifecycle.scratch_folders import scratch_folder

    yield make_certificate(scratch_folder())


def _print_first(instance: "Instance", has_programs: bool) -> None:
    """The links; in a terminal, more of them on demand."""
    is_requested = sys.stdin is not None and sys.stdin.isatty()
    print(instance.url, flush=True)
    if has_programs:
        print(f"For programs: '{instance.link('own')}'", flush=True)  # A shell would end it at its &.
    print(
        f"The link works once. {'Press Enter for a new one. ' if is_requested else ''}Press Ctrl-C to stop.", flush=True
    )
    if is_requested:
        threading.Thread(target=_print_links, args=(instance,), daemon=True).start()


def _print_links(instance: "Instance") -> None:
    """A fresh link each time that Enter is pressed."""
    for _ in sys.stdin:
        print(instance.url, flush=True)
