"""``pellucid view``: a volume in the browser.

Here: the command's arguments, the address, opening the browser.
Not here: the viewer (instance).
"""

import argparse
import os
import sys
import webbrowser
from contextlib import suppress

from pellucid.cli.arguments import add_source, source_location
from pellucid.device import choose
from pellucid.volume.volume import open_volume


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("view", help="turn a volume in the browser")
    add_source(parser)
    parser.add_argument("--port", type=int, default=0, metavar="N", help="port on this machine (default: a free one)")
    parser.add_argument("--no-browser", action="store_true", help="only print the address")
    parser.add_argument("--device", help="cpu, cuda, cuda:1 (default: what there is)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from pellucid.instance.server import Instance
    from pellucid.rendering.renderer import Renderer

    with open_volume(source_location(options)) as volume:
        instance = Instance(volume, Renderer(choose(options.device)), options.port)
    print(f"{instance.url}\nCtrl-C ends it.", flush=True)
    if not options.no_browser and _has_browser():
        webbrowser.open(instance.url)
    with suppress(KeyboardInterrupt):  # The usual end, and no failure.
        instance.run()
    return 0


def _has_browser() -> bool:
    """Whether a browser would open in a window; one in the terminal would cover the address."""
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
