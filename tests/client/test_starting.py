"""Viewers begin and end when they should, are found by others, and by nobody else."""

import http.server
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

import pellucid
from pellucid import settings
from pellucid.errors import (
    DeviceUnavailable,
    InvalidInput,
    NotAllowed,
    PellucidError,
    TokenRejected,
    Unreachable,
    ViewerUnreachable,
)
from pellucid.instance.lifecycle import viewer_records
from pellucid.instance.lifecycle.viewer_records import ViewerRecord
from tests.suite_report import ROOT
from tests.waiting import TIMEOUT_S, wait_until

PROGRAM = "import pellucid; viewer = pellucid.start(device='cpu', keep={keep}); print(viewer.url, flush=True); {then}"


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of states that nobody else uses."""
    monkeypatch.setenv("PELLUCID_STATE_FOLDER", str(tmp_path))
    with settings.use(settings.load()):
        yield tmp_path


def started_by_a_program(then: str, keep: bool = False) -> "tuple[subprocess.Popen[str], str]":
    """A program that starts a viewer and does something; and the viewer's address."""
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(keep=keep, then=then)],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    assert program.stdout is not None
    with program.stdout:
        return program, program.stdout.readline().strip()


def wait_for_end(record: ViewerRecord) -> None:
    """Until its process is gone; its exit cannot be waited for from here."""
    wait_until(lambda: not record.is_alive, TIMEOUT_S)


def test_it_ends_with_its_program_however_that_ends(state: Path) -> None:
    program, url = started_by_a_program("import time; time.sleep(600)")
    (record,) = pellucid.instances()
    assert record.address == url.partition("#")[0] and record.pid != program.pid
    program.send_signal(signal.SIGKILL)
    program.wait()
    wait_for_end(record)
    assert pellucid.instances() == []


def test_one_that_is_kept_outlives_its_program_and_is_found(state: Path) -> None:
    program, url = started_by_a_program("", keep=True)
    assert program.wait() == 0
    (record,) = pellucid.instances()
    viewer = pellucid.connect(record.url)
    assert viewer.address == url.partition("#")[0] and viewer.is_running
    viewer.shutdown()
    wait_for_end(record)
    assert not viewer.is_running
    viewer.shutdown()
    with pytest.raises(ViewerUnreachable, match="does not respond"):
        viewer.screenshot()


def test_records_are_for_their_owner_only(state: Path) -> None:
    path = viewer_records.write(ViewerRecord.of_this_process("http://127.0.0.1:1/", "secret", "a root"))
    assert path is not None
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert "secret" not in repr(pellucid.instances())


def test_what_a_dead_viewer_left_behind_is_cleared_away(state: Path) -> None:
    alive = ViewerRecord.of_this_process("http://127.0.0.1:1/", "secret", "a root")
    viewer_records.write(alive)
    viewer_records.write(ViewerRecord(alive.address, alive.pid, alive.host, alive.started_at, alive.birth - 1))
    (state / "instances" / f"{alive.host}-broken.json").write_text("{")
    assert viewer_records.running_viewers() == [alive]
    assert len(list((state / "instances").iterdir())) == 1


def test_a_viewer_that_cannot_be_says_why() -> None:
    with pytest.raises(DeviceUnavailable, match="Use one of: cpu"):
        pellucid.start(device="cuda:77")
    with pytest.raises(InvalidInput, match="port 99999"):
        pellucid.start(device="cpu", port=99999)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("import not_installed_here", r"^The package not_installed_here is not installed\. Install it"),
        ("raise RuntimeError('broken file')", "The viewer could not start: RuntimeError: broken file"),
        ("import os; os._exit(3)", "starting the viewer: it exited with code 3"),
        ("import os; os.kill(os.getpid(), 11)", r"starting the viewer: it crashed \(SIGSEGV\)"),
    ],
)
def test_a_viewer_that_ends_while_it_starts_says_why(
    content: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not that it was killed: that would point at the machine's memory."""
    (tmp_path / "fastapi.py").write_text(content + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONHASHSEED", "0")  # So that it is a new Python, not a fork that has imported everything.
    with pytest.raises(PellucidError, match=message):
        pellucid.start(device="cpu")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "127.0.0.1:80",
        "http://127.0.0.1:80/",
        "http://127.0.0.1:80/?token=a",
        "ftp://127.0.0.1/#code=a",
        "http://[x/#code=a",
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="including #code= or #share="):
        pellucid.connect(url)


def test_a_wrong_link_is_refused_and_a_right_one_works_once(running: pellucid.Viewer) -> None:
    with pytest.raises(NotAllowed, match="belongs to another viewer"):
        pellucid.connect(running.url[:-4] + "abcd")
    with pytest.raises(NotAllowed, match="rejected this link"):
        pellucid.connect(running.links["own"][:-4] + "abcd")
    link = running.url
    assert link != running.url
    assert pellucid.connect(link).pid == running.pid
    with pytest.raises(NotAllowed, match="already used"):
        pellucid.connect(link)


def test_share_links_allow_what_they_say_until_they_are_revoked(running: pellucid.Viewer) -> None:
    links = running.links
    assert links == running.links  # The same, until they are revoked.
    guest = pellucid.connect(links["view"])
    assert guest.scene == running.scene
    with pytest.raises(NotAllowed, match="This link is for viewing"):
        guest.screenshot()
    mine = running.share("own", "for a program")
    array = np.zeros((2, 2, 2), np.uint8)
    owner = pellucid.connect(mine)
    owner._lanes.same_host = None
    owner.render_volume(array)
    running.revoke(mine)
    with pytest.raises(NotAllowed, match="rejected this link"):
        owner.screenshot()
    with pytest.raises(TokenRejected):
        owner.render_volume(array)
    for link in (mine, links["view"], running.url):
        if link == links["view"]:
            running.revoke(link)
        else:
            with pytest.raises(InvalidInput, match="has no such link"):
                running.revoke(link)
    with pytest.raises(InvalidInput, match="Use view, control or own"):
        running.share("everything")


def test_nobody_is_there() -> None:
    with pytest.raises(ViewerUnreachable, match=r"pellucid\.start"):
        pellucid.connect("http://127.0.0.1:1/#code=a")


def test_a_program_sends_nothing_to_another_that_took_over_the_port(state: Path) -> None:
    """Neither requests nor arrays; wrong answers to its question are not believed."""
    viewer = pellucid.start(device="cpu")
    unused = viewer.url
    os.kill(viewer.pid, signal.SIGKILL)
    (port, received), token, code = (viewer.port, bytearray()), viewer._connection.bearer, unused.partition("code=")[2]

    class Impostor(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.extend(str(self.headers).encode() + self.rfile.read(int(self.headers["Content-Length"] or 0)))
            body = b'{"proof": "0123", "version": 4, "transfer": "127.0.0.1:1"}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            pass

    with listening_at(port, Impostor):
        with pytest.raises(ViewerUnreachable, match="another program responds at this address"):
            viewer.screenshot()
        assert b"secret_hash" in received and token.encode() not in received
        with pytest.raises((ViewerUnreachable, Unreachable)):
            viewer.render_volume(np.full((9, 8, 7), 77, np.uint8))
        with pytest.raises(NotAllowed, match="belongs to another viewer"):
            pellucid.connect(unused)
        assert code.rpartition(".")[0].encode() in received and code.rpartition(".")[2].encode() not in received
    assert bytes([77] * 9) not in received


@pytest.mark.parametrize("content", [b"[" * 4096, b"[]", b'{"proof": null}', b""])
def test_a_program_whose_answer_is_no_proof_is_another_one(content: bytes) -> None:
    received = bytearray()

    class Stranger(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.extend(str(self.headers).encode() + self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with (
        listening_at(port, Stranger),
        pytest.raises(ViewerUnreachable, match="another program responds at this address"),
    ):
        pellucid.connect(f"http://127.0.0.1:{port}/#share=the-secret-of-a-link")
    assert b"secret_hash" in received and b"the-secret-of-a-link" not in received


@contextmanager
def listening_at(port: int, handler: type[http.server.BaseHTTPRequestHandler]) -> Iterator[None]:
    """A server at a port that its last user is only just leaving."""
    http.server.ThreadingHTTPServer.allow_reuse_address = True
    servers: list[http.server.ThreadingHTTPServer] = []

    def is_listening() -> bool:
        with suppress(OSError):
            servers.append(http.server.ThreadingHTTPServer(("127.0.0.1", port), handler))
        return bool(servers)

    wait_until(is_listening, TIMEOUT_S)
    (server,) = servers
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
