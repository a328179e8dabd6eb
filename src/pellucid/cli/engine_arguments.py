"""Arguments of commands whose work is divided into blocks: where these run, and what is reported of it.

Here: add_engine, chosen_engine.
Not here: engines (engines), the commands.
"""

import argparse
from pathlib import Path

from pellucid.cli.arguments import Group
from pellucid.engines.engine import Engine, EngineOptions, make_engine
from pellucid.settings import load


def add_engine(running: Group) -> None:
    running.add_argument(
        "--engine",
        default="local",
        help="where blocks run: serial, local (threads, default), processes, parsl:SITE (a name or a file), or spark://HOST:PORT",
    )
    running.add_argument(
        "--usage",
        type=Path,
        metavar="FILE",
        help="with parsl: report the usage of its workers as a plot (.svg) or as data (.json)",
    )


def chosen_engine(options: argparse.Namespace, workers: int | None = None) -> Engine:
    """workers: where neither an argument nor a setting says how many."""
    settings = load(memory_bytes=options.memory, threads=options.workers)
    count = options.workers or workers or settings.threads
    return make_engine(options.engine, EngineOptions(count, settings.memory_bytes, usage_file=options.usage))
