"""The C API against the Python end: both directions, both lanes, under AddressSanitizer and valgrind."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import pellucid
from pellucid import progress
from pellucid.errors import TokenRefused, TransferTooLarge
from pellucid.transport.announcement import TYPES, Label
from pellucid.transport.connecting import Options, send, stream
from pellucid.transport.host import Limits, Offer
from pellucid.transport.listening import Listener
from tests.contracts.lanes import TOKEN, WAIT_S, Keeper, told
from tests.suite_report import ROOT
from tests.transport.certificates import make_certificate
from tests.transport.namespaces import two_hosts
from tests.transport.peer import voxels
from tests.transport.relay import Relay

SIZE = voxels().nbytes
LANES = ["shm", "tcp"]
VALGRIND = ("valgrind", "--quiet", "--leak-check=full", "--errors-for-leak-kinds=definite", "--error-exitcode=99")


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything that make builds, in a folder of its own."""
    if shutil.which("make") is None or shutil.which("cc") is None:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("c")
    command = ["make", "-C", str(ROOT / "clients" / "c"), f"BUILD={folder}", f"-j{os.cpu_count()}"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    return folder


class Voxels(Keeper):
    """Hands out what the C end expects."""

    def find(self, request: object) -> Offer:
        return Offer(voxels(), Label("found"), {"asked": request})


@pytest.fixture
def keeper() -> Voxels:
    return Voxels()


@pytest.fixture
def listener(keeper: Voxels) -> Iterator[Listener]:
    with (
        progress.use(progress.Silent()),
        Listener(token=TOKEN, host=keeper, limits=Limits(limit_bytes=2**26, streams=2)) as listener,
    ):
        yield listener


def run(*command: object) -> list[str]:
    """What a program of ours prints, as words; it has to end well."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, timeout=120)
    assert "Sanitizer" not in done.stderr and "==" not in done.stderr, done.stderr
    return done.stdout.split() + ([] if done.returncode in (0, 1) else [f"exit code {done.returncode}", done.stderr])


@contextmanager
def serving(*command: object) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """The C end, listening, and its address."""
    arguments = [str(part) for part in command]
    with subprocess.Popen(arguments, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        try:
            (address,) = told(child, "listening")
            yield child, address
        finally:
            child.kill()


def test_the_library_is_built(build: Path) -> None:
    assert {"libpellucid.a", "libpellucid.so", "example"} <= {path.name for path in build.iterdir()}
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", str(build / "libpellucid.so")], check=True, capture_output=True, text=True
    )
    names = {line.split()[-1] for line in listed.stdout.splitlines()}
    assert {name for name in names if not name.startswith("pellucid_")} <= {"_init", "_fini"}


@pytest.mark.parametrize("program", ["test", "test-sanitized"])
def test_the_tests_in_c(program: str, build: Path) -> None:
    assert run(build / program) == ["shm", "tcp", "all", "right"]


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
def test_the_tests_in_c_under_valgrind(build: Path) -> None:
    assert run(*VALGRIND, build / "test") == ["shm", "tcp", "all", "right"]


def test_the_example(build: Path, listener: Listener) -> None:
    assert run(build / "example", listener.address, TOKEN)[:4] == ["4194304", "bytes", "through", "shm"]
    received = listener.receive(WAIT_S)
    assert received.array.shape == (128, 128, 128)
    assert received.array[64, 64].max() == 1000
    assert received.label == Label("ball", (0.5, 0.5, 0.5), "um")
    assert received.metadata == {"made by": "example.c"}


@pytest.mark.parametrize("program", ["peer", "peer-sanitized"])
@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("what", ["send", "allocate"])
def test_from_c_to_python(what: str, lane: str, program: str, build: Path, listener: Listener) -> None:
    moved = "0" if (what, lane) == ("allocate", "shm") else str(SIZE)
    assert run(build / program, what, listener.address, TOKEN, lane) == ["sent", lane, moved, "0"]
    received = listener.receive(WAIT_S)
    assert (received.array == voxels()).all()
    assert received.label == Label("scan", (0.25,), "um")
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
        assert send(address, voxels(), {"a": 1}, token=TOKEN, label=Label("scan"), options=Options(lane)).lane == lane
        assert told(child, "stored")[:4] == ["scan", lane, "0", "right"]
        for name in TYPES.values():
            array = np.arange(24).reshape(2, 3, 4).astype(name)
            send(address, array, {"a": 1}, token=TOKEN, options=Options(lane))
            total = str(int(array.view(np.uint8).astype(np.int64).sum()))
            assert told(child, "stored") == ["-", lane, "0", "other", name, "3", total, '{"a":', "1}"]
        with stream(address, (4, 5, 6), "uint8", token=TOKEN, options=Options(lane)) as writer:
            for z in range(4):
                writer.append(np.full((5, 6), z, np.uint8))
        assert told(child, "stored")[3:7] == ["other", "uint8", "3", str(30 * 6)]


@pytest.mark.parametrize("lane", LANES)
def test_refusals_cross_over(lane: str, build: Path, listener: Listener) -> None:
    peer = build / "peer-sanitized"
    assert run(peer, "send", listener.address, "wrong horse battery", lane)[:2] == ["failed", "token"]
    with Listener(token=TOKEN, limits=Limits(limit_bytes=1000)) as small:
        said = " ".join(run(peer, "send", small.address, TOKEN, lane))
        assert said.startswith("failed too large") and f"{SIZE:,} bytes" in said and "1,000 bytes" in said
    with progress.use(progress.Silent()), serving(peer, "serve", "127.0.0.1:0", TOKEN, "100") as (_, address):
        with pytest.raises(TransferTooLarge, match=f"{SIZE} bytes, and the receiving end takes at most 100 bytes"):
            send(address, voxels(), token=TOKEN, options=Options(lane))
        with pytest.raises(TokenRefused):
            send(address, voxels(), token="wrong horse battery", options=Options(lane))


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
        report = send(relay.address, voxels(), token=TOKEN, label=Label("scan"), options=Options("tcp"))
        assert relay.cuts == 1
        assert told(child, "stored")[:4] == ["scan", "tcp", str(report.resumed_bytes), "right"]


def test_a_lost_connection_while_c_retrieves(build: Path, listener: Listener) -> None:
    with Relay(listener.address.port, cut_after=700) as relay:
        words = run(build / "peer-sanitized", "retrieve", relay.address, TOKEN, "tcp")
    assert words == ["retrieved", "found", "tcp", "right"]


@pytest.mark.parametrize("lane", LANES)
def test_the_c_sender_is_killed(lane: str, build: Path, listener: Listener, keeper: Voxels) -> None:
    command = [str(part) for part in (build / "peer", "send", listener.address, TOKEN, lane, "stall")]
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE) as child:
        told(child, "stalled")
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
            assert told(child, "stored")[:4] == ["scan", "tcp", "0", "right"]


@pytest.mark.parametrize("runner", [("viewer-sanitized", ()), ("viewer", VALGRIND)], ids=["sanitized", "valgrind"])
def test_a_viewer_from_c(
    runner: tuple[str, tuple[str, ...]], build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, prefix = runner
    if prefix and shutil.which("valgrind") is None:
        pytest.skip("needs valgrind")
    monkeypatch.setenv("PELLUCID_STATE_FOLDER", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    np.save(tmp_path / "scan.npy", np.arange(27, dtype=np.uint8).reshape(3, 3, 3))
    with pellucid.start(device="cpu", roots=[tmp_path]) as viewer:
        wrong = subprocess.run([build / program, f"{viewer.url}x", "-"], capture_output=True, text=True, check=False)
        assert wrong.stdout.startswith("connect The viewer does not know this token")
        command = [*prefix, str(build / program), viewer.url, str(tmp_path / "scan.npy")]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        said = dict(
            line.rsplit(" ", 1) if line.endswith(("ok", "yes")) else line.split(" ", 1)
            for line in done.stdout.splitlines()
        )
    assert (done.returncode, done.stderr) == (0, "")
    steps = ("connect", "render_volume", "query", "retrieved", "screenshot", "render_points", "load", "shutdown")
    assert {step: said[step] for step in steps} == dict.fromkeys(steps, "ok")
    assert (said["named"], said["the same"]) == ("yes", "yes")
    assert int(said["pixels"]) > 200
    assert "/nowhere/at/all.npy" in said["missing"]
