"""The C API against a real viewer: over http and https, through the agent, and from another host.

Here: everything that a C program does with a viewer that means well.
Not here: those that mean ill (test_c_hostile), arrays between programs (test_c).
"""

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import numpy as np
import pytest

import pellucid
from tests.agent.processes import end_everything
from tests.clients.programs import VALGRIND, printed_address
from tests.infer.small_networks import convolution
from tests.transport.namespaces import two_hosts
from tests.transport.relay import Relay
from tests.waiting import TIMEOUT_S

STEPS = ("query", "named", "screenshot", "allocate", "stream", "render_points", "load", "shutdown")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a scan in it; the folder of a person of whom nothing runs yet."""
    monkeypatch.setenv("PELLUCID_STATE_FOLDER", str(tmp_path / "state"))
    monkeypatch.setenv("PELLUCID_SITE_FILE", str(tmp_path / "site.toml"))
    monkeypatch.chdir(tmp_path)
    np.save(tmp_path / "scan.npy", np.arange(27, dtype=np.uint8).reshape(3, 3, 3))
    return tmp_path


def driven(*command: object) -> dict[str, str]:
    """What the program says of each step; it ends well, with nothing to complain about."""
    arguments = [str(part) for part in command]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=TIMEOUT_S)
    assert done.stderr == "" and done.returncode in (0, 1), (done.returncode, done.stderr)
    return dict(line.split(": ", 1) for line in done.stdout.splitlines())


def check(text: dict[str, str], lane: str, beginning: str = "connect") -> None:
    """Everything worked, and voxels went that way."""
    assert {step: text.get(step) for step in (beginning, *STEPS)} == dict.fromkeys((beginning, *STEPS), "ok")
    assert text["render_volume"] == lane
    for step in ("retrieve_volume", "allocated", "streamed"):
        assert text[step] == f"the same {lane}"
    assert int(text["pixels"]) > 200
    assert "/nowhere/at/all.npy" in text["missing"]
    assert text["remedy"].endswith(".")


@contextmanager
def on_the_network(folder: Path, *prefix: str) -> Iterator[str]:
    """``pellucid view --network``, and the address that it prints."""
    command = [
        *prefix,
        sys.executable,
        "-m",
        "pellucid.cli.main",
        "view",
        "--network",
        "--no-browser",
        "--device",
        "cpu",
    ]
    with subprocess.Popen([*command, str(folder / "scan.npy")], text=True, stdout=subprocess.PIPE) as child:
        try:
            yield printed_address(child)
        finally:
            child.terminate()


def pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while content := source.recv(2**16):
            target.sendall(content)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


@contextmanager
def in_between(url: str, transfer: str, hands_through: bool = False) -> Iterator[str]:
    """An address for the same viewer that tells of another transport: as from elsewhere, or over a bad network.

    hands_through: whether it knows WebSockets, as a good proxy does.
    """
    place = urlsplit(url)

    class Handler(BaseHTTPRequestHandler):
        def splice(self) -> None:
            with socket.create_connection((place.hostname, place.port)) as further:
                further.sendall(f"{self.requestline}\r\n{self.headers}".encode())
                back = Thread(target=pump, args=(further, self.connection))
                back.start()
                pump(self.connection, further)
                back.join()
            self.close_connection = True

        def forward(self) -> None:
            if "Upgrade" in self.headers and hands_through:
                return self.splice()
            return self.answer()

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            further = HTTPConnection(place.netloc, timeout=TIMEOUT_S)
            kept = {key: self.headers[key] for key in ("Authorization", "Content-Type") if key in self.headers}
            further.request(self.command, self.path, body, kept)
            answer = further.getresponse()
            content = answer.read()
            if self.path == "/api/about":
                content = json.dumps({**json.loads(content), "transfer": transfer}).encode()
            self.send_response(answer.status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_POST = forward  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/#{place.fragment}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("lane", ["shm", "tcp"])
def test_a_viewer_on_this_machine(lane: str, build: Path, folder: Path) -> None:
    with pellucid.start(device="cpu") as viewer:
        wrong = driven(build / "viewer-sanitized", f"{viewer.url}x", "-")
        assert wrong["connect"].startswith("This link belongs to another viewer")
        wrong = driven(build / "viewer-sanitized", f"{viewer.links['own']}x", "-")
        assert wrong["connect"] == "The viewer rejected this link."
        check(driven(build / "viewer-sanitized", viewer.url, "scan.npy", lane), lane)


def test_a_viewer_applies_a_network(build: Path, folder: Path) -> None:
    voxels = np.random.default_rng(0).random((4, 20, 30)).astype(np.float32)
    network = convolution(folder / "bright ones.onnx", np.ones((1, 1, 1, 1)))
    with pellucid.start(device="cpu") as viewer:
        viewer.render_volume(voxels)
        text = driven(build / "viewer-sanitized", "label", viewer.url, network, '{"threshold": 0.75}')
        assert {text[step] for step in ("connect", "apply", "wait", "labels", "stop")} == {"ok"}
        assert (int(text["labelled"]), text["share"]) == (int((voxels > 0.75).sum()), "1.00")
        assert text["layer of labels"] == "1" and viewer.scene.volumes[1].labels is not None
        assert text["missing"] == "The network /nowhere/net.onnx cannot be read: No such file or directory."
        assert text["request"] == "The request for the network is not a JSON object."
        assert text["layer"] == "Layer 7 does not contain a volume of values."


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
def test_a_viewer_under_valgrind(build: Path, folder: Path) -> None:
    with pellucid.start(device="cpu") as viewer:
        check(driven(*VALGRIND, build / "viewer", viewer.url, folder / "scan.npy"), "shm")


def test_a_viewer_over_https(build: Path, folder: Path) -> None:
    with on_the_network(folder) as url:
        address, _, pin = url.partition("&pin=")
        program = build / "viewer-sanitized"
        assert "is not trusted" in driven(program, address, "-")["connect"]
        assert "another certificate" in driven(program, f"{address}&pin={pin[::-1]}", "-")["connect"]
        check(driven(program, url, folder / "scan.npy", "tcp"), "tcp")


def test_a_viewer_over_https_through_its_web_server(build: Path, folder: Path) -> None:
    with on_the_network(folder) as url:
        check(driven(build / "viewer-sanitized", url, folder / "scan.npy", "proxy"), "proxy")


def test_a_viewer_behind_a_proxy(build: Path, folder: Path) -> None:
    with pellucid.start(device="cpu") as viewer, in_between(viewer.url, "127.0.0.1:9", hands_through=True) as url:
        check(driven(build / "viewer-sanitized", url, folder / "scan.npy"), "proxy")


def test_a_viewer_that_only_http_leads_to(build: Path, folder: Path) -> None:
    with pellucid.start(device="cpu") as viewer, in_between(viewer.url, "127.0.0.1:9") as url:
        text = driven(build / "viewer-sanitized", url, folder / "scan.npy")
        assert "cannot be reached from here" in text["allocate"] and "cannot be reached from here" in text["stream"]
        assert (text["render_volume"], text["retrieve_volume"]) == ("http", "the same http")
        assert (text["render_points"], text["shutdown"]) == ("ok", "ok")


def test_a_connection_to_a_viewer_is_lost(build: Path, folder: Path) -> None:
    with pellucid.start(device="cpu") as viewer:
        port = int(viewer._transfer.rpartition(":")[2])
        with Relay(port, cut_after=12_000) as relay, in_between(viewer.url, relay.address) as url:
            check(driven(build / "viewer-sanitized", url, folder / "scan.npy", "tcp"), "tcp")
            assert relay.cuts == 1


def test_a_viewer_through_the_agent(build: Path, folder: Path) -> None:
    try:
        text = driven(build / "viewer-sanitized", "start", folder / "scan.npy", sys.executable)
        check(text, "shm", "start")
        assert "27.0 KiB" in text["oversize"] or "27,648 bytes" in text["oversize"]
        assert "28.1 KiB" in text["oversize"] or "28,800 bytes" in text["oversize"]
    finally:
        end_everything(folder / "state")
    text = driven(build / "viewer-sanitized", "start", "-", "/nowhere/python")
    assert text["start"].startswith("The agent could not be started") and "agent/agent.log." in text["start"]


def test_a_viewer_on_another_host(build: Path, folder: Path) -> None:
    with two_hosts() as hosts, on_the_network(folder, *hosts.inside(hosts.far)) as url:
        reached = url.replace(str(urlsplit(url).hostname), hosts.far_address)
        check(driven(*hosts.inside(hosts.near), build / "viewer", reached, folder / "scan.npy"), "tcp")
