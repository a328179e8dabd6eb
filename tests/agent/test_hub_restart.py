"""The Hub is restarted while people work: nothing is lost, and open viewers stay open."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from pellucid.instance.protocol.shared_types import VERSION
from tests.agent.hub_site import Person, RunningHub
from tests.instance.loopback import Page, proved
from tests.slurm_cluster import can_run


@contextmanager
def open_viewer(ada: Person, id: str) -> Iterator[Page]:
    """A page of a viewer, through the Hub's proxy."""
    headers = {"Authorization": f"Bearer {ada.token}"}
    at = f"{ada.hub.url}{ada.prefix}/i/{id}/"
    given = ada.hub.client(headers=headers).post(f"{ada.prefix}/i/{id}/api/session", json={"address": at}).json()
    with ada.hub.websocket(f"{ada.prefix}/i/{id}/ws", additional_headers=headers) as socket:
        page = Page(socket)
        page.say("hello", version=VERSION, width=32, height=24, proof=proved(page, given, at))
        page.hear_text("state")
        yield page


def lease_of(person: Person) -> dict[str, Any]:
    lease: dict[str, Any] = json.loads((person.state_folder / "agent/agent.json").read_text())
    return lease


def test_a_hub_that_is_restarted_loses_nothing(hub: RunningHub, ada: Person) -> None:
    if not can_run():
        pytest.skip("needs Slurm")
    client = ada.program()
    running = ada.start(client)["id"]
    later = {"scheduler": "slurm", "options": ["--begin=now+1hour"]}
    queued = ada.start(client, name="later", overrides=later)["id"]
    ada.until(client, running, "running")
    ada.until(client, queued, "queued")
    before = lease_of(ada)["process"]
    with open_viewer(ada, running) as page:
        with hub.stopped():
            # Without a Hub: the page steers, another one is opened, the agent answers.
            page.patch("background", value=[0, 0, 0.2, 1])
            page.hear_text("state")
            with open_viewer(ada, running) as another:
                assert another.scene.background == (0, 0, 0.2, 1)
            assert {one["id"] for one in client.get(f"{ada.prefix}/api/jobs").json()} >= {running, queued}
        page.patch("background", value=[0, 0, 0.4, 1])
        assert page.hear_text("state")["scene"]["background"] == [0, 0, 0.4, 1]
    found = {one["id"]: one["state"]["phase"] for one in ada.program().get(f"{ada.prefix}/api/jobs").json()}
    assert (found[running], found[queued]) == ("running", "queued")
    assert lease_of(ada)["process"] == before  # The same agent, taken in by the new Hub.
    for id in (running, queued):
        client.delete(f"{ada.prefix}/api/jobs/{id}")
        ada.until(client, id, "ended")


def test_a_viewer_runs_on_a_node_as_the_person_who_asked(ada: Person) -> None:
    """Through the proxy, the agent and TLS: the picture comes from Slurm's node."""
    if not can_run():
        pytest.skip("needs Slurm")
    client = ada.program()
    id = ada.start(client, overrides={"scheduler": "slurm"})["id"]
    ada.until(client, id, "running")
    opened = client.post(f"{ada.prefix}/api/jobs/{id}/open").json()
    assert opened["direct"].startswith("https://") and "&pin=" in opened["direct"]
    about = client.get(f"{ada.prefix}/i/{id}/api/about").json()
    owner = ada.run(f"import os; print(os.stat('/proc/{about['pid']}').st_uid == os.getuid())")
    assert owner.stdout == "True\n"
    with open_viewer(ada, id) as page:
        assert page.state["revision"] >= 0
    client.delete(f"{ada.prefix}/api/jobs/{id}")
    ada.until(client, id, "ended")


def test_an_agent_of_the_command_line_makes_way_for_the_hubs(hub: RunningHub) -> None:
    """Its viewers stay; and the command line finds the Hub's agent."""
    eve = hub.person("eve")
    started = eve.run("import pellucid; print(pellucid.start(device='cpu', scheduler='local', wait=False).id)")
    assert started.stderr == ""
    id, first = started.stdout.strip(), lease_of(eve)["process"]
    client = eve.program()
    assert eve.until(client, id, "running")["id"] == id
    assert lease_of(eve)["process"] != first
    ended = eve.run(f"import pellucid; [one] = pellucid.instances(); one.pending.shutdown(); print(one.id == {id!r})")
    assert (ended.stdout, ended.stderr) == ("True\n", "")
    eve.until(client, id, "ended")
