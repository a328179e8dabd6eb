"""The widget's page code in a real browser, with a stand-in for the notebook's end of it."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect

import pellucid
from pellucid.client import widget
from tests.waiting import TIMEOUT_MS, wait_until

# What a notebook gives a widget, and nothing more. The kernel's answers are those of ViewerWidget.
NOTEBOOK = """<!doctype html><title>notebook</title><div id="cell"></div><script type="module">
import widget from "./widget.js";
const heard = new Set();
const traits = { port: %d, height: 540, image: "" };
const answers = { name: { name: "%s" }, code: { code: "%s" }, picture: { what: "The viewer has ended." } };
const model = {
  get: (name) => traits[name],
  on: (_, hear) => heard.add(hear),
  off: (_, hear) => heard.delete(hear),
  send: (asked) => setTimeout(() => [...heard].forEach((hear) => hear(answers[asked], [])), 0),
};
await widget.render({ model, el: document.getElementById("cell") });
</script>"""

# As it is exported: what is sent is answered by nobody.
EXPORTED = """<!doctype html><title>notebook</title><div id="cell"></div><script type="module">
import widget from "./widget.js";
const traits = { port: 1, height: 540, image: "%s" };
const model = { get: (name) => traits[name], on() {}, off() {}, send() {} };
widget.render({ model, el: document.getElementById("cell") });
</script>"""
DOT = "data:image/gif;base64,R0lGODlhAQABAIAAAP8AAP8AACwAAAAAAQABAAACAkQBADs="


@pytest.fixture
def notebook(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder whose files are served from another origin than the viewer's, and its address."""
    (tmp_path / "widget.js").write_text(Path(widget.__file__).with_suffix(".js").read_text())
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield tmp_path, f"http://127.0.0.1:{server.server_port}/notebook.html"
        server.shutdown()


def test_on_the_same_machine_the_page_is_live(
    browser: Browser, notebook: tuple[Path, str], viewer: pellucid.Viewer
) -> None:
    folder, address = notebook
    (folder / "notebook.html").write_text(NOTEBOOK % (viewer.port, urlsplit(viewer.address).hostname, viewer.code))
    page = browser.new_page()
    page.goto(address)
    frame = page.frame_locator("iframe")
    expect(frame.locator("canvas").first).to_be_visible(timeout=TIMEOUT_MS)
    wait_until(lambda: viewer._connection.ask("GET", "/api/statistics")["clients"] >= 1)
    page.close()


def test_where_the_viewer_cannot_be_reached_it_is_said(browser: Browser, notebook: tuple[Path, str]) -> None:
    folder, address = notebook
    (folder / "notebook.html").write_text(NOTEBOOK % (1, "none.localhost", "none"))
    page = browser.new_page()
    page.goto(address)
    expect(page.locator("figcaption")).to_have_text("The viewer has ended.", timeout=TIMEOUT_MS)
    assert page.locator("iframe").count() == 0
    page.close()


def test_an_exported_notebook_shows_the_first_image(browser: Browser, notebook: tuple[Path, str]) -> None:
    folder, address = notebook
    (folder / "notebook.html").write_text(EXPORTED % DOT)
    page = browser.new_page()
    page.goto(address)
    image = page.get_by_role("img", name="Pellucid")
    expect(image).to_be_visible(timeout=TIMEOUT_MS)
    assert image.evaluate("(image) => image.naturalWidth") == 1
    page.close()
