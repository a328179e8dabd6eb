"""The site's settings for its JupyterHub.

Here: HubSite, read from the table ``hub`` of the site file.
Not here: the settings of JupyterHub that follow from them (jupyterhub_settings), jobs (jobs.site).

    [hub]
    address = "https://0.0.0.0:443"              # the address users open
    certificate = "/etc/pellucid/certificate.pem"
    key = "/etc/pellucid/key.pem"
    authenticator = "pam"                        # any authenticator of JupyterHub, by name or module
    allow_all = true                             # every account may log in; false: only users, groups and admins
    users = ["ada"]
    groups = ["imaging"]                         # of the system
    admins = ["root"]
    folder = "/var/lib/pellucid-hub"             # state of the Hub
    sockets = "/run/pellucid-hub"                # sockets between the proxy, the Hub and the agents
    links = false                                # a viewer's link opens it without logging in
    subdomains = ""                              # https://view.site.org: one host name per user
    extra_config = "/etc/pellucid/hub_config.py" # a file with further JupyterHub settings, including secrets

    [hub.settings.LDAPAuthenticator]             # JupyterHub settings, by class
    server_address = "ldap.site.org"
"""

import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pellucid.errors import InvalidInput


@dataclass(frozen=True)
class HubSite:
    """The table [hub] of the site file."""

    address: str = "http://127.0.0.1:8000"
    certificate: str = ""
    key: str = ""
    authenticator: str = "pam"
    allow_all: bool = True
    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    admins: tuple[str, ...] = ()
    folder: str = "/var/lib/pellucid-hub"
    links: bool = False
    subdomains: str = ""
    extra_config: str = ""
    sockets: str = "/run/pellucid-hub"
    proxy_user: str = "nobody"
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def host(self) -> str:
        return urlsplit(self.address).hostname or "127.0.0.1"

    @property
    def port(self) -> int:
        return urlsplit(self.address).port or {"http": 80, "https": 443}[urlsplit(self.address).scheme]


def read_hub_site(path: Path) -> HubSite:
    """The table [hub]. Without a file or a table, the defaults: a Hub for this machine only."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("hub", {})
    except (FileNotFoundError, NotADirectoryError):
        return HubSite()
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"Cannot read the site file {path}: {error}.", remedy="Check its permissions and its TOML syntax."
        ) from error
    if not isinstance(table, dict):
        raise InvalidInput(f"Invalid hub in {path}: not a table.", remedy="Write [hub] on a line of its own.")
    site = HubSite(**{name: _typed(name, value, path) for name, value in table.items()})
    _check(site, path)
    return site


def _typed(name: str, value: Any, path: Path) -> Any:
    known = {one.name: one for one in fields(HubSite)}
    if name not in known:
        raise InvalidInput(
            f"Unknown setting {name!r} in [hub] of {path}.", remedy=f"Valid settings: {', '.join(known)}."
        )
    default = {} if name == "settings" else known[name].default
    value = tuple(value) if isinstance(value, list) else value
    is_listed = not isinstance(value, tuple) or all(isinstance(one, str) for one in value)
    if type(value) is not type(default) or not is_listed:
        remedy = f"Use a {'list of strings' if isinstance(default, tuple) else type(default).__name__}."
        raise InvalidInput(f"Invalid {name} in [hub] of {path}: {value!r}.", remedy=remedy)
    return value


def _check(site: HubSite, path: Path) -> None:
    try:
        scheme, _ = urlsplit(site.address).scheme, site.port
    except (ValueError, KeyError):
        scheme = ""
    if scheme not in ("http", "https"):
        remedy = "Use an address such as https://0.0.0.0:443."
        raise InvalidInput(f"Invalid address in [hub] of {path}: {site.address!r}.", remedy=remedy)
    if (scheme == "https") != bool(site.certificate and site.key):
        what = f"[hub] in {path} must set a certificate and its key if, and only if, the address begins with https."
        raise InvalidInput(what, remedy="Set address, certificate and key, or use an address with http.")
    if not site.allow_all and not (site.users or site.groups or site.admins):
        what = f"[hub] in {path} admits no one."
        raise InvalidInput(what, remedy="List users or groups, or set allow_all = true.")
    for name, options in site.settings.items():
        if not isinstance(options, dict):
            remedy = f"Write [hub.settings.{name}] on a line of its own."
            raise InvalidInput(f"Invalid hub.settings.{name} in {path}: not a table.", remedy=remedy)
