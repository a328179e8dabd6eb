"""What proxy, Hub and agents send each other reaches no other user, also where one of them has ended."""

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from pellucid.agent.hub.sockets import HubSockets, listen_for_all, socket_path
from pellucid.errors import InvalidInput
from pellucid.jobs.process_identity import ProcessId
from tests.agent.hub_site import Person, RunningHub
from tests.waiting import wait_until

SEIZE = """
import os, socket, sys
path = sys.argv[1]
bind = socket.socket(socket.AF_UNIX).bind
for name, act in (("removed", os.unlink), ("renamed", lambda path: os.rename(path, path + "-")), ("bound", bind)):
    try:
        act(path)
        print(name)
    except OSError:
        pass
"""


def seized(person: Person, path: Path) -> str:
    """What this person can do with a socket's path."""
    done = person.run(SEIZE, str(path))
    assert done.returncode == 0, done.stderr
    return done.stdout


def listening_ports(pid: int) -> set[int]:
    found = subprocess.run(["ss", "-lntpH"], capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in found.splitlines() if f"pid={pid}," in line]
    return {int(line[3].rpartition(":")[2]) for line in lines}


def sockets_of(hub: RunningHub) -> HubSockets:
    return HubSockets(hub.folder / "run")


def routes(hub: RunningHub) -> dict[str, str]:
    """Where the proxy leads, by path."""
    secret = (hub.folder / "hub/proxy_secret").read_text().strip()
    with httpx.Client(transport=httpx.HTTPTransport(uds=str(sockets_of(hub).proxy_api))) as client:
        answer = client.get("http://localhost/api/routes", headers={"Authorization": f"token {secret}"})
    return {path: str(route["target"]) for path, route in answer.raise_for_status().json().items()}


def test_no_port_can_be_taken_over_and_no_socket(hub: RunningHub, ada: Person, bob: Person) -> None:
    ada.program()
    assert hub.process is not None
    assert listening_ports(hub.process.pid) == set()
    proxy = next(pid for pid in _pids("proxy.mjs") if hub.port in listening_ports(pid))
    assert listening_ports(proxy) == {hub.port}
    targets = routes(hub)
    assert set(targets) >= {"/", f"{ada.prefix}"}
    hers = (sockets_of(hub).proxy_api, socket_path(targets["/"]), socket_path(targets[ada.prefix]))
    for path in hers:  # A route of an account that is gone may lead to what has bob's number now.
        assert path.is_socket() and seized(bob, path) == "", path


def test_while_the_hub_is_down_no_one_gets_passwords(hub: RunningHub, ada: Person, bob: Person) -> None:
    with hub.stopped(), hub.client() as client:
        path = sockets_of(hub).hub
        assert seized(bob, path) == ""
        answer = client.post("/hub/login", data={"username": ada.name, "password": ada.password})
        assert answer.status_code == 503


def test_when_an_agent_was_killed_no_one_gets_its_requests(hub: RunningHub, ada: Person, bob: Person) -> None:
    client = ada.program()
    path = socket_path(routes(hub)[ada.prefix])
    agent = ProcessId.parse(json.loads((ada.state_folder / "agent/agent.json").read_text())["process"])
    os.kill(agent.pid, signal.SIGKILL)
    wait_until(lambda: not agent.is_alive)
    assert seized(bob, path) == ""
    answer = client.get(f"{ada.prefix}/api/jobs")
    assert answer.status_code != 200  # 503, or the Hub has noticed and asks for a new agent.
    client.delete(f"/hub/api/users/{ada.name}/server")  # The Hub looks only now and then.
    assert ada.program().get(f"{ada.prefix}/api/jobs").status_code == 200


def _pids(word: str) -> list[int]:
    found = subprocess.run(["pgrep", "-f", word], capture_output=True, text=True, check=True).stdout
    return [int(pid) for pid in found.split()]


@pytest.fixture
def folder() -> Iterator[Path]:
    """With a short name: a socket's path has room for 107 bytes."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def test_folders_belong_to_those_who_listen_there(folder: Path) -> None:
    sockets = HubSockets(folder / "run")
    for _ in range(2):  # At a restart they are there.
        sockets.prepare()
        sockets.prepare_proxy(os.geteuid())
        sockets.prepare_agent(os.geteuid())
    modes = [path.stat().st_mode & 0o777 for path in (sockets.folder, sockets.proxy_api.parent)]
    assert modes == [0o755, 0o700] and sockets.problem == ""
    path = sockets.agent(os.geteuid())
    for _ in range(2):
        listen_for_all(path).close()
    assert path.stat().st_mode & 0o777 == 0o666 and path.parent.stat().st_mode & 0o777 == 0o711
    sockets.folder.chmod(0o777)
    assert "can write to" in sockets.problem


def test_a_folder_of_another_user_is_refused(folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    sockets = HubSockets(folder / "run")
    sockets.folder.mkdir()
    os.chown(sockets.folder, 65534, -1)
    with pytest.raises(InvalidInput, match="belongs to another user"):
        sockets.prepare()
    with pytest.raises(InvalidInput, match="too long"):
        HubSockets(folder / ("x" * 100)).prepare()


def test_urls_of_ports_are_none() -> None:
    with pytest.raises(ValueError, match="not the URL of a socket"):
        socket_path("http://127.0.0.1:8081/hub/api")
