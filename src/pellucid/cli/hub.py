"""``pellucid hub``: JupyterHub as the front door of a site.

Here: the command's arguments.
Not here: Hub and proxy (agent.hub), what one person has running (agent).
"""

import argparse
from pathlib import Path

from pellucid.settings import current


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("hub", help="the site's log-in, with an agent for everybody (JupyterHub)")
    parser.add_argument(
        "part", nargs="?", choices=("run", "proxy"), default="run", help="proxy: only that (default: run)"
    )
    parser.add_argument("--config", metavar="FILE", help="the site file (default: the settings' site_file)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from pellucid.agent.hub.running import run_hub, run_proxy
    from pellucid.agent.hub.site import read_hub_site

    site_file = Path(options.config).absolute() if options.config else current().site_file
    site = read_hub_site(site_file)
    if options.part == "proxy":
        run_proxy(site)
    run_hub(site, site_file)
