"""What the site file says of its Hub becomes JupyterHub's settings; what cannot be is said so."""

import stat
import sys
from pathlib import Path

import pytest
from traitlets.config import Config

from pellucid.agent.hub.jupyterhub_settings import configure
from pellucid.agent.hub.launch import proxy_command
from pellucid.agent.hub.site_config import HubSite, read_hub_site
from pellucid.cli.main import main
from pellucid.errors import InvalidInput
from pellucid.jobs.site import read_site

FILE = """
scheduler = "slurm"
[hub]
address = "https://0.0.0.0"
certificate = "/etc/c.pem"
key = "/etc/k.pem"
authenticator = "ldapauthenticator.LDAPAuthenticator"
allow_all = false
groups = ["imaging"]
admins = ["ada"]
folder = "{folder}"
[hub.settings.LDAPAuthenticator]
server_address = "ldap.site.org"
[hub.settings.Spawner]
mem_limit = "2G"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "site.toml"
    path.write_text(text)
    return path


def test_one_file_serves_jobs_and_hub(tmp_path: Path) -> None:
    path = written(tmp_path, FILE.format(folder=tmp_path / "hub"))
    assert read_site(path).scheduler == "slurm"
    c = Config()
    site = read_hub_site(path)
    configure(c, site, path)
    assert (site.host, site.port) == ("0.0.0.0", 443)
    assert c.JupyterHub.authenticator_class == "ldapauthenticator.LDAPAuthenticator"
    assert (c.Authenticator.allow_all, c.LocalAuthenticator.allowed_groups) == (False, {"imaging"})
    assert (c.Authenticator.admin_users, c.LDAPAuthenticator.server_address) == ({"ada"}, "ldap.site.org")
    assert c.Spawner.cmd == [sys.executable, "-P", "-m", "pellucid.agent.main", "--hub"] and c.Spawner.mem_limit == "2G"
    assert c.Spawner.environment["PELLUCID_SITE_FILE"] == str(path)
    assert not c.JupyterHub.cleanup_servers and not c.ConfigurableHTTPProxy.should_start
    command = proxy_command(site)
    assert command[command.index("--ssl-key") + 1] == "/etc/k.pem" and command[command.index("--port") + 1] == "443"


def test_what_hub_and_proxy_share_is_kept_for_the_owner(tmp_path: Path) -> None:
    first, second = Config(), Config()
    for c in (first, second):
        configure(c, HubSite(folder=str(tmp_path / "hub")), tmp_path / "site.toml")
    assert len(first.ConfigurableHTTPProxy.auth_token) == 64
    assert first.ConfigurableHTTPProxy.auth_token == second.ConfigurableHTTPProxy.auth_token
    for path in (tmp_path / "hub", tmp_path / "hub/proxy_secret"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("colour = 1", "Unknown setting 'colour'"),
        ("address = 1", "Invalid address in .*: 1"),
        ('address = "ftp://here"', "Invalid address in .*ftp://here"),
        ('address = "https://0.0.0.0:443"', "must set a certificate and its key"),
        ('certificate = "a"\nkey = "b"', "only if, the address begins with https"),
        ("allow_all = false", "admits no one"),
        ('users = "ada"', "Invalid users in .*: 'ada'"),
        ("users = [1]", "Invalid users"),
        ("settings = { Spawner = 1 }", "Invalid hub.settings.Spawner"),
    ],
)
def test_what_cannot_be_is_said(line: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=text):
        read_hub_site(written(tmp_path, f"[hub]\n{line}"))


def test_without_a_file_the_hub_is_for_this_machine_alone(tmp_path: Path) -> None:
    assert read_hub_site(tmp_path / "none.toml").address == "http://127.0.0.1:8000"
    with pytest.raises(InvalidInput, match="Invalid hub in"):
        read_hub_site(written(tmp_path, "hub = 1"))


def test_a_site_file_that_is_named_has_to_be_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "site.toml"
    assert main(["hub", "check", "--config", str(missing)]) == 1
    assert f"{missing} does not exist" in capsys.readouterr().err
