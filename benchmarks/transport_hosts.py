"""The other host of the transport benchmark: listening programs, and a second network namespace to put them into.

Here: our listener, iperf3, one plain Python socket, the C sender; two hosts joined by a cable.
Not here: what is compared with what (transport).
"""

import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from pellucid.formats.protocol import Voxels
from tests.transport.namespaces import entered

ROOT = Path(__file__).parent.parent
NEAR_ADDRESS, FAR_ADDRESS = "10.94.0.1", "10.94.0.2"
CHUNK = 1 << 20

PLAIN_RECEIVER = """
import socket, sys
import numpy as np
server = socket.create_server((sys.argv[1], 0))
print(server.getsockname()[1], flush=True)
size = int(sys.argv[2])
received = memoryview(np.zeros(size, np.uint8))
received[:] = bytes(1) * size
while True:
    connection, _ = server.accept()
    done = 0
    while done < size:
        done += connection.recv_into(received[done:])
    connection.sendall(b".")
    connection.close()
"""


BEHIND_THE_WEB = """
import sys
from pellucid.transport.lane_check import LaneTestHost
from pellucid.transport.server import Listener
from tests.transport.web import web_front
token, size = sys.argv[1], int(sys.argv[2])
with Listener(token=token, host=LaneTestHost(size)) as listener, web_front(token) as front:
    front.listener = listener
    print(front.address, flush=True)
    sys.stdin.read()
"""


@dataclass(frozen=True)
class Place:
    """Where the other end is. prefix: what comes before a command that runs there. namespace: of this end, or empty."""

    name: str
    address: str
    prefix: tuple[str, ...] = ()
    namespace: str = ""


LOOPBACK = Place("loopback", "127.0.0.1")


@contextmanager
def two_hosts() -> Iterator[Place]:
    """Another host, one cable away. Raise OSError or CalledProcessError where that is not permitted."""
    mark = secrets.token_hex(4)
    near, far = f"near-{mark}", f"far-{mark}"
    try:
        for host in (near, far):
            _ip("netns", "add", host)
        _ip("-n", near, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", far)
        for host, address in ((near, NEAR_ADDRESS), (far, FAR_ADDRESS)):
            _ip("-n", host, "addr", "add", f"{address}/24", "dev", "cable")
            _ip("-n", host, "link", "set", "cable", "up")
            _ip("-n", host, "link", "set", "lo", "up")
        yield Place("veth pair", FAR_ADDRESS, ("ip", "netns", "exec", far), near)
    finally:
        for host in (near, far):
            subprocess.run(["ip", "netns", "del", host], check=False, capture_output=True)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@contextmanager
def inside(namespace: str) -> Iterator[None]:
    """This thread, and those that it starts, in another network namespace; in this one without a name."""
    with entered(namespace) if namespace else nullcontext():
        yield


@contextmanager
def our_listener(place: Place, size: int) -> Iterator[tuple[str, str]]:
    """Address and token of a listening end of ours that forgets what it gets."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "token"
        command = [sys.executable, "-m", "pellucid", "--quiet", "transport", "listen", f"{place.address}:0"]
        arguments = [*place.prefix, *command, "--token-file", str(file), "--size", str(size)]
        with subprocess.Popen(
            arguments, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as child:
            try:
                yield str(child.stdout and child.stdout.readline().strip()), file.read_text()
            finally:
                child.kill()


@contextmanager
def listener_behind_the_web(size: int) -> Iterator[tuple[str, str]]:
    """The same, reached through an agent's proxy and a web server, which are in one process with it."""
    environment, token = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}, secrets.token_hex(16)
    command = [sys.executable, "-c", BEHIND_THE_WEB, token, str(size)]
    with subprocess.Popen(
        command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as child:
        yield str(child.stdout and child.stdout.readline().strip()), token
        child.kill()


@contextmanager
def plain_receiver(place: Place, size: int) -> Iterator[int]:
    """The port of a program that receives into memory that is there already, over one socket."""
    command = [*place.prefix, sys.executable, "-c", PLAIN_RECEIVER, place.address, str(size)]
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE) as child:
        yield int(str(child.stdout and child.stdout.readline()))
        child.kill()


def send_plainly(place: Place, port: int, array: Voxels) -> float:
    """Bytes per second of one socket and sendall."""
    with socket.create_connection((place.address, port)) as connection:
        start = time.perf_counter()
        connection.sendall(array.reshape(-1).view("u1").data)
        connection.recv(1)
        return array.nbytes / (time.perf_counter() - start)


def iperf3(place: Place, streams: int, seconds: int) -> float:
    """Bytes per second that iperf3 receives."""
    server = subprocess.Popen([*place.prefix, "iperf3", "-s", "-1", "-p", "5999", "-J"], stdout=subprocess.DEVNULL)
    try:
        _wait_for(place.address, 5999)
        command = ["iperf3", "-c", place.address, "-p", "5999", "-P", str(streams), "-t", str(seconds), "-J"]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return float(json.loads(printed)["end"]["sum_received"]["bits_per_second"]) / 8
    finally:
        server.kill()
        server.wait()


def _wait_for(address: str, port: int) -> None:
    """Until the port is taken. Connecting would use up iperf3's one test: look into the kernel's table instead."""
    wanted = f":{port:04X} "
    for _ in range(200):
        namespaces = [Path("/proc/thread-self/net/tcp"), Path("/proc/thread-self/net/tcp6")]
        if address != LOOPBACK.address or any(wanted in table.read_text() for table in namespaces):
            break
        time.sleep(0.01)
    time.sleep(0.2)


@contextmanager
def c_sender(address: str, token: str, size: int, build: Path) -> Iterator["subprocess.Popen[str]"]:
    """The C end, which sends once for every line it is given, and prints the seconds."""
    subprocess.run(
        ["make", "-C", str(ROOT / "clients" / "c"), f"BUILD={build}", f"{build}/peer"], check=True, capture_output=True
    )
    command = [str(build / "peer"), "measure", address, token, "tcp", str(size), "1000"]
    with subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        yield child
        child.kill()


def send_from_c(child: "subprocess.Popen[str]", size: int) -> float:
    if child.stdin is None or child.stdout is None:
        raise RuntimeError("the C sender has no pipes")
    child.stdin.write("\n")
    child.stdin.flush()
    return size / float(child.stdout.readline())
