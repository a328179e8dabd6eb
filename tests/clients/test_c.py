"""The C API against the Python end: both directions, every lane, under AddressSanitizer and valgrind.

Here: arrays.
Not here: viewers (test_c_viewer), ends that mean ill (test_c_hostile).
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pellucid import progress
from pellucid.errors import TokenRejected, TransferTooLarge
from pellucid.transport.client import TransferOptions, send, stream
from pellucid.transport.host import OfferedArray, ReceiveLimits
from pellucid.transport.server import Listener
from pellucid.transport.wire.announcement import TYPES, ArrayInfo
from tests.clients.programs import UCX, VALGRIND, run, serving
from tests.contracts.lanes import TOKEN, WAIT_S, Keeper, reply
from tests.transport.certificates import make_certificate
from tests.transport.namespaces import TwoHosts, two_hosts
from tests.transport.peer import voxels
from tests.transport.relay import Relay
from tests.waiting import wait_until

SIZE = voxels().nbytes
LANES = ["shm", "tcp"]


class Voxels(Keeper):
    """Hands out what the C end expects."""

    def find(self, request: object) -> OfferedArray:
        return OfferedArray(voxels(), ArrayInfo("found"), {"asked": request})


@pytest.fixture
def keeper() -> Voxels:
    return Voxels()


@pytest.fixture
def listener(keeper: Voxels) -> Iterator[Listener]:
    with (
        progress.use(progress.Silent()),
        Listener(token=TOKEN, host=keeper, limits=ReceiveLimits(limit_bytes=2**26, streams=2)) as listener,
    ):
        yield listener


def test_the_library_is_built(build: Path) -> None:
    assert {"libpellucid.a", "libpellucid.so", "example"} <= {path.name for path in build.iterdir()}
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", str(build / "libpellucid.so")], check=True, capture_output=True, text=True
    )
    names = {line.split()[-1] for line in listed.stdout.splitlines()}
    assert {name for name in names if not name.startswith("pellucid_")} <= {"_init", "_fini"}


def test_the_library_needs_libc_only(build: Path) -> None:
    listed = subprocess.run(["readelf", "-d", build / "libpellucid.so"], check=True, capture_output=True, text=True)
    needed = {line.split("[")[1].rstrip("]") for line in listed.stdout.splitlines() if "(NEEDED)" in line}
    assert {name.partition(".so")[0] for name in needed} <= {"libc", "libpthread", "libdl", "ld-linux-x86-64"}


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C compiler")
def test_a_program_in_cplusplus(build: Path) -> None:
    assert run(build / "from-cplusplus") == ["scan", "right"]


def test_the_tests_in_c(build: Path) -> None:
    assert run(build / "test-sanitized") == ["shm", "tcp", "all", "right"]


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
def test_the_tests_in_c_under_valgrind(build: Path) -> None:
    assert run(*VALGRIND, build / "test") == ["shm", "tcp", "all", "right"]


def test_the_example(build: Path, listener: Listener) -> None:
    assert run(build / "example", listener.address, TOKEN)[:4] == ["4194304", "bytes", "through", "shm"]
    received = listener.receive(WAIT_S)
    assert received.array.shape == (128, 128, 128)
    assert received.array[64, 64].max() == 1000
    assert received.label == ArrayInfo("ball", (0.5, 0.5, 0.5), "um")
    assert received.metadata == {"made by": "example.c"}


@pytest.mark.parametrize("program", ["peer", "peer-sanitized"])
@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("what", ["send", "allocate"])
def test_from_c_to_python(what: str, lane: str, program: str, build: Path, listener: Listener) -> None:
    moved = "0" if (what, lane) == ("allocate", "shm") else str(SIZE)
    assert run(build / program, what, listener.address, TOKEN, lane) == ["sent", lane, moved, "0"]
    received = listener.receive(WAIT_S)
    assert (received.array == voxels()).all()
    assert received.label == ArrayInfo("scan", (0.25,), "um")
    assert received.metadata == {"from": "C"}


@pytest.mark.parametrize("lane", LANES)
def test_streams_from_c(lane: str, build: Path, listener: Listener) -> None:
    assert run(build / "peer-sanitized", "stream", listener.address, TOKEN, lane) == ["sent", "stream"]
    array = listener.receive(WAIT_S).array
    expected = np.repeat((1000 * np.arange(40)).astype(np.uint16), 160 * 256).reshape(40, 160, 256)
    expected[1::2, :, 128:] += 1
    assert (array == expected).all()


@pytest.mark.parametrize("lane", LANES)
def test_c_retrieves(lane: str, build: Path, listener: Listener) -> None:
    assert run(build / "peer-sanitized", "retrieve", listener.address, TOKEN, lane) == [
        "retrieved",
        "found",
        lane,
        "right",
    ]


@pytest.mark.parametrize("program", ["peer", "peer-sanitized"])
@pytest.mark.parametrize("lane", LANES)
def test_from_python_to_c(lane: str, program: str, build: Path) -> None:
    with progress.use(progress.Silent()), serving(build / program, "serve", "127.0.0.1:0", TOKEN) as (child, address):
        assert (
            send(address, voxels(), {"a": 1}, token=TOKEN, label=ArrayInfo("scan"), options=TransferOptions(lane)).lane
            == lane
        )
        assert reply(child, "stored")[:4] == ["scan", lane, "0", "right"]
        for name in TYPES.values():
            array = np.arange(24).reshape(2, 3, 4).astype(name)
            send(address, array, {"a": 1}, token=TOKEN, options=TransferOptions(lane))
            total = str(int(array.view(np.uint8).astype(np.int64).sum()))
            assert reply(child, "stored") == ["-", lane, "0", "other", name, "3", total, '{"a":', "1}"]
        with stream(address, (4, 5, 6), "uint8", token=TOKEN, options=TransferOptions(lane)) as writer:
            for z in range(4):
                writer.append(np.full((5, 6), z, np.uint8))
        assert reply(child, "stored")[3:7] == ["other", "uint8", "3", str(30 * 6)]


@pytest.mark.parametrize("lane", LANES)
def test_refusals_cross_over(lane: str, build: Path, listener: Listener) -> None:
    peer = build / "peer-sanitized"
    assert run(peer, "send", listener.address, "wrong horse battery", lane)[:2] == ["failed", "token"]
    with Listener(token=TOKEN, limits=ReceiveLimits(limit_bytes=1000)) as small:
        text = " ".join(run(peer, "send", small.address, TOKEN, lane))
        assert text.startswith("failed too large") and f"{SIZE:,} bytes" in text and "1,000 bytes" in text
    with progress.use(progress.Silent()), serving(peer, "serve", "127.0.0.1:0", TOKEN, "100") as (_, address):
        with pytest.raises(TransferTooLarge, match=f"{SIZE} bytes; the receiver accepts at most 100 bytes"):
            send(address, voxels(), token=TOKEN, options=TransferOptions(lane))
        with pytest.raises(TokenRejected):
            send(address, voxels(), token="wrong horse battery", options=TransferOptions(lane))


def test_a_lost_connection_toward_python(build: Path, listener: Listener, keeper: Voxels) -> None:
    with Relay(listener.address.port, cut_after=12 * 2**20) as relay:
        words = run(build / "peer-sanitized", "send", relay.address, TOKEN, "tcp")
        assert relay.cuts == 1
    assert words[:2] == ["sent", "tcp"]
    assert int(words[3]) == keeper.breaks[0] and int(words[2]) == SIZE - keeper.breaks[0]
    assert (listener.receive(WAIT_S).array == voxels()).all()


def test_a_lost_connection_toward_c(build: Path) -> None:
    with (
        progress.use(progress.Silent()),
        serving(build / "peer-sanitized", "serve", "127.0.0.1:0", TOKEN) as (child, address),
        Relay(int(address.rpartition(":")[2]), cut_after=12 * 2**20) as relay,
    ):
        report = send(relay.address, voxels(), token=TOKEN, label=ArrayInfo("scan"), options=TransferOptions("tcp"))
        assert relay.cuts == 1
        assert reply(child, "stored")[:4] == ["scan", "tcp", str(report.resumed_bytes), "right"]


def test_a_lost_connection_while_c_retrieves(build: Path, listener: Listener) -> None:
    with Relay(listener.address.port, cut_after=700) as relay:
        words = run(build / "peer-sanitized", "retrieve", relay.address, TOKEN, "tcp")
    assert words == ["retrieved", "found", "tcp", "right"]


def test_a_lost_connection_while_c_streams(build: Path, listener: Listener, keeper: Voxels) -> None:
    with Relay(listener.address.port, cut_after=2**20) as relay:
        assert run(build / "peer-sanitized", "stream", relay.address, TOKEN, "tcp") == ["sent", "stream"]
        assert relay.cuts == 1
    array = listener.receive(WAIT_S).array
    assert (array[::2, 0, 0] == 1000 * np.arange(0, 40, 2)).all() and (
        array[1::2, 159, 255] == 1 + 1000 * np.arange(1, 40, 2)
    ).all()


@pytest.mark.parametrize("program", ["peer", "peer-sanitized"])
def test_ucx_with_python(program: str, build: Path, listener: Listener) -> None:
    for what in ("send", "allocate"):
        assert run(build / program, what, listener.address, TOKEN, "ucx", **UCX) == ["sent", "ucx", str(SIZE), "0"]
        assert (listener.receive(WAIT_S).array == voxels()).all()
    words = run(build / program, "retrieve", listener.address, TOKEN, "ucx", **UCX)
    assert words == ["retrieved", "found", "ucx", "right"]
    with serving(build / program, "serve", "127.0.0.1:0", TOKEN, "0", "ucx", **UCX) as (child, address):
        assert (
            send(address, voxels(), token=TOKEN, label=ArrayInfo("scan"), options=TransferOptions("ucx")).lane == "ucx"
        )
        assert reply(child, "stored")[:4] == ["scan", "ucx", "0", "right"]
        assert run(build / program, "send", address, TOKEN, "ucx", **UCX) == ["sent", "ucx", str(SIZE), "0"]
        assert reply(child, "stored")[:4] == ["scan", "ucx", "0", "right"]


def test_ucx_where_it_is_not(build: Path, listener: Listener, tmp_path: Path) -> None:
    # An empty file is found before a library that the system may have, and cannot be loaded.
    (tmp_path / "libucp.so.0").touch()
    words = run(build / "peer-sanitized", "send", listener.address, TOKEN, "ucx", LD_LIBRARY_PATH=str(tmp_path))
    assert " ".join(words).startswith(
        "failed invalid The lane ucx is not available between the two programs. Install UCX on both machines"
    )


def test_the_receiver_of_ucx_is_killed(build: Path) -> None:
    with serving(build / "peer", "serve", "127.0.0.1:0", TOKEN, "0", "ucx", "stall", **UCX) as (receiver, address):
        command = [str(part) for part in (build / "peer-sanitized", "send", address, TOKEN, "ucx")]
        with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, env={**os.environ, **UCX}) as child:
            reply(receiver, "stalled")
            receiver.kill()
            assert reply(child, "failed")[0] == "unreachable"


def test_the_sender_of_ucx_is_killed(build: Path, listener: Listener, keeper: Voxels) -> None:
    command = [str(part) for part in (build / "peer", "send", listener.address, TOKEN, "ucx", "stall")]
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, env={**os.environ, **UCX}) as child:
        reply(child, "stalled")
        child.kill()
    assert keeper.has_broken.wait(WAIT_S)
    with serving(build / "peer", "serve", "127.0.0.1:0", TOKEN, "0", "ucx", **UCX) as (receiver, address):
        command[2] = address
        with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, env={**os.environ, **UCX}) as child:
            reply(child, "stalled")
            child.kill()
        assert run(build / "peer", "send", address, TOKEN, "ucx", **UCX) == ["sent", "ucx", str(SIZE), "0"]
        assert reply(receiver, "stored")[:4] == ["scan", "ucx", "0", "right"]


@pytest.mark.parametrize("lane", LANES)
def test_the_c_sender_is_killed(lane: str, build: Path, listener: Listener, keeper: Voxels) -> None:
    command = [str(part) for part in (build / "peer", "send", listener.address, TOKEN, lane, "stall")]
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE) as child:
        reply(child, "stalled")
        child.kill()
    assert keeper.has_broken.wait(WAIT_S)
    assert run(build / "peer", "send", listener.address, TOKEN, lane) == ["sent", lane, str(SIZE), "0"]
    assert (listener.receive(WAIT_S).array == voxels()).all()


def test_tls_from_c(build: Path, tmp_path: Path) -> None:
    with progress.use(progress.Silent()), Listener(token=TOKEN, certificate=make_certificate(tmp_path)) as listener:
        assert run(build / "peer-sanitized", "send", listener.address, TOKEN, "tcp") == ["sent", "tcp", str(SIZE), "0"]
        assert (listener.receive(WAIT_S).array == voxels()).all()
        other = f"tls://127.0.0.1:{listener.address.port}#{'0' * 64}"
        assert "another certificate" in " ".join(run(build / "peer-sanitized", "send", other, TOKEN, "tcp"))


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
@pytest.mark.parametrize("lane", LANES)
def test_from_c_to_python_under_valgrind(lane: str, build: Path, listener: Listener) -> None:
    for what in ("send", "allocate", "stream", "retrieve"):
        words = run(*VALGRIND, build / "peer", what, listener.address, TOKEN, lane)
        assert words[0] == ("retrieved" if what == "retrieve" else "sent"), words


def test_from_c_on_one_host_to_c_on_another(build: Path) -> None:
    with two_hosts() as hosts:
        far = (*hosts.inside(hosts.far), build / "peer", "serve", f"{hosts.far_address}:0", TOKEN)
        with serving(*far) as (child, address):
            words = run(*hosts.inside(hosts.near), build / "peer", "send", address, TOKEN, "auto")
            assert words == ["sent", "tcp", str(SIZE), "0"]
            assert reply(child, "stored")[:4] == ["scan", "tcp", "0", "right"]


def is_up(hosts: TwoHosts, host: str) -> bool:
    """UCX uses no cable before that."""
    shown = subprocess.run(
        [*hosts.inside(host), "cat", "/sys/class/net/cable/operstate"], capture_output=True, check=False
    )
    return shown.stdout == b"up\n"


def test_ucx_from_one_host_to_another(build: Path) -> None:
    ucx = {**UCX, "UCX_TLS": "tcp"}  # UCX would see through the disguise, and try shared memory.
    with two_hosts() as hosts:
        far = (*hosts.inside(hosts.far), build / "peer", "serve", f"{hosts.far_address}:0", TOKEN)
        wait_until(lambda: is_up(hosts, hosts.near) and is_up(hosts, hosts.far))
        with serving(*far, "0", "ucx", **ucx) as (child, address):
            words = run(*hosts.inside(hosts.near), build / "peer", "send", address, TOKEN, "ucx", **ucx)
            assert words == ["sent", "ucx", str(SIZE), "0"]
            assert reply(child, "stored")[:4] == ["scan", "ucx", "0", "right"]
