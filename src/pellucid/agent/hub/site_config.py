"""What the site has decided about its Hub.

Here: HubSite, read from the table ``hub`` of the site file.
Not here: what that means for JupyterHub (jupyterhub_settings), jobs (jobs.site).

    [hub]
    address = "https://0.0.0.0:443"              # where people come in
    certificate = "/etc/pellucid/certificate.pem"
    key = "/etc/pellucid/key.pem"
    authenticator = "pam"                        # any that JupyterHub knows by name or by module
    everybody = true                             # whoever can log in may; else people and groups
    people = ["ada"]
    groups = ["imaging"]                         # of the system
    admins = ["root"]
    folder = "/var/lib/pellucid-hub"             # what the Hub keeps
    links = false                                # a viewer's link opens it without logging in
    subdomains = ""                              # https://view.site.org: everybody at a host name of their own
    more = "/etc/pellucid/hub_config.py"         # further settings of JupyterHub's, also secret ones

    [hub.settings.LDAPAuthenticator]             # settings of JupyterHub's, by class
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
    """As in the site file."""

    address: str = "http://127.0.0.1:8000"
    certificate: str = ""
    key: str = ""
    authenticator: str = "pam"
    everybody: bool = True
    people: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    admins: tuple[str, ...] = ()
    folder: str = "/var/lib/pellucid-hub"
    links: bool = False
    subdomains: str = ""
    more: str = ""
    hub_port: int = 8081
    proxy_port: int = 8001
    proxy_user: str = "nobody"
    settings: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def host(self) -> str:
        return urlsplit(self.address).hostname or "127.0.0.1"

    @property
    def port(self) -> int:
        return urlsplit(self.address).port or {"http": 80, "https": 443}[urlsplit(self.address).scheme]


def read_hub_site(path: Path) -> HubSite:
    """The table; where there is no file, or no such table, a Hub for this machine alone."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("hub", {})
    except (FileNotFoundError, NotADirectoryError):
        return HubSite()
    except (OSError, ValueError) as error:
        raise InvalidInput(f"The site file {path} cannot be read: {error}.", remedy="Correct it.") from error
    if not isinstance(table, dict):
        raise InvalidInput(f"In {path}, hub is no table.", remedy="Write [hub] on a line of its own.")
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
        remedy = f"Give a {'list of words' if isinstance(default, tuple) else type(default).__name__}."
        raise InvalidInput(f"In [hub] of {path}, {name} cannot be {value!r}.", remedy=remedy)
    return value


def _check(site: HubSite, path: Path) -> None:
    try:
        scheme, _ = urlsplit(site.address).scheme, site.port
    except (ValueError, KeyError):
        scheme = ""
    if scheme not in ("http", "https"):
        remedy = "Give one such as https://0.0.0.0:443."
        raise InvalidInput(f"In [hub] of {path}, {site.address!r} is no address.", remedy=remedy)
    if (scheme == "https") != bool(site.certificate and site.key):
        what = f"In [hub] of {path}, an address with https and a certificate with its key belong together."
        raise InvalidInput(what, remedy="Give all three, or an address with http.")
    if not site.everybody and not (site.people or site.groups or site.admins):
        what = f"In [hub] of {path}, nobody may log in."
        raise InvalidInput(what, remedy="Name people or groups, or set everybody = true.")
    for name, options in site.settings.items():
        if not isinstance(options, dict):
            remedy = f"Write [hub.settings.{name}] on a line of its own."
            raise InvalidInput(f"In {path}, hub.settings.{name} is no table.", remedy=remedy)
