"""Checks whether a Hub can run here.

Here: faults, each with what to do; making what is lacking and can be made.
Not here: running it (launch), what one machine can do (cli.commands.doctor).
"""

import os
import shutil
import ssl
import stat
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from pellucid.agent.hub.jupyterhub_settings import proxy_secret
from pellucid.agent.hub.launch import PROXY, node
from pellucid.agent.hub.site_config import HubSite
from pellucid.agent.hub.sockets import HubSockets
from pellucid.errors import InvalidInput
from pellucid.jobs.private_files import private_folder
from pellucid.jobs.site import Site

SLURM = ("sbatch", "squeue", "scancel")


def prepare(site: HubSite) -> None:
    """The Hub's folder, and the secret that it shares with its proxy."""
    proxy_secret(private_folder(Path(site.folder)))


def find_problems(site: HubSite, jobs: Site, site_file: Path) -> list[str]:
    """What stands in the way, and what to do."""
    problem = HubSockets(Path(site.sockets)).problem
    return [
        *_missing(site, jobs),
        *_closed_to_others(site_file),
        *_open_to_others(site),
        *([problem] if problem else []),
    ]


def _missing(site: HubSite, jobs: Site) -> Iterator[str]:
    if os.geteuid() != 0:
        yield "Not running as root: only you will be able to log in. Run as root to start agents for all users."
    if find_spec("jupyterhub") is None:
        yield "JupyterHub is not installed: pip install 'pellucid[hub]'."
    try:
        node()
    except InvalidInput as error:
        yield f"{error.what} {error.remedy}"
    if not PROXY.is_file():
        yield f"The proxy {PROXY} is missing. Install a wheel, or run tools/build_page.py."
    if site.authenticator == "pam" and not Path("/etc/pam.d/login").is_file():
        yield "The PAM service 'login' does not exist. Set another service in [hub.settings.PAMAuthenticator]."
    for program in SLURM if jobs.scheduler == "slurm" else ():
        if shutil.which(program) is None:
            yield f"The site uses Slurm, but {program} was not found. Install the client commands of Slurm."
    if site.certificate:
        yield from _bad_certificate(site)


def _bad_certificate(site: HubSite) -> Iterator[str]:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(site.certificate, site.key)
    except (OSError, ssl.SSLError) as error:
        yield f"Cannot use {site.certificate} and {site.key}: {error}. Check that they belong together."


def _closed_to_others(site_file: Path) -> Iterator[str]:
    """Agents run as the users they serve: these must be able to run this Python and read the site file."""
    for path in {Path(sys.executable), Path(sys.executable).resolve(), site_file.absolute()}:
        blocked = [str(one) for one in (*path.parents, path) if one.exists() and not _is_open(one)]
        if blocked:
            yield f"Other users cannot access {path}. Run chmod o+rX on {', '.join(blocked)}, or move it."


def _is_open(path: Path) -> bool:
    mode = path.stat().st_mode
    return bool(mode & stat.S_IXOTH if path.is_dir() else mode & stat.S_IROTH)


def _open_to_others(site: HubSite) -> Iterator[str]:
    for name in (site.key, site.extra_config):
        if name and Path(name).exists() and Path(name).stat().st_mode & stat.S_IROTH:
            yield f"All users can read {name}, which contains secrets. Run chmod o-r {name}."
