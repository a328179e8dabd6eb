"""What is given to sites along with the product is what the product takes."""

import os
import re
import shlex
import signal
import stat
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from pellucid.agent.hub import preflight
from pellucid.agent.hub.site_config import HubSite, read_hub_site
from pellucid.cli.commands import hub
from pellucid.cli.main import _parser
from pellucid.jobs.site import Site, read_site
from tests.suite_report import ROOT

DEPLOY = ROOT / "deploy"


def test_the_site_file_that_one_begins_with_is_read() -> None:
    assert read_site(DEPLOY / "site.toml").scheduler == "slurm"
    assert read_hub_site(DEPLOY / "site.toml").port == 443


@pytest.mark.parametrize("name", ["pellucid-hub", "pellucid-proxy"])
def test_units_call_a_command_that_exists(name: str) -> None:
    unit = (DEPLOY / f"{name}.service").read_text()
    (line,) = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
    program, *arguments = shlex.split(line)
    assert program.endswith("/bin/pellucid") and _parser().parse_args(arguments).run is hub.run
    credentials = set(re.findall(r"^LoadCredential=(\w+):", unit, re.MULTILINE))
    assert credentials == ({"certificate", "key", "proxy_secret"} if name == "pellucid-proxy" else set())


def test_the_app_for_open_ondemand_finds_port_and_token(tmp_path: Path) -> None:
    """Its script as bash runs it, with no file chosen."""
    script = re.sub(r"<%=.*?%>", "", (DEPLOY / "ondemand/template/before.sh.erb").read_text())
    script = script.replace("/opt/pellucid/bin/pellucid", f"{shlex.quote(sys.executable)} -m pellucid")
    script = script.replace("--network", "--network --device cpu")
    script += '\necho "$viewer $port $token"\n'
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "HOME": str(tmp_path)}
    run = {"cwd": tmp_path, "env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "timeout": 60}
    done = subprocess.run(["bash", "-c", script], check=True, **run)  # type: ignore[call-overload]
    viewer, port, token = done.stdout.decode().split()
    url = f"https://127.0.0.1:{port}/api"
    # As through the portal, which says what it was asked for.
    portal = {"Authorization": f"Bearer {token}", "Origin": "https://portal.org", "X-Forwarded-Host": "portal.org"}
    try:
        with httpx.Client(verify=False, headers=portal, timeout=120) as client:
            assert client.get(f"{url}/about").json()["pid"] == int(viewer)
    finally:
        os.kill(int(viewer), signal.SIGTERM)
    assert stat.S_IMODE((tmp_path / "address.txt").stat().st_mode) == 0o600


def test_the_check_says_what_would_not_work(tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    key.write_text("no key")
    key.chmod(0o644)
    site = HubSite(address="https://0.0.0.0", certificate=str(key), key=str(key))
    found = "\n".join(preflight.find_problems(site, Site("slurm"), tmp_path / "site.toml"))
    assert f"Cannot use {key} and {key}" in found
    assert f"All users can read {key}, which contains secrets" in found
    assert f"Other users cannot access {tmp_path / 'site.toml'}. Run chmod" in found  # pytest's folders are closed.


def test_the_check_makes_what_hub_and_proxy_share(tmp_path: Path) -> None:
    preflight.prepare(HubSite(folder=str(tmp_path / "hub")))
    assert stat.S_IMODE((tmp_path / "hub/proxy_secret").stat().st_mode) == 0o600
