"""``pellucid hub``: JupyterHub as the front door of a site.

Here: the command's arguments.
Not here: Hub and proxy (agent.hub), what one person has running (agent).
"""

import argparse
from pathlib import Path

from pellucid.errors import NotFound
from pellucid.settings import current

PARTS = {
    "run": "the Hub, and a proxy that stays when it ends (default)",
    "alone": "the Hub, where something else keeps the proxy running",
    "proxy": "the proxy",
    "check": "nothing: make what is lacking, and say what would not work",
}


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("hub", help="the site's log-in, with an agent for everybody (JupyterHub)")
    listed = "; ".join(f"{name}: {what}" for name, what in PARTS.items())
    parser.add_argument("part", nargs="?", choices=PARTS, default="run", metavar="PART", help=listed)
    parser.add_argument("--config", metavar="FILE", help="the site file (default: /etc/pellucid/site.toml)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from pellucid.agent.hub.launch import run_hub, run_proxy
    from pellucid.agent.hub.site_config import read_hub_site

    site_file = Path(options.config).absolute() if options.config else current().site_file
    if options.config and not site_file.is_file():
        raise NotFound(str(site_file))  # The default may be absent; what somebody names is not meant to be.
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
