"""A viewer on another machine: two network namespaces joined by a cable, TLS between them."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import pellucid
from pellucid import progress
from pellucid.errors import NotAllowed, PellucidError, TokenRejected, ViewerUnreachable
from pellucid.formats.protocol import Voxels
from pellucid.transport.client import TransferOptions, send
from tests.suite_report import MACHINE, ROOT
from tests.transport.namespaces import TwoHosts, entered, two_hosts

SHAPE = (24, 256, 256)


@dataclass(frozen=True)
class Far:
    """A viewer on the far host, by the address that reaches it from the near one."""

    hosts: TwoHosts
    url: str


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Far]:
    folder = tmp_path_factory.mktemp("far")
    places = {"PELLUCID_STATE_FOLDER": str(folder), "TMPDIR": str(folder)}
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **places}
    view = [sys.executable, "-m", "pellucid", "view", "--network", "--no-browser", "--device", "cpu"]
    # Memory that is mounted for it alone hides its Unix socket, as another machine's disk would.
    shell = 'mount -t tmpfs none "$TMPDIR" && exec "$@"'
    with two_hosts() as hosts:
        command = [*hosts.inside(hosts.far), "sh", "-c", shell, "sh", *view]
        with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, env=environment, cwd=ROOT) as viewer:
            assert viewer.stdout is not None
            viewer.stdout.readline()
            url = viewer.stdout.readline().removeprefix("For programs: ").strip().strip("'")
            place = url.partition("//")[2].partition(":")[0]
            yield Far(hosts, url.replace(place, hosts.far_address, 1))
            viewer.send_signal(signal.SIGTERM)


@pytest.fixture
def viewer(far: Far) -> Iterator[pellucid.Viewer]:
    """Driven from the near host."""
    with entered(far.hosts.near), progress.use(progress.Silent()):
        yield pellucid.connect(far.url)


@pytest.fixture(scope="module")
def scan() -> Voxels:
    return np.random.default_rng(5).integers(0, 4096, SHAPE, np.uint16)


@pytest.mark.parametrize("dtype", ["uint8", "<u2", ">i2", "float32", ">f8"])
def test_arrays_go_there_and_back(dtype: str, viewer: pellucid.Viewer, scan: Voxels) -> None:
    given = np.asfortranarray(scan[::4].astype(dtype))
    viewer.render_volume(given, spacing=(2, 1, 1), unit="um", name="there")
    sent = viewer.last_transfer
    assert viewer._lanes.same_host is None and viewer._lanes.address.startswith("tls://10.93.0.2:")
    assert sent is not None and (sent.lane, sent.nbytes) == ("tcp", given.nbytes)
    box = pellucid.Box((1, 2, 3), (5, 60, 70))
    assert np.array_equal(viewer.retrieve_volume(box), given[box.slices])
    assert viewer.screenshot(32, 32).shape == (32, 32, 4)


def test_points_and_meshes_go_there(viewer: pellucid.Viewer) -> None:
    viewer.render_points([[0, 0, 0], [4, 0, 0], [0, 4, 0]], [1, 2, 3])
    viewer.render_mesh([[0, 0, 0], [4, 0, 0], [0, 4, 0]], [[0, 1, 2]], how="add")
    assert viewer.scene.points[0].transfer.value_range == (1.0, 3.0) and len(viewer.scene.meshes) == 1


def test_a_stream_over_a_cable_that_is_pulled(far: Far, viewer: pellucid.Viewer, scan: Voxels) -> None:
    with viewer.stream(scan.shape, scan.dtype, name="pulled") as writer:
        assert writer.lane == "tcp"
        writer.append(scan[:12])
        far.hosts.pull_cable()
        for one in scan[12:]:
            writer.append(one)
        far.hosts.plug_cable()
    assert np.array_equal(viewer.retrieve_volume(), scan)


@pytest.mark.parametrize("impairment", [("delay", "5ms"), ("loss", "1%")], ids=["delay", "loss"])
def test_a_bad_network(impairment: tuple[str, str], far: Far, viewer: pellucid.Viewer, scan: Voxels) -> None:
    if MACHINE["no-netem"]():
        pytest.skip("needs tc netem")
    far.hosts.impair(*impairment)
    try:
        viewer.render_volume(scan[:8])
        assert np.array_equal(viewer.retrieve_volume(), scan[:8])
    finally:
        far.hosts.impair("delay", "0ms")


def test_nobody_without_the_token_and_no_other_certificate(far: Far, viewer: pellucid.Viewer, scan: Voxels) -> None:
    token = far.url.partition("#share=")[2].partition("&")[0]
    with pytest.raises(NotAllowed, match="has no valid token"):
        pellucid.connect(far.url.replace(token, "x" * len(token)))
    viewer.render_volume(scan[:1])
    with pytest.raises(TokenRejected):
        send(viewer._lanes.address, scan[:1], token="x" * len(token))
    pin = far.url.partition("&pin=")[2]
    with pytest.raises(ViewerUnreachable, match="the certificate at this address"):
        pellucid.connect(far.url.replace(pin, "0" * len(pin)))


@pytest.mark.parametrize("lane", ["shm", "tcp"])
def test_a_viewer_that_is_killed(lane: str, tmp_path: Path, scan: Voxels, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PELLUCID_STATE_FOLDER", str(tmp_path))
    viewer = pellucid.start(device="cpu")
    announced = replace(TransferOptions(), lane=lane, attempts=1)
    monkeypatch.setattr("pellucid.client.array_transfer.TransferOptions", lambda **more: replace(announced, **more))
    with pytest.raises(PellucidError, match=r"interrupted|Could not reach"), viewer.stream(SHAPE, scan.dtype) as writer:
        writer.append(scan[0])
        os.kill(viewer.pid, signal.SIGKILL)
        for one in scan[1:]:
            writer.append(one)
    with pytest.raises(ViewerUnreachable):
        viewer.retrieve_volume()
    assert not any("pellucid" in path.name for path in Path("/dev/shm").iterdir())
