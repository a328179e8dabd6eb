"""A real JupyterHub with its proxy, on this machine, and people who can log in there.

Here: RunningHub: started, killed, started again; Person, made by useradd; a Python that others than root may run.
Not here: tests.
"""

import os
import re
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from websockets.sync.client import ClientConnection, connect

from tests.suite_report import ROOT, everybodys_python
from tests.waiting import TIMEOUT_S, wait_until

OVER = ("ended", "failed", "lost")


@dataclass
class Person:
    """Somebody with an account on this machine. hub: where they log in."""

    hub: "RunningHub"
    name: str
    home: Path
    password: str = field(default_factory=lambda: secrets.token_hex(8), repr=False)
    token: str = field(default="", repr=False)

    def make(self) -> None:
        self.home.parent.mkdir(exist_ok=True)
        command = ["useradd", "--create-home", "--home-dir", str(self.home), "--shell", "/bin/bash", self.name]
        subprocess.run(command, check=True, capture_output=True)
        self.home.chmod(0o700)
        subprocess.run(["chpasswd"], input=f"{self.name}:{self.password}", text=True, check=True)

    @property
    def prefix(self) -> str:
        return f"/user/{self.name}"

    @property
    def state_folder(self) -> Path:
        return self.home / ".local/state/pellucid"

    def run(self, source: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """A few lines of Python as this person."""
        command = ["runuser", "-u", self.name, "--", str(self.hub.python), "-c", source, *arguments]
        environment = self.hub.environment | {"HOME": str(self.home), "USER": self.name}
        return subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=self.home, timeout=TIMEOUT_S, env=environment
        )

    @contextmanager
    def browser(self) -> Iterator[httpx.Client]:
        """Logged in with the password, on the agent's own page."""
        with self.hub.client(follow_redirects=True, headers={"Accept": "text/html"}) as client:
            form = client.get("/hub/login").text
            xsrf = re.findall(r'name="_xsrf"\s+value="([^"]+)"', form)[0]
            client.post("/hub/login", data={"username": self.name, "password": self.password, "_xsrf": xsrf})
            wait_until(lambda: client.get(f"{self.prefix}/").url.path == f"{self.prefix}/", TIMEOUT_S)
            yield client

    def program(self) -> httpx.Client:
        """With a token of the Hub's, and the agent running."""
        if not self.token:
            with self.browser() as browser:
                xsrf = next(str(one.value) for one in browser.cookies.jar if (one.name, one.path) == ("_xsrf", "/hub/"))
                headers = {"X-XSRFToken": xsrf, "Referer": f"{self.hub.url}/hub/token"}
                answer = browser.post(f"/hub/api/users/{self.name}/tokens", json={}, headers=headers)
            self.token = answer.raise_for_status().json()["token"]
        client = self.hub.client(headers={"Authorization": f"Bearer {self.token}"})
        client.post(f"/hub/api/users/{self.name}/server")
        wait_until(lambda: self._is_ready(client), TIMEOUT_S)
        return client

    def _is_ready(self, client: httpx.Client) -> bool:
        return bool(client.get(f"/hub/api/users/{self.name}").json()["servers"].get("", {}).get("ready"))

    def start(self, client: httpx.Client, **request: object) -> dict[str, Any]:
        """A viewer, on this machine where nothing else is said; what is known of it."""
        request = {"device": "cpu", "overrides": {"scheduler": "local"}, **request}
        answer = client.post(f"{self.prefix}/api/instances", json=request)
        return dict(answer.raise_for_status().json())

    def until(self, client: httpx.Client, id: str, phase: str) -> dict[str, Any]:
        reply: dict[str, Any] = client.get(f"{self.prefix}/api/jobs/{id}").json()
        while reply["state"]["phase"] != phase:
            assert reply["state"]["phase"] not in OVER, reply["state"]
            request = {"not_phase": reply["state"]["phase"], "wait_s": 30}
            reply = client.get(f"{self.prefix}/api/jobs/{id}", params=request).json()
        return reply

    def remove(self) -> None:
        """With everything that runs for them."""
        wait_until(self._end_processes)
        subprocess.run(["userdel", "--remove", self.name], capture_output=True, check=False)

    def _end_processes(self) -> bool:
        found = _processes_of(self.home.stat().st_uid)
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not found


@dataclass
class RunningHub:
    """folder: everything of it; others may enter."""

    folder: Path
    environment: dict[str, str]
    python: Path
    people: list[Person] = field(default_factory=list)
    process: "subprocess.Popen[bytes] | None" = None

    def __post_init__(self) -> None:
        (self.port,) = _free_ports(1)
        self.url = f"https://127.0.0.1:{self.port}"
        certificate, key = _certificate(self.folder)
        self.trust = ssl.create_default_context(cafile=str(certificate))
        self.environment["SSL_CERT_FILE"] = str(certificate)
        lines = [
            f'scheduler = "{"slurm" if "SLURM_CONF" in self.environment else "local"}"', "poll_s = 0.5", "[hub]",
            f'address = "{self.url}"', f'certificate = "{certificate}"', f'key = "{key}"',
            f'folder = "{self.folder / "hub"}"', f'sockets = "{self.folder / "run"}"',
        ]  # fmt: skip
        (self.folder / "site.toml").write_text("\n".join(lines))

    def client(self, **options: Any) -> httpx.Client:
        return httpx.Client(base_url=self.url, verify=self.trust, timeout=TIMEOUT_S, **options)

    @contextmanager
    def websocket(self, path: str, **options: Any) -> Iterator[ClientConnection]:
        url = f"wss://127.0.0.1:{self.port}{path}"
        with connect(url, ssl=self.trust, max_size=None, **options) as socket:
            yield socket

    def start(self) -> None:
        """Until it answers. The proxy is started with the first, and stays."""
        command = [str(self.python), "-m", "pellucid", "hub", "--config", str(self.folder / "site.toml")]
        log = (self.folder / "hub.log").open("ab")
        with log:
            self.process = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log, cwd="/")
        wait_until(self._is_up, TIMEOUT_S)

    def stop(self) -> None:
        """The Hub alone."""
        if self.process is not None:
            self.process.terminate()
            self.process.wait(TIMEOUT_S)
            self.process = None

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Without a Hub until the block ends; the proxy stays."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def person(self, name: str) -> Person:
        made = Person(self, f"pl{secrets.token_hex(3)}{name}", self.folder / "homes" / name)
        self.people.append(made)
        made.make()
        return made

    def _is_up(self) -> bool:
        assert self.process is not None and self.process.poll() is None, (self.folder / "hub.log").read_text()
        try:
            return httpx.get(f"{self.url}/hub/api/", verify=self.trust).status_code == 200
        except httpx.HTTPError:
            return False

    def close(self) -> None:
        """Hub, proxy, people, and what runs for them."""
        self.stop()
        for pid in _mentioning(str(self.port), "proxy.mjs"):
            os.kill(pid, signal.SIGTERM)
        for person in self.people:
            person.remove()


@contextmanager
def running_hub(**environment: str) -> Iterator[RunningHub]:
    """A Hub until the block ends. Not in pytest's folders: those are closed to other people."""
    folder = Path(tempfile.mkdtemp(prefix="pellucid-hub-"))
    folder.chmod(0o755)
    hub = RunningHub(folder, _environment(folder) | environment, _python(folder))
    try:
        hub.start()
        yield hub
    finally:
        hub.close()
        shutil.rmtree(folder, ignore_errors=True)


def _python(folder: Path) -> Path:
    """With the packages of the one that runs the tests, which may lie where nobody else can go."""
    subprocess.run([str(everybodys_python()), "-m", "venv", "--without-pip", str(folder / "python")], check=True)
    packages = next(path for path in map(Path, sys.path) if path.name == "site-packages")
    lines = [f"import site; site.addsitedir({str(packages)!r})", str(ROOT / "src")]
    (target,) = (folder / "python/lib").glob("python*/site-packages")
    (target / "everything.pth").write_text("\n".join(lines) + "\n")
    return folder / "python/bin/python"


def _environment(folder: Path) -> dict[str, str]:
    """Kernels that are compiled serve everybody: else each person would wait for them anew."""
    kernels = folder / "kernels"
    compiled = Path(os.environ.get("PELLUCID_KERNEL_FOLDER", ROOT / ".kernels"))
    kernels.mkdir()
    # Other tests may compile while this copies: what is gone again by then is not missed.
    subprocess.run(["cp", "--recursive", f"{compiled}/.", str(kernels)], check=False, capture_output=True)
    subprocess.run(["chmod", "-R", "a+rwX", str(kernels)], check=True)
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return kept | {"HOME": "/root", "PELLUCID_KERNEL_FOLDER": str(kernels), "PELLUCID_DEVICE": "cpu"}


def _certificate(folder: Path) -> tuple[Path, Path]:
    """For this machine alone; the key is root's, as it would be at a site."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    command = [
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-batch",
        "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2", "-out", str(certificate),
        "-keyout", str(key),
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    key.chmod(0o600)
    return certificate, key


def _free_ports(count: int) -> list[int]:
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [int(probe.getsockname()[1]) for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def _processes_of(uid: int) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if folder.stat().st_uid == uid and (folder / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                found.append(int(folder.name))
    return found


def _mentioning(*words: str) -> list[int]:
    """Processes whose arguments have all of these."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            arguments = (folder / "cmdline").read_bytes().decode("latin-1")
            if all(word in arguments for word in words):
                found.append(int(folder.name))
    return found
