"""A viewer behind a notebook server's proxy: its page, its requests and its WebSocket work below the proxy's prefix."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from websockets.sync.client import connect
from websockets.typing import Origin

import pellucid
from pellucid.instance.access.proofs import sign
from pellucid.instance.protocol.shared_types import VERSION
from tests.waiting import TIMEOUT_S

SERVED = re.compile(r"http://127\.0\.0\.1:(\d+)/lab-less/")


@pytest.fixture(scope="module")
def notebook_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A notebook server with a prefix, as behind a hub; its port."""
    folder = tmp_path_factory.mktemp("server")
    settings = ["--ServerApp.base_url=/lab-less/", "--IdentityProvider.token=", "--ServerApp.allow_root=True"]
    process = subprocess.Popen(
        [sys.executable, "-m", "jupyter_server", "--no-browser", "--port=0", "--ip=127.0.0.1", *settings],
        cwd=folder, stderr=subprocess.PIPE, text=True, env={**os.environ, **_folders(folder)},
    )  # fmt: skip
    assert process.stderr is not None
    text = ""
    for line in process.stderr:
        text += line
        if found := SERVED.search(line):
            break
    else:
        pytest.fail(text)
    yield int(found[1])
    process.terminate()
    process.communicate()


def _folders(folder: Path) -> dict[str, str]:
    return {f"JUPYTER_{kind}_DIR": str(folder / kind) for kind in ("CONFIG", "DATA", "RUNTIME")}


def test_below_the_prefix_of_a_notebook_server(notebook_server: int, viewer: pellucid.Viewer) -> None:
    prefix = f"/lab-less/proxy/{viewer.port}/"
    origin = f"http://127.0.0.1:{notebook_server}"
    with httpx.Client(base_url=origin + prefix, timeout=TIMEOUT_S) as browser:
        request = browser.get("api/about")
        assert request.status_code == 403, request.text
        page = browser.get("")
        assert page.status_code == 200 and "<title>Pellucid</title>" in page.text
        assert not [one for one in browser.cookies.jar if one.name.startswith("pellucid")]
        given = browser.post("api/session", json={"code": viewer.code, "address": origin + prefix}).json()
        browser.headers["Pellucid-Session"] = given["token"]
        assert browser.get("api/about").json()["capability"] == "own"
        patch = {"changes": [{"path": ["volumes", 0, "shading"], "value": "none"}]}
        assert browser.patch("api/scene", json=patch, headers={"Origin": origin}).status_code == 200
    assert viewer.shading == "none"
    address = f"ws://127.0.0.1:{notebook_server}{prefix}ws"
    with connect(address, origin=Origin(origin), max_size=None) as socket:
        socket.send(json.dumps({"type": "prove", "session": given["session"], "nonce": "mine"}))
        text = json.loads(socket.recv(timeout=TIMEOUT_S))
        words = ("mine", text["nonce"], origin + prefix)
        assert text["proof"] == sign(given["key"], "server", *words)
        proof = sign(given["key"], "page", *words)
        hello = {"type": "hello", "version": VERSION, "width": 64, "height": 48, "encodings": ["jpeg", "png"]}
        socket.send(json.dumps(hello | {"proof": proof}))
        assert json.loads(socket.recv(timeout=TIMEOUT_S))["type"] == "welcome"
        while isinstance(socket.recv(timeout=TIMEOUT_S), str):
            pass  # The first that is no text is a picture.


def test_a_page_from_elsewhere_is_refused_also_there(notebook_server: int, viewer: pellucid.Viewer) -> None:
    address = f"http://127.0.0.1:{notebook_server}/lab-less/proxy/{viewer.port}/api/about"
    with httpx.Client(timeout=TIMEOUT_S) as browser:
        reply = browser.get(address, headers={"Origin": "http://evil.example"})
    assert reply.status_code == 403
