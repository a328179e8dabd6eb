"""``pellucid hub``: JupyterHub, where the users of a site log in.

Here: the command's arguments.
Not here: Hub and proxy (agent.hub), what one user has running (agent).
"""

import argparse
from pathlib import Path

from pellucid.errors import NotFound
from pellucid.settings import current

PARTS = {
    "run": "the Hub, and a proxy that keeps running when the Hub stops (default)",
    "alone": "only the Hub; another service runs the proxy",
    "proxy": "only the proxy",
    "check": "create missing files and report problems; starts nothing",
}


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("hub", help="run the site's JupyterHub, with an agent for each user")
    listed = "; ".join(f"{name}: {what}" for name, what in PARTS.items())
    parser.add_argument("part", nargs="?", choices=PARTS, default="run", metavar="PART", help=listed)
    parser.add_argument("--config", metavar="FILE", help="the site file (default: /etc/pellucid/site.toml)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from pellucid.agent.hub.launch import run_hub, run_proxy
    from pellucid.agent.hub.site_config import read_hub_site

    site_file = Path(options.config).absolute() if options.config else current().site_file
    if options.config and not site_file.is_file():
        raise NotFound(str(site_file))  # The default file is optional; a file given by the user is not.
    site = read_hub_site(site_file)
    if options.part == "check":
        return check(site_file)
    if options.part == "proxy":
        return run_proxy(site)
    return run_hub(site, site_file, is_alone=options.part == "alone")


def check(site_file: Path) -> int:
    from pellucid.agent.hub import preflight
    from pellucid.agent.hub.site_config import read_hub_site
    from pellucid.jobs.site import read_site

    site = read_hub_site(site_file)
    found = preflight.find_problems(site, read_site(site_file), site_file)
    for fault in found:
        print(fault)
    if not found:
        preflight.prepare(site)
        print(f"Ready to run at {site.address}.")
    return int(bool(found))
