"""JupyterHub's settings, from the site file.

Here: configure, which ``jupyterhub_config.py`` calls; the secrets that Hub and proxy share.
Not here: starting them (launch), what the settings mean (JupyterHub's own documentation).
"""

import os
import secrets
from pathlib import Path
from typing import Any

from pellucid.agent import static_page
from pellucid.agent.hub.site_config import HubSite
from pellucid.agent.hub.sockets import OPEN_TO_ALL, HubSockets, socket_url
from pellucid.jobs.private_files import private_folder, write_private
from pellucid.python_processes import module_command

START_S = 60
SECRET_FILE = "proxy_secret"
SETTINGS_FILE = Path(__file__).with_name("jupyterhub_config.py")
PASSED_ON = ("PELLUCID_", "SLURM_CONF")
PERSONAL = ("PELLUCID_STATE_FOLDER", "PELLUCID_CACHE_FOLDER", "PELLUCID_CONFIG")
"""Folders of root, which other users cannot open."""


def configure(c: Any, site: HubSite, site_file: Path) -> None:
    """c: the object that JupyterHub gives to its settings file. What the site sets by class comes last, and wins."""
    folder = private_folder(Path(site.folder))
    _configure_hub(c, site, folder)
    _configure_people(c, site)
    _configure_agents(c, site, site_file)
    for name, options in site.settings.items():
        for option, value in options.items():
            setattr(c[name], option, value)


def _configure_hub(c: Any, site: HubSite, folder: Path) -> None:
    c.JupyterHub.bind_url = site.address
    sockets = HubSockets(Path(site.sockets))
    c.JupyterHub.hub_bind_url = c.JupyterHub.hub_connect_url = socket_url(sockets.hub)
    c.JupyterHub.hub_socket_mode = OPEN_TO_ALL  # The agents of all users report to it.
    c.JupyterHub.db_url = f"sqlite:///{folder / 'hub.sqlite'}"
    c.JupyterHub.cookie_secret_file = str(folder / "cookie_secret")
    c.JupyterHub.subdomain_host = site.subdomains
    c.JupyterHub.template_paths = [str(Path(__file__).with_name("templates"))]
    c.JupyterHub.logo_file = str(static_page.SITE / "icon.svg")
    # A user who returns after the agent has stopped gets a new one without a question.
    c.JupyterHub.implicit_spawn_seconds = 1
    # Agents and the proxy go on while the Hub is restarted, and so do the viewers behind them.
    c.JupyterHub.cleanup_servers = False
    c.JupyterHub.cleanup_proxy = False
    c.ConfigurableHTTPProxy.should_start = False
    c.ConfigurableHTTPProxy.api_url = socket_url(sockets.proxy_api)
    c.ConfigurableHTTPProxy.auth_token = proxy_secret(folder)


def _configure_people(c: Any, site: HubSite) -> None:
    c.JupyterHub.authenticator_class = site.authenticator
    c.Authenticator.allow_all = site.allow_all
    c.Authenticator.allowed_users = set(site.users)
    c.Authenticator.admin_users = set(site.admins)
    c.Authenticator.blocked_users = {"root"}  # Nothing of this is to run as root.
    c.LocalAuthenticator.allowed_groups = set(site.groups)
    c.PAMAuthenticator.open_sessions = False


def _configure_agents(c: Any, site: HubSite, site_file: Path) -> None:
    c.JupyterHub.spawner_class = "pellucid.agent.hub.agent_spawner.AgentSpawner"
    c.AgentSpawner.sockets = site.sockets
    c.Spawner.cmd = module_command("pellucid.agent.main", "--hub")
    c.Spawner.args = []
    c.Spawner.default_url = ""
    c.Spawner.http_timeout = START_S
    c.Spawner.start_timeout = START_S
    passed_on = {
        name: value for name, value in os.environ.items() if name.startswith(PASSED_ON) and name not in PERSONAL
    }
    c.Spawner.environment = passed_on | {"PELLUCID_SITE_FILE": str(site_file)}


def proxy_secret(folder: Path) -> str:
    """By which the proxy knows the Hub; made once, and readable by its owner only."""
    path = folder / SECRET_FILE
    if not path.exists():
        write_private(path, secrets.token_hex(32))
    return path.read_text().strip()
