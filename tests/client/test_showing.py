"""What a program shows is what it gave: arrays of every kind, files, points, meshes; here and elsewhere."""

import os
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pellucid
from pellucid.client.local_socket import LocalSocketClient
from pellucid.client.viewer import Viewer
from pellucid.errors import (
    InvalidInput,
    NotAllowed,
    NotFound,
    UnsupportedType,
    ViewerUnreachable,
    WrongDimensions,
)
from pellucid.formats.protocol import Voxels
from pellucid.transport import client
from tests.waiting import wait_until


class Torch:
    """What of a PyTorch tensor counts here: it has to be detached before NumPy may look at it."""

    def __init__(self, array: Voxels, is_detached: bool = False) -> None:
        self._array, self._is_detached = array, is_detached

    def detach(self) -> "Torch":
        return Torch(self._array, True)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Voxels:
        if not self._is_detached:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        return self._array


class CuPy:
    """What of a CuPy array counts here: it lies on a device, and copies itself where it is told to."""

    def __init__(self, array: Voxels) -> None:
        self._array = array
        self.__cuda_array_interface__ = {"shape": array.shape, "typestr": array.dtype.str}

    def get(self, out: Voxels) -> None:
        np.copyto(out, self._array)


@pytest.fixture(params=["shm", "tcp", "proxy"])
def driven(request: pytest.FixtureRequest, running: Viewer, monkeypatch: pytest.MonkeyPatch) -> Viewer:
    """The viewer, reached from its own machine, as from another, and as where only its web server leads there."""
    attached = pellucid.connect(running.url)
    if request.param != "shm":
        make_distant(attached, monkeypatch)
    if request.param == "proxy":
        attached._lanes._reply = "127.0.0.1:1"  # Nobody is there.
    return attached


def make_distant(viewer: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if it ran on another machine."""
    assert viewer._lanes.same_host is not None
    viewer._lanes.same_host = None
    monkeypatch.setattr(client, "machine", lambda: "")


@pytest.mark.parametrize("dtype", ["uint8", "int16", ">u2", "float32", ">f8", "bool"])
def test_an_array_comes_back_as_it_was(dtype: str, driven: Viewer, array: Voxels) -> None:
    given = (array > array.mean()) if dtype == "bool" else (array / 300).astype(dtype)
    driven.render_volume(given, spacing=(2, 1, 1), unit="um", name="mine")
    assert np.array_equal(driven.retrieve_volume(), given)
    box = pellucid.Box((3, 4, 5), (10, 12, 14))
    assert np.array_equal(driven.retrieve_volume(box), given[box.slices])


def test_an_array_in_any_order_is_shown(driven: Viewer, array: Voxels) -> None:
    driven.render_volume(array[::2, :, ::-1].transpose(2, 1, 0))
    assert np.array_equal(driven.retrieve_volume(), array[::2, :, ::-1].transpose(2, 1, 0))


@pytest.mark.parametrize("kind", [Torch, CuPy, pellucid.Volume.from_array])
def test_arrays_of_others_are_shown(kind: Any, driven: Viewer, array: Voxels) -> None:
    driven.render_volume(kind(array))
    assert np.array_equal(driven.retrieve_volume(), array)


def test_memory_that_was_asked_for_first_is_not_copied(running: Viewer, array: Voxels) -> None:
    with running.allocate(array.shape, array.dtype) as shared:
        shared.array[...] = array
        running.render_volume(shared)
    assert running.last_transfer is not None and running.last_transfer.nbytes == 0
    assert np.array_equal(running.retrieve_volume(), array)


def test_what_is_written_to_memory_afterwards_is_shown_when_it_is_given_again(running: Viewer, array: Voxels) -> None:
    with running.allocate(array.shape, array.dtype) as shared:
        row = shared.array[0, 0]
        shared.array[...] = array
        running.render_volume(shared)
        image = running.screenshot(64, 48)
        row[:], shared.array[1:] = 77, 0
        assert np.array_equal(running.retrieve_volume(), array)
        assert np.array_equal(running.screenshot(64, 48), image)
        running.render_volume(shared)
        assert np.array_equal(running.retrieve_volume(), shared.array)
        assert (running.retrieve_volume()[0, 0] == 77).all()


def test_the_way_is_reported(
    driven: Viewer, array: Voxels, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    driven.render_volume(array)
    report = driven.last_transfer
    assert report is not None and report.lane == request.node.callspec.params["driven"]
    assert report.nbytes == array.nbytes and f" through {report.lane} in " in str(report)
    is_told = f"No direct connection to {driven._connection.address}. {report}." in caplog.messages
    assert is_told == (report.lane == "proxy")


def test_memory_that_was_asked_for_goes_to_another_machine_too(driven: Viewer, array: Voxels) -> None:
    with driven.allocate(array.shape, array.dtype) as shared:
        shared.array[...] = array
        driven.render_volume(shared)
    assert np.array_equal(driven.retrieve_volume(), array)


def test_a_file_is_opened_wherever_this_person_may(running: Viewer, array: Voxels, tmp_path: Path) -> None:
    np.save(tmp_path / "scan.npy", array)
    running.load(tmp_path / "scan.npy")
    assert running.layer.source == str(tmp_path / "scan.npy")
    with pellucid.open(tmp_path / "scan.npy") as volume:
        running.render_volume(volume)
    assert np.array_equal(running.retrieve_volume(), array)


def test_over_http_only_the_roots_are_open(
    running: Viewer, array: Voxels, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("elsewhere") / "scan.npy"
    np.save(path, array)
    attached = pellucid.connect(running.url)
    attached._lanes.same_host = None
    with pytest.raises(NotAllowed, match="outside the folders"):
        attached.load(path)


def test_the_socket_wants_the_owners_token(running: Viewer, array: Voxels) -> None:
    about = running._connection.ask("GET", "/api/about")
    with pytest.raises(NotAllowed, match="does not allow sending arrays"):
        LocalSocketClient(running.address, about["socket"], "wrong").retrieve(0, "")


def test_points_and_a_mesh(driven: Viewer) -> None:
    driven.render_points([[0, 0, 0], [4, 0, 0], [0, 4, 0]], [1, 2, 3])
    (points,) = driven.scene.points
    assert points.transfer.value_range == (1.0, 3.0)
    driven.render_mesh([[0, 0, 0], [4, 0, 0], [0, 4, 0]], [[0, 1, 2]], how="add")
    assert len(driven.scene.points) == len(driven.scene.meshes) == 1


def test_of_a_large_array_also_the_rarest_value_is_soon_known(running: Viewer) -> None:
    large = np.tile(np.arange(160, dtype=np.uint8), (160, 160, 1))
    large[81, 81, 81] = 255  # Between the voxels that are looked at before the first picture.
    running.render_volume(large)
    wait_until(lambda: histogram_of(running)["high"] == 255)
    histogram = histogram_of(running)
    assert (histogram["low"], histogram["high"], histogram["counts"][-1]) == (0.0, 255.0, 1)
    assert sum(histogram["counts"]) == pytest.approx(large.size, rel=0.01)


def histogram_of(viewer: Viewer) -> dict[str, Any]:
    (layer,) = viewer._connection.ask("GET", "/api/scene")["layers"]
    histogram: dict[str, Any] = layer["histogram"]
    return histogram


def test_labels_lie_over_a_volume(viewer: Viewer, array: Voxels) -> None:
    viewer.render_volume((array > array.mean()).astype(np.uint8), how="labels")
    volume, labels = viewer.scene.volumes
    assert volume.labels is None and labels.labels is not None


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        (np.zeros((3, 3)), WrongDimensions, "three axes"),
        (np.zeros((3, 0, 3)), WrongDimensions, "three axes"),
        (np.zeros((3, 3, 3), complex), UnsupportedType, "complex128"),
        (object(), InvalidInput, "NumPy, CuPy or PyTorch"),
        ("/nowhere/scan.h5", NotFound, "/nowhere/scan.h5"),
    ],
)  # fmt: skip
def test_what_is_no_volume_is_refused(given: object, error: type[Exception], says: str, running: Viewer) -> None:
    with pytest.raises(error, match=says):
        running.render_volume(given)


def test_spacing_is_checked(running: Viewer, array: Voxels, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="three positive numbers"):
        running.render_volume(array, spacing=(1, 1))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="spacing and unit cannot be given for a file"):
        running.render_volume(tmp_path / "scan.npy", spacing=(1, 1, 1))


def test_another_users_socket_gets_neither_token_nor_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        other.bind(str(tmp_path / "socket"))
        other.listen()
        other.settimeout(0)
        user = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: user + 1)
        with pytest.raises(ViewerUnreachable, match="a program of another user responds there"):
            LocalSocketClient("http://127.0.0.1:1/", str(tmp_path / "socket"), "the token").load("/scan.h5", "replace")
        accepted, _ = other.accept()
        with accepted:
            assert accepted.recv(100) == b""
