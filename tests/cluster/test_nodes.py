"""Device Workers of a node: found or started, for as long as somebody holds their lease, and for their owner alone."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from pellucid import settings
from pellucid.cluster.credentials import Credentials
from pellucid.cluster.handles import WorkerId
from pellucid.cluster.links import WorkerLink
from pellucid.cluster.nodes.folders import WorkerFolder, WorkerRecord, WorkerSpec
from pellucid.cluster.nodes.launch import find_or_start
from pellucid.errors import InvalidInput, JobEnded
from pellucid.jobs.process_identity import ProcessId
from tests.stranger import can
from tests.waiting import wait_until

SPEC = WorkerSpec(memory_bytes=2**26, idle_timeout_s=0.0)
GUESS = """
import socket, struct, sys
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
def read():
    head, body = struct.unpack("<4xII", connection.recv(12, socket.MSG_WAITALL))
    print(connection.recv(head + body, socket.MSG_WAITALL).decode().split()[0])
read()
text = "open\\nversion: 1\\nnonce: 00\\nproof: 00\\nrole: chain".encode()
connection.sendall(struct.pack("<4sII", b"PLT1", len(text), 0) + text)
read()
print("closed" if connection.recv(1) == b"" else "open")
"""


@pytest.fixture
def holder() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that lives until the test ends it."""
    process = subprocess.Popen(["sleep", "3600"])
    yield process
    process.kill()
    process.wait()


def process_of(credentials: Credentials) -> ProcessId:
    record = WorkerFolder.of(credentials, SPEC).read()
    assert record is not None
    return ProcessId.parse(record.process)


def test_of_several_that_look_for_a_worker_one_starts_it(holder: "subprocess.Popen[bytes]") -> None:
    credentials = Credentials.create()
    with ThreadPoolExecutor(4) as pool:
        found = {future.result() for future in [pool.submit(find_or_start, credentials, SPEC, holder.pid)] * 4}
    assert len(found) == 1
    assert find_or_start(credentials, SPEC, holder.pid) in found
    worker = process_of(credentials)
    holder.kill()
    wait_until(lambda: not worker.is_alive)
    assert not WorkerFolder.of(credentials, SPEC).path.parent.exists()


def test_a_killed_worker_is_replaced_by_another_incarnation(holder: "subprocess.Popen[bytes]") -> None:
    credentials = Credentials.create()
    first = find_or_start(credentials, SPEC, holder.pid)
    killed = process_of(credentials)
    os.kill(killed.pid, signal.SIGKILL)
    wait_until(lambda: not killed.is_alive)
    second = find_or_start(credentials, SPEC, holder.pid)
    assert second.incarnation != first.incarnation


def test_a_killed_worker_that_still_holds_its_lock_is_replaced(holder: "subprocess.Popen[bytes]") -> None:
    credentials = Credentials.create()
    folder = WorkerFolder.of(credentials, SPEC)
    with folder.starting():
        pass
    gone = WorkerRecord(WorkerId("127.0.0.1", 5100, 0, 7), str(replace(ProcessId.of(holder.pid), birth=1)))
    folder.write(gone)
    held = folder.hold()
    assert held is not None
    assert folder.read() is None
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(find_or_start, credentials, SPEC, holder.pid)
        wait_until(lambda: folder.log.exists() and not found.done())
        os.close(held)
        assert found.result() != gone.worker


def test_a_second_holder_prolongs_the_lease(holder: "subprocess.Popen[bytes]") -> None:
    credentials = Credentials.create()
    found = find_or_start(credentials, SPEC, holder.pid)
    link = WorkerLink(found.address, credentials.token, os.getpid())
    worker = process_of(credentials)
    holder.kill()
    holder.wait()
    assert link.usage()["persistent"] == 0  # It answers: this process holds it.
    link.end()
    wait_until(lambda: not worker.is_alive)


def test_a_worker_that_cannot_start_says_why(holder: "subprocess.Popen[bytes]") -> None:
    with pytest.raises(JobEnded, match=r"The Device Worker of cpu did not start: its process ended with code 1"):
        find_or_start(Credentials.create(), WorkerSpec(host="203.0.113.7"), holder.pid)


def test_credentials_come_back_and_damaged_ones_are_refused() -> None:
    credentials = Credentials.create()
    assert Credentials.parse(credentials.text) == credentials
    assert credentials.token not in repr(credentials)
    with pytest.raises(InvalidInput, match=r"credentials of an application are damaged"):
        Credentials.parse(f"../escape:{credentials.token}")


def test_another_user_gets_at_no_worker(stranger: str, holder: "subprocess.Popen[bytes]") -> None:
    credentials = Credentials.create()
    with tempfile.TemporaryDirectory() as open_folder:
        Path(open_folder).chmod(0o755)  # Nothing but our own care closes what is in it.
        assert can(stranger, "ls", open_folder)
        with settings.use(settings.load(state_folder=open_folder)):
            worker = find_or_start(credentials, SPEC, holder.pid)
        files = [path for path in Path(open_folder).rglob("*") if path.is_file()]
        assert {path.name for path in files} >= {"token", "spec.json", "worker.json", "lock", "log"}
        assert [path for path in files if can(stranger, "test", "-r", str(path))] == []
        link = WorkerLink(worker.address, credentials.token, os.getpid())
        assert not can(stranger, "cat", f"/proc/{link.pid}/environ")
        assert not can(stranger, "kill", "-0", str(link.pid))
        # The port is open to everybody, and without the token there is nothing behind it.
        tried = subprocess.run(
            ["runuser", "-u", stranger, "--", "/usr/bin/python3", "-c", GUESS, str(worker.port)],
            capture_output=True, text=True, cwd="/", check=True,
        )  # fmt: skip
        assert tried.stdout.split() == ["pellucid-transfer", "refused", "closed"]
        assert link.usage()["persistent"] == 0
        link.end()
