"""Behind a real JupyterHub: who logs in gets their own agent, and nothing of anybody else's."""

import asyncio
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from websockets.exceptions import InvalidStatus

from pellucid.agent.app import create_app
from pellucid.agent.change_events import ChangeNotifier
from pellucid.agent.jobs.supervisor import JobSupervisor
from pellucid.instance.access.route_rules import RouteTable
from pellucid.instance.access.sessions import Access
from pellucid.instance.protocol.shared_types import VERSION
from pellucid.jobs.site import Site
from pellucid.volume.sample_volume import sample
from tests.agent.hub_site import Person, RunningHub
from tests.instance.loopback import Page, proved
from tests.instance.test_access import ROUTES as VIEWER_ROUTES

REFUSED = (401, 403, 404, 405)


@dataclass(frozen=True)
class Target:
    """ada's viewer, and the ways to it and to her agent. token: the viewer's."""

    client: httpx.Client
    id: str
    token: str
    agent_port: int
    viewer_port: int


@pytest.fixture(scope="module")
def target(ada: Person) -> Iterator[Target]:
    """A viewer with a file that only ada may read."""
    client = ada.program()
    save_volume(ada)
    id = ada.start(client, source=str(ada.home / "secret.npy"), roots=[str(ada.home)])["id"]
    ada.until(client, id, "running")
    address = json.loads((ada.state_folder / f"agent/jobs/{id}/address.json").read_text())
    lease = json.loads((ada.state_folder / "agent/agent.json").read_text())
    agent_port = int(lease["url"].split(":")[2].partition("/")[0])
    yield Target(client, id, address["token"], agent_port, address["port"])
    client.delete(f"{ada.prefix}/api/jobs/{id}")


def save_volume(ada: Person) -> None:
    """A file that only ada may read; also where this test runs alone."""
    np.save(ada.home / "secret.npy", sample(16))
    os.chown(ada.home / "secret.npy", *_owner(ada))


def _owner(person: Person) -> tuple[int, int]:
    found = person.home.stat()
    return found.st_uid, found.st_gid


def agent_routes(folder: Path) -> list[str]:
    """Every route of the agent that is not open to all, as "METHOD /path": those of later days too."""

    async def listed() -> list[str]:
        app = create_app(JobSupervisor(folder, Site()), Access(), ChangeNotifier())
        return [name for name, rule in RouteTable(app.routes).rules.items() if rule.capability is not None]

    return asyncio.run(listed())


def places(target: Target, ada: Person, folder: Path) -> list[str]:
    """Every route of ada's agent and of her viewer, through the Hub and straight at their ports."""
    own = [route.replace("{id}", target.id).replace("{batch}", "b").split(" ", 1) for route in agent_routes(folder)]
    shown = [route.replace("{", "").replace("}", "").split(" ", 1) for route in (*VIEWER_ROUTES, "GET /ws")]
    hub, agent = ada.hub.url + ada.prefix, f"http://127.0.0.1:{target.agent_port}"
    viewer = f"http://127.0.0.1:{target.viewer_port}"
    ways = [f"{method} {base}{path}" for base in (hub, agent + ada.prefix, agent) for method, path in own]
    bases = (f"{hub}/i/{target.id}", f"{agent}{ada.prefix}/i/{target.id}", f"{agent}/i/{target.id}", viewer)
    return ways + [f"{method} {base}{path}" for base in bases for method, path in shown]


def test_nobody_gets_anything_of_somebody_else(target: Target, ada: Person, bob: Person, tmp_path: Path) -> None:
    bob.program()
    with bob.browser() as theirs:
        cookies = {cookie.name: str(cookie.value) for cookie in theirs.cookies.jar}
    token = json.loads((bob.state_folder / "agent/agent.json").read_text())["token"]
    keys: dict[str, dict[str, Any]] = {
        "nothing": {},
        "bob's token": {"headers": {"Authorization": f"Bearer {bob.token}"}},
        "bob's agent's token": {"headers": {"Authorization": f"Bearer {token}"}},
        "bob's cookies": {"headers": {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}},
        "bob's token in the address": {"params": {"token": bob.token}},
    }
    before = target.client.get(f"{ada.prefix}/api/jobs").json()
    came_in = []
    with httpx.Client(timeout=60, verify=ada.hub.trust) as client:
        for place in (all_places := places(target, ada, tmp_path)):
            method, _, url = place.partition(" ")
            for name, key in keys.items():
                answer = client.request(method, url, **key)
                if answer.status_code not in REFUSED or "secret.npy" in answer.text or target.id in answer.text:
                    came_in.append(f"{place} with {name}: {answer.status_code}")
    assert came_in == []
    assert len(all_places) > 150
    assert target.client.get(f"{ada.prefix}/api/jobs").json() == before


def test_a_browser_is_sent_to_log_in_and_comes_no_further(target: Target, ada: Person, bob: Person) -> None:
    with bob.browser() as theirs:
        for path in ("/", f"/i/{target.id}/", "/api/jobs"):
            answer = theirs.get(ada.prefix + path)
            assert answer.status_code == 403 and answer.url.path == "/hub/api/oauth2/authorize", answer.url
            assert "You do not have permission to access" in answer.text
    with ada.hub.client(follow_redirects=True, headers={"Accept": "text/html"}) as nobody:
        assert nobody.get(f"{ada.prefix}/").url.path == "/hub/login"


def test_somebody_else_reaches_no_socket_and_no_file(target: Target, ada: Person, bob: Person) -> None:
    about = target.client.get(f"{ada.prefix}/i/{target.id}/api/about").json()
    identity = json.loads((ada.state_folder / "agent/identity.json").read_text())
    kept = [str(path) for path in ada.state_folder.rglob("*") if path.is_file()]
    script = """if True:
        import json, os, socket, sys
        reached = []
        for path in json.loads(sys.argv[1]):
            try:
                socket.socket(socket.AF_UNIX).connect(path)
                reached.append(path)
            except PermissionError:
                pass
        print([*reached, *(path for path in json.loads(sys.argv[2]) if os.path.exists(path) or os.access(path, 4))])"""
    sockets = [about["socket"], f"{identity['inner']}/socket"]
    done = bob.run(script, json.dumps(sockets), json.dumps(kept))
    assert (done.stdout, done.stderr) == ("[]\n", "")
    assert any(path.endswith("record.json") for path in kept)
    for path in (ada.state_folder / "agent").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0 or path.parent.stat().st_mode & 0o077 == 0, path


def test_secrets_are_in_nobody_elses_sight(target: Target, ada: Person, bob: Person) -> None:
    """What bob can read of all processes has no token of ada's."""
    script = """if True:
        from pathlib import Path
        for folder in Path("/proc").glob("[0-9]*"):
            for name in ("cmdline", "environ"):
                try:
                    print((folder / name).read_bytes().decode("latin-1"))
                except OSError:
                    pass"""
    shown = bob.run(script).stdout
    assert "pellucid.agent.main" in shown
    assert ada.token not in shown and target.token not in shown


@pytest.mark.parametrize(("origin", "is_let_in"), [("own", True), ("http://elsewhere.org", False), ("null", False)])
def test_only_its_own_pages_open_a_websocket(origin: str, is_let_in: bool, target: Target, ada: Person) -> None:
    at = f"{ada.hub.url}{ada.prefix}/i/{target.id}/"
    code = target.client.post(f"{ada.prefix}/api/jobs/{target.id}/open").json()["path"].partition("#code=")[2]
    with ada.browser() as client:
        own = {"Origin": ada.hub.url}
        opened = client.post(f"{ada.prefix}/i/{target.id}/api/session", json={"code": code, "address": at}, headers=own)
        assert opened.status_code == 200
        cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in client.cookies.jar)
    path = f"{ada.prefix}/i/{target.id}/ws"
    given: Any = {"origin": ada.hub.url if origin == "own" else origin, "additional_headers": {"Cookie": cookies}}
    if is_let_in:
        with ada.hub.websocket(path, **given) as socket:
            page = Page(socket)
            page.say("hello", version=VERSION, width=32, height=32, proof=proved(page, opened.json(), at))
            page.hear_text("welcome")
    else:
        with pytest.raises(InvalidStatus) as refused, ada.hub.websocket(path, **given):
            pass
        assert refused.value.response.status_code == 403


def test_a_cookie_changes_nothing_for_a_page_from_elsewhere(target: Target, ada: Person) -> None:
    with ada.browser() as client:
        for headers in ({}, {"Origin": "http://elsewhere.org"}):
            answer = client.delete(f"{ada.prefix}/api/jobs/{target.id}", headers=headers)
            assert answer.status_code == 403
        assert client.get(f"{ada.prefix}/api/jobs/{target.id}").json()["state"]["phase"] == "running"


def test_the_link_of_an_ended_viewer_opens_nothing(target: Target, ada: Person) -> None:
    client = target.client
    id = ada.start(client)["id"]
    ada.until(client, id, "running")
    code = client.post(f"{ada.prefix}/api/jobs/{id}/open").json()["path"].partition("#code=")[2]
    assert client.get(f"{ada.prefix}/i/{id}/api/about").status_code == 200
    client.delete(f"{ada.prefix}/api/jobs/{id}")
    ada.until(client, id, "ended")
    with ada.browser() as browser:
        own = {"Origin": ada.hub.url}
        for other, status in ((id, 404), (target.id, 403)):
            answer = browser.post(f"{ada.prefix}/i/{other}/api/session", json={"code": code}, headers=own)
            assert answer.status_code == status
    old = httpx.post(f"http://127.0.0.1:{target.viewer_port}/api/session", json={"code": code})
    assert old.status_code == 403


def test_logging_out_closes_the_agent_at_once(ada: Person, target: Target) -> None:
    with ada.browser() as client:
        assert client.get(f"{ada.prefix}/api/jobs").status_code == 200
        client.get("/hub/logout")
        assert client.get(f"{ada.prefix}/api/jobs", headers={"Accept": "*/*"}).status_code == 403


def test_a_program_works_through_the_hub(hub: RunningHub, ada: Person) -> None:
    """login, start, picture, end: as ada, with a token of hers, which is kept for her eyes only."""
    ada.program()
    script = """if True:
        import os, sys, pellucid
        pellucid.login(sys.argv[1] + "/hub/", sys.argv[2])
        with pellucid.start(device="cpu", source=sys.argv[3], scheduler="local") as viewer:
            assert viewer.url.startswith(sys.argv[1] + "/user/")
            assert [one.address for one in pellucid.instances()].count(viewer.address) == 1
            print(viewer.screenshot(32, 24).shape, viewer.state.phase)
            print(pellucid.connect(viewer.url).links["view"].startswith(sys.argv[1]))
        print(viewer.state.phase, oct(os.stat(sys.argv[4]).st_mode & 0o777))
        pellucid.logout()
        print(os.path.exists(sys.argv[4]))"""
    kept = ada.state_folder / "hub.json"
    save_volume(ada)
    done = ada.run(script, hub.url, ada.token, str(ada.home / "secret.npy"), str(kept))
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["(24, 32, 4) running", "True", "ended 0o600", "False"]


def test_a_wrong_token_is_said_so(hub: RunningHub, ada: Person) -> None:
    (ada.state_folder / "hub.json").unlink(missing_ok=True)
    done = ada.run(f"import pellucid; pellucid.login({hub.url!r}, 'wrong')")
    assert "The Hub rejected this token" in done.stderr and not (ada.state_folder / "hub.json").exists()


def test_hub_and_proxy_have_no_more_rights_than_they_need(hub: RunningHub, ada: Person, target: Target) -> None:
    """The proxy is nobody, an agent is its person; root is the Hub alone."""
    found: dict[str, set[str]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            arguments = (folder / "cmdline").read_bytes().decode("latin-1")
            for word in ("proxy.mjs", "pellucid.agent.main"):
                if word in arguments and (str(hub.port) in arguments or str(hub.folder) in arguments):
                    found.setdefault(word, set()).add(folder.owner())
    assert found["proxy.mjs"] == {"nobody"}
    assert ada.name in found["pellucid.agent.main"] and "root" not in found["pellucid.agent.main"]
