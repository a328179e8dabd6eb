"""Who gets in, and what is refused without harm."""

import json
import re
import socket
from http.client import HTTPConnection, HTTPResponse

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from pellucid.errors import InvalidInput
from pellucid.instance import app, connection
from pellucid.instance.app import NAMES
from pellucid.instance.protocol import LARGEST_MESSAGE_BYTES, VERSION
from pellucid.instance.server import HOST, Instance
from pellucid.rendering.renderer import Renderer
from pellucid.volume.volume import Volume
from tests.instance.loopback import PATIENCE_S, Page, address, open_page


def get(instance: Instance, path: str, headers: dict[str, str] | None = None) -> tuple[HTTPResponse, str]:
    line = HTTPConnection(HOST, instance.port, timeout=PATIENCE_S)
    line.request("GET", path, headers=headers or {})
    answer = line.getresponse()
    text = answer.read().decode()
    line.close()
    return answer, text


def is_alive(instance: Instance) -> bool:
    with open_page(instance) as page:
        return bool(page.exact_of(0).rgb.shape == (48, 64, 3))


def test_the_address_opens_the_page_and_leaves_a_cookie(instance: Instance) -> None:
    answer, text = get(instance, instance.url.partition(str(instance.port))[2])
    assert answer.status == 200 and "<title>Pellucid</title>" in text
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    for path in ("/", "/api/scene", *(f"/{name}" for name in NAMES)):
        assert get(instance, path, {"Cookie": cookie.partition(";")[0]})[0].status == 200, path


def test_the_page_asks_nobody_else(instance: Instance) -> None:
    answer, text = get(instance, f"/?token={instance.token}")
    assert re.findall(r"https?://", text) == []
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_the_scene_is_told(instance: Instance, volume: Volume) -> None:
    told = json.loads(get(instance, f"/api/scene?token={instance.token}")[1])
    assert (told["version"], told["revision"], told["device"]) == (VERSION, 0, "cpu")
    assert (told["volume"]["name"], tuple(told["volume"]["shape"])) == ("ball.npy", volume.shape)
    assert sum(told["volume"]["counts"]) == 24**3
    assert "isosurface" in told["choices"]["modes"]


@pytest.mark.parametrize(
    ("path", "words"),
    [("/", "no token"), ("/?token=", "no token"), ("/?token=wrong", "not the right one"), ("/viewer.js", "no token"),
     ("/api/scene", "no token"), ("/api/scene?token=%C3%A9", "not the right one"), ("/api/openapi.json", "no token"),
     ("/../pyproject.toml", "no token")],
)  # fmt: skip
def test_without_the_token_nothing_is_shown(instance: Instance, path: str, words: str) -> None:
    answer, text = get(instance, path)
    assert answer.status == 403
    assert words in text and "Open the whole address that" in text
    assert instance.token not in text and "set-cookie" not in answer.headers


def test_files_outside_the_page_are_not_served(instance: Instance) -> None:
    for path in ("/../app.py", "/..%2fapp.py", "/page/../app.py", "/app.py"):
        assert get(instance, f"{path}?token={instance.token}")[0].status == 404


@pytest.mark.parametrize("origin", ["http://example.org", "null", "http://127.0.0.1:1", "http://["])
def test_a_page_from_elsewhere_is_refused(instance: Instance, origin: str) -> None:
    with pytest.raises(InvalidStatus) as refused, connect(address(instance), additional_headers={"Origin": origin}):
        pass
    assert refused.value.response.status_code == 403
    assert get(instance, f"/api/scene?token={instance.token}", {"Origin": origin})[0].status == 403
    assert is_alive(instance)


@pytest.mark.parametrize("token", ["", "wrong"])
def test_a_socket_without_the_token_is_refused(instance: Instance, token: str) -> None:
    with pytest.raises(InvalidStatus) as refused, connect(address(instance, token)):
        pass
    assert refused.value.response.status_code == 403
    assert is_alive(instance)


def test_our_own_page_may_open_the_socket(instance: Instance) -> None:
    with open_page(instance, additional_headers={"Origin": f"http://127.0.0.1:{instance.port}"}) as page:
        assert page.hear_text("welcome")["version"] == VERSION


def test_an_oversized_message_ends_the_line_not_the_instance(instance: Instance) -> None:
    with open_page(instance) as page:
        page.hear_text("welcome")
        with pytest.raises(ConnectionClosed) as closed:
            page.socket.send("x" * (LARGEST_MESSAGE_BYTES + 1))
            while True:
                page.hear()
        assert closed.value.rcvd is not None and closed.value.rcvd.code == 1009
    assert is_alive(instance)


@pytest.mark.parametrize("message", ["", "{", "[]", '{"kind": "hello"}', '{"kind": "look", "camera": 3}', b"\x00\xff"])
def test_a_malformed_message_is_refused_and_the_line_stays(instance: Instance, message: str | bytes) -> None:
    with open_page(instance) as page:
        page.hear_text("welcome")
        page.socket.send(message)
        refusal = page.hear_text("refusal")
        assert refusal["what"] and refusal["do"] == "Reload the page."
        page.say("patch", revision=0, mode="max")
        assert page.hear_text("changed")["revision"] == 1


def test_another_version_is_told_so(instance: Instance) -> None:
    with connect(address(instance)) as line:
        page = Page(line)
        page.say("hello", version=VERSION + 1, width=9, height=9)
        assert "different versions" in page.hear_text("refusal")["what"]
        with pytest.raises(ConnectionClosed):
            page.hear()
    assert is_alive(instance)


def test_who_says_nothing_is_let_go(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "GREETING_S", 0.05)
    with connect(address(instance)) as line, pytest.raises(ConnectionClosed) as closed:
        line.recv(timeout=PATIENCE_S)
    assert closed.value.rcvd is not None and closed.value.rcvd.reason == "No greeting came."


def test_a_page_too_many_is_refused(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "MOST_CONNECTIONS", 1)
    with open_page(instance) as page:
        page.hear_text("welcome")
        with pytest.raises(InvalidStatus), connect(address(instance)):
            pass
        assert page.exact_of(0).header["width"] == 64


def test_a_taken_port_is_told(volume: Volume, renderer: Renderer) -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InvalidInput, match=f"Port {port} cannot be used") as refused:
            Instance(volume, renderer, port)
    assert "--port" in refused.value.do
