"""Who gets in, what each link allows, and what is refused without harm."""

import re
import socket
import struct
from pathlib import Path
from typing import get_args

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from pellucid.errors import DeviceUnavailable, InvalidInput
from pellucid.instance.access.capabilities import RANKS, allows
from pellucid.instance.protocol import client_messages
from pellucid.instance.protocol.shared_types import MAX_MESSAGE_BYTES, VERSION, Capability
from pellucid.instance.routes.static_page import page_files
from pellucid.instance.server import HOST, Instance
from pellucid.instance.session import SessionOptions
from pellucid.instance.websocket import connection
from tests.instance.loopback import Page, address, begun, http, interface, open_page, proved, secret
from tests.waiting import TIMEOUT_S

# What each route needs. A route that is not listed fails the test below.
ROUTES: dict[str, Capability] = {
    "GET /api/about": "view",
    "GET /api/scene": "view",
    "GET /api/statistics": "view",
    "PATCH /api/scene": "control",
    "PUT /api/camera": "control",
    "POST /api/camera/fit": "control",
    "POST /api/auto": "control",
    "GET /api/screenshot": "control",
    "POST /api/figures": "control",
    "PUT /api/presets": "control",
    "POST /api/probe": "control",
    "POST /api/presets/parse": "control",
    "GET /api/presets/paraview": "control",
    "POST /api/profile": "control",
    "GET /api/labels": "control",
    "POST /api/paint": "control",
    "POST /api/labels/save": "own",
    "POST /api/undo": "own",
    "POST /api/redo": "own",
    "POST /api/slices/window": "control",
    "GET /api/measures": "control",
    "POST /api/regions": "control",
    "POST /api/movies": "control",
    "POST /api/movies/moments": "control",
    "POST /api/movies/path": "control",
    "GET /api/tasks/{task}": "control",
    "DELETE /api/tasks/{task}": "control",
    "GET /api/tasks/{task}/result": "control",
    "POST /api/networks": "own",
    "POST /api/models": "own",
    "PATCH /api/models/{task}": "own",
    "PUT /api/training": "own",
    "DELETE /api/training": "own",
    "PUT /api/compare": "control",
    "POST /api/exports": "own",
    "GET /api/volume": "own",
    "GET /api/state": "own",
    "PUT /api/state": "own",
    "POST /api/links": "own",
    "POST /api/links/{name}/open": "own",
    "GET /api/shares": "own",
    "POST /api/shares": "own",
    "DELETE /api/shares/{id}": "own",
    "POST /api/codes": "own",
    "POST /api/tickets": "view",
    "GET /api/files": "own",
    "GET /api/files/info": "own",
    "GET /api/files/slice": "own",
    "POST /api/load": "own",
    "GET /api/recent": "own",
    "DELETE /api/recent": "own",
    "POST /api/sample": "own",
    "PUT /api/upload": "own",
    "POST /api/arrays": "own",
    "PUT /api/arrays/{id}": "own",
    "POST /api/arrays/{id}/show": "own",
    "POST /api/shadings": "own",
    "POST /api/shadings/{hash}/approve": "own",
    "POST /api/scans/describe": "own",
    "GET /api/scans/datasets": "own",
    "POST /api/scans/axis": "own",
    "POST /api/scans/preview": "own",
    "POST /api/reconstructions": "own",
    "POST /api/reconstructions/command": "own",
    "GET /api/reconstructions/{task}/log": "own",
    "GET /api/denoisings": "own",
    "POST /api/denoisings": "own",
    "POST /api/denoisings/{task}/keep": "own",
    "GET /api/denoisings/{task}/images/{side}": "own",
    "POST /api/shutdown": "own",
}
# One message of each type that a page can say after its greeting.
MESSAGES: dict[type[client_messages.Incoming], dict[str, object]] = {
    client_messages.Resize: {"width": 64, "height": 48},
    client_messages.Acknowledge: {"number": 1},
    client_messages.RequestKeyFrame: {},
    client_messages.Probe: {"x": 0.5, "y": 0.5},
    client_messages.ShowSlices: {"views": [{"axis": "z", "width": 64, "height": 48}]},
    client_messages.ProbeSlice: {"axis": "z", "x": 0.5, "y": 0.5},
    client_messages.AcknowledgeSlice: {"axis": "z", "number": 1},
    client_messages.SetCamera: {"camera": {}, "is_moving": True},
    client_messages.Patch: {"revision": -1, "changes": []},
    client_messages.Undo: {},
    client_messages.Redo: {},
    client_messages.Compare: {"is_on": False},
    client_messages.Arrange: {"arrangement": "beside"},
    client_messages.Slices: {"voxel": None},
    client_messages.RequestControls: {},
    client_messages.HandOverControls: {},
    client_messages.KeepAlive: {},
    client_messages.CancelTask: {"task": "none"},
    client_messages.SaveDraft: {"scan": "/nowhere.h5", "draft": None, "is_open": False},
}


def is_alive(instance: Instance) -> bool:
    with open_page(instance) as page:
        return bool(page.exact().rgb.shape == (48, 64, 3))


def route_names() -> set[str]:
    paths = interface()["paths"]
    return {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}


def test_every_route_is_listed_here() -> None:
    assert route_names() == {*ROUTES, "POST /api/session", "POST /api/prove"}


@pytest.mark.parametrize("has", get_args(Capability))
@pytest.mark.parametrize("route", [name for name in ROUTES if "shutdown" not in name])
def test_a_route_is_open_to_those_who_may(instance: Instance, route: str, has: Capability) -> None:
    method, path = route.split(" ")
    for name in ("task", "id", "hash"):
        path = path.replace("{" + name + "}", "none")
    path = path.replace("{name}", "0123456789")
    with http(instance, has) as client:
        answer = client.request(method, path, params={"width": 8, "height": 8, "name": "x.npy", "path": "/nowhere"})
    is_refused = answer.status_code == 403 and "This link is for" in answer.text
    assert is_refused == (not allows(has, ROUTES[route])), answer.text


def test_a_page_that_opened_the_viewers_page_has_no_hold_on_it(instance: Instance) -> None:
    answer = httpx.get(instance.address)
    assert (answer.status_code, answer.headers["cross-origin-opener-policy"]) == (200, "same-origin")


def test_the_end_is_the_owners(instance: Instance) -> None:
    for has in ("view", "control"):
        with http(instance, has) as client:
            assert client.post("/api/shutdown").status_code == 403
    assert is_alive(instance)


def test_every_message_is_listed_here() -> None:
    assert set(MESSAGES) | {client_messages.Prove, client_messages.Hello} == set(get_args(client_messages.Incoming))


@pytest.mark.parametrize("has", get_args(Capability))
@pytest.mark.parametrize("kind", MESSAGES, ids=lambda kind: kind.__name__)
def test_a_message_is_heard_from_those_who_may(
    instance: Instance, kind: type[client_messages.Incoming], has: Capability
) -> None:
    tag = str(kind.__dataclass_fields__["type"].default)
    with open_page(instance, has) as page:
        message = dict(MESSAGES[kind])
        if "camera" in message:
            message["camera"] = page.state["scene"]["camera"]
        page.say(tag, **message)
        page.socket.send("{")  # Its refusal closes the list of what was heard.
        refusals: list[str] = []
        while not refusals or "Invalid message" not in refusals[-1]:
            refusals.append(page.hear_text("error")["what"])
    is_refused = any("This link is for" in refusal for refusal in refusals)
    assert is_refused == (not allows(has, client_messages.NEEDED[kind])), refusals


def test_who_steers_may_not_name_another_file(instance: Instance, folder: Path) -> None:
    path = str(folder / "labels.npy")
    with open_page(instance, "control") as page:
        page.patch("volumes", 0, "source", value=path)
        assert "This link is for" in page.hear_text("error")["what"]
    with http(instance, "control") as client:
        body = {"changes": [{"path": ["volumes", 0, "source"], "value": path}]}
        assert client.patch("/api/scene", json=body).status_code == 403


def test_paths_are_shown_to_owners_alone(instance: Instance, source: str) -> None:
    for has in RANKS:
        with open_page(instance, has) as page, http(instance, has) as client:
            wanted = source if has == "own" else "ball.npy"
            assert page.state["scene"]["volumes"][0]["source"] == wanted
            assert client.get("/api/scene").json()["scene"]["volumes"][0]["source"] == wanted
            assert (client.get("/api/about").json()["socket"] == "") == (has != "own")


def test_a_program_that_steers_waits_for_the_controls(fresh: Instance) -> None:
    body = {"changes": [{"path": ["step"], "value": 1.0}]}
    with http(fresh, "control") as steering, http(fresh) as owning:
        with open_page(fresh, name="Ada"):
            refused = steering.patch("/api/scene", json=body)
            assert refused.status_code == 403 and "Ada has the controls" in refused.text
            assert owning.patch("/api/scene", json=body).status_code == 200
        while owning.get("/api/statistics").json()["clients"]:
            pass
        assert steering.patch("/api/scene", json=body).status_code == 200


def test_one_has_the_controls_and_others_ask(fresh: Instance) -> None:
    with open_page(fresh, name="Ada") as ada, open_page(fresh, "control", name="Ben") as ben:
        ben.hear_text("controls")
        ben.look(ben.scene.camera.turned(5.0), is_moving=False)
        assert "Ada has the controls" in ben.hear_text("error")["what"]
        ben.say("request_controls")
        while not (request := ada.hear_text("controls"))["asking"]:
            pass
        assert [client["name"] for client in request["clients"]] == ["Ada", "Ben"]
        ada.say("hand_over_controls", client=request["asking"][0])
        while ben.hear_text("controls")["holder"] != ben.client:
            pass
        camera = ben.scene.camera.turned(5.0)
        ben.look(camera, is_moving=False)
        assert ada.exact(camera=camera).header["is_exact"]


def test_the_page_is_open_to_all_and_sets_no_cookie(instance: Instance) -> None:
    with http(instance) as client:
        del client.headers["Authorization"]
        for path in ("/", "/api/docs", "/api/openapi.json", *(f"/{name}" for name in page_files())):
            answer = client.get(path)
            assert answer.status_code == 200 and "set-cookie" not in answer.headers, path
            assert secret(instance) not in answer.text


def test_the_page_asks_nobody_else(instance: Instance) -> None:
    with http(instance) as client:
        for path in ("/", "/api/docs"):
            answer = client.get(path)
            assert re.findall(r"(?:src|href)=\"https?://", answer.text) == []
            assert "default-src 'none'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize("given", ["", "wrong", "\u00e9"])
@pytest.mark.parametrize("path", ["/api/scene", "/api/about", "/api/screenshot", "/api/scene?ticket=wrong"])
def test_without_access_nothing_is_shown(instance: Instance, path: str, given: str) -> None:
    for name, value in (
        ("Authorization", f"Bearer x{given}"),
        ("Pellucid-Session", f"x{given}"),
        ("Cookie", f"a={given}"),
    ):
        answer = httpx.get(f"http://{HOST}:{instance.port}{path}", headers={name.encode(): value.encode()})
        assert answer.status_code == 403 and "has no valid token" in answer.text
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert not any(secret(instance, has) in answer.text for has in RANKS)


@pytest.mark.parametrize("query", ["token", "code", "share"])
def test_no_secret_is_taken_from_an_address(instance: Instance, query: str) -> None:
    for has in RANKS:
        assert httpx.get(f"http://{HOST}:{instance.port}/api/scene?{query}={secret(instance, has)}").status_code == 403


def test_files_outside_the_page_are_not_served(instance: Instance) -> None:
    with http(instance) as client:
        for path in ("/../app.py", "/..%2fapp.py", "/page/../app.py", "/app.py"):
            assert client.get(path).status_code == 404


@pytest.mark.parametrize("origin", ["http://example.org", "null", "http://127.0.0.1:1", "http://["])
def test_a_page_from_elsewhere_is_refused(instance: Instance, origin: str) -> None:
    with pytest.raises(InvalidStatus) as refused, connect(address(instance), additional_headers={"Origin": origin}):
        pass
    assert refused.value.response.status_code == 403
    with http(instance) as client:
        assert client.get("/api/scene", headers={"Origin": origin}).status_code == 403
        assert client.post("/api/shutdown", headers={"Origin": origin}).status_code == 403
        assert client.get("/api/scene", headers={"Origin": f"http://{HOST}:{instance.port}"}).status_code == 200
    assert is_alive(instance)


def test_an_oversized_message_ends_the_line_not_the_instance(instance: Instance) -> None:
    # Only the head of the message: were its body under way when the instance closes, the reason could be lost with it.
    text, masked = 0x81, 0xFF
    head = struct.pack("!BBQI", text, masked, MAX_MESSAGE_BYTES + 1, 0)
    with open_page(instance) as page:
        page.socket.socket.sendall(head)
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                page.hear()
        assert closed.value.rcvd is not None and closed.value.rcvd.code == 1009
    assert is_alive(instance)


@pytest.mark.parametrize(
    "message", ["", "{", "[]", '{"type": "hello"}', '{"type": "set_camera", "camera": 3}', b"\x00\xff"]
)
def test_a_malformed_message_is_refused_and_the_line_stays(instance: Instance, message: str | bytes) -> None:
    with open_page(instance) as page:
        page.socket.send(message)
        refusal = page.hear_text("error")
        assert refusal["what"] and refusal["remedy"] == "Reload the page."
        page.say("keep_alive")
        assert page.hear_text("idle")["seconds_left"] > 0


def test_another_version_is_told_so(instance: Instance) -> None:
    with connect(address(instance)) as line:
        page = Page(line)
        proof = proved(page, begun(instance), instance.address)
        page.say("hello", version=VERSION + 1, width=9, height=9, proof=proof)
        assert "different versions" in page.hear_text("error")["what"]
        with pytest.raises(ConnectionClosed) as closed:
            page.hear()
    assert closed.value.rcvd is not None and closed.value.rcvd.code == 4000


def test_who_says_nothing_is_let_go(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "GREETING_S", 0.05)
    with connect(address(instance)) as line, pytest.raises(ConnectionClosed) as closed:
        line.recv(timeout=TIMEOUT_S)
    assert closed.value.rcvd is not None and closed.value.rcvd.reason == "The page sent no hello."
    assert closed.value.rcvd.code == 4006  # Not that of another version: the page tries again.


def test_a_page_too_many_is_refused(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MAX_CLIENTS", 1)
    with open_page(instance) as page:
        with pytest.raises(InvalidStatus), connect(address(instance)):
            pass
        assert page.exact().header["width"] == 64


def test_a_taken_port_is_told(source: str) -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InvalidInput, match=f"Cannot use port {port}") as refused:
            Instance(source, port=port)
    assert "--port" in refused.value.remedy


def test_a_device_that_is_not_there_is_told_before_there_is_an_address(source: str) -> None:
    with pytest.raises(DeviceUnavailable, match="cuda:99"):
        Instance(source, SessionOptions("cuda:99"))
