"""Networks that a viewer applies: from a file in Python to labels that are drawn."""

import json
from pathlib import Path

import numpy as np
import pytest

from pellucid.cli.main import main
from pellucid.client.viewer import Viewer
from pellucid.errors import InvalidInput, NotFound, PellucidError
from pellucid.formats.protocol import Voxels
from pellucid.volume.volume import open_volume
from tests.infer.small_networks import convolution, endless, super_resolution
from tests.waiting import TIMEOUT_S, wait_until

SHAPE = (12, 40, 44)


@pytest.fixture
def voxels(viewer: Viewer) -> Voxels:
    voxels = np.random.default_rng(0).normal(size=SHAPE).astype(np.float32)
    viewer.render_volume(voxels, (2.0, 1.0, 1.0))
    return voxels


def test_labels_are_drawn_as_a_layer_and_can_be_corrected(viewer: Viewer, voxels: Voxels, tmp_path: Path) -> None:
    network = convolution(tmp_path / "sign.onnx", np.array([1.0, -1.0]).reshape(2, 1, 1, 1))
    applied = viewer.apply_network(network)
    applied.wait()
    expected = (voxels < 0).astype(np.uint8)  # The channel with the larger value.
    np.testing.assert_array_equal(viewer.retrieve_volume(layer=applied.layer), expected)
    layer = viewer.scene.volumes[applied.layer]
    assert layer.labels is not None and not applied.is_running and applied.progress == 1.0
    assert {row.label: row.voxels for row in applied.labels.table()} == {1: int(expected.sum())}
    applied.labels.set(1, name="gas")
    applied.labels.erase([(6, 20, 20)], radius=3)
    viewer.undo()
    np.testing.assert_array_equal(viewer.retrieve_volume(layer=applied.layer), expected)


def test_corrected_labels_are_saved_and_trained_on(viewer: Viewer, tmp_path: Path) -> None:
    """Two things look alike to a network; the brush tells them apart, and the next network does so by itself."""
    z, y, x = np.indices(SHAPE)
    light, dense = ((z - 6) ** 2 + (y - 20) ** 2 + (x - at) ** 2 < 30 for at in (11, 32))
    noise = 0.05 * np.random.default_rng(0).standard_normal(SHAPE)
    voxels = (0.5 - 1.0 * light - 2.0 * dense + noise).astype(np.float32)
    np.save(tmp_path / "scan.npy", voxels)
    viewer.load(tmp_path / "scan.npy")
    first = viewer.apply_network(convolution(tmp_path / "sign.onnx", np.array([1.0, -1.0]).reshape(2, 1, 1, 1)))
    first.wait(TIMEOUT_S)
    np.testing.assert_array_equal(viewer.retrieve_volume(layer=first.layer), light | dense)
    first.labels.paint([(6, 20, 32)], 2, radius=8, only=1)
    first.labels.save(tmp_path / "corrected.zarr")
    corrected = np.where(dense, 2, light)
    with open_volume(tmp_path / "corrected.zarr") as saved:
        np.testing.assert_array_equal(saved.read(), corrected)
    command = (
        f"train segment --volume {tmp_path / 'scan.npy'} --labels {tmp_path / 'corrected.zarr'} -o {tmp_path / 'net'} "
        "--target classes --kind 2d --width 4 --patch 1,32,32 --steps 400 --batch 2 --epoch-steps 75 --rate 0.01 "
        "--device cpu --threads 1 --quiet"
    )
    assert main(command.split()) == 0
    second = viewer.apply_network(tmp_path / "net")
    second.wait(TIMEOUT_S)
    found = viewer.retrieve_volume(layer=second.layer)
    assert np.mean(found == corrected) > 0.98
    assert [int(found[6, 20, at]) for at in (11, 32, 22)] == [1, 2, 0]


def test_what_a_bare_file_does_not_state_is_passed_along(viewer: Viewer, voxels: Voxels, tmp_path: Path) -> None:
    network = convolution(tmp_path / "same.onnx", np.ones((1, 1, 1, 1)))
    applied = viewer.apply_network(network, threshold=0.7, preprocess=["scale_linear:gain=2"], postprocess=["sigmoid"])
    applied.wait()
    expected = 1 / (1 + np.exp(-2 * voxels)) > 0.7
    np.testing.assert_array_equal(viewer.retrieve_volume(layer=applied.layer), expected)


def test_a_network_that_does_not_fit_says_why(viewer: Viewer, voxels: Voxels, tmp_path: Path) -> None:
    applied = viewer.apply_network(super_resolution(tmp_path / "finer.onnx", np.ones((1, 1, 1))))
    with pytest.raises(PellucidError, match=r"finer.onnx has .* for each of the input's"):
        applied.wait()
    (tmp_path / "broken.onnx").write_bytes(b"no network")
    with pytest.raises(PellucidError, match="it is not a complete ONNX model"):
        viewer.apply_network(tmp_path / "broken.onnx").wait()
    (tmp_path / "words.txt").write_text("no network")
    with pytest.raises(InvalidInput, match="is not a network"):
        viewer.apply_network(tmp_path / "words.txt")
    with pytest.raises(InvalidInput, match="Layer 7 does not contain a volume of values"):
        viewer.apply_network(convolution(tmp_path / "good.onnx", np.ones((1, 1, 1, 1))), layer=7)


def test_a_run_is_stopped_and_another_one_begins(viewer: Viewer, tmp_path: Path) -> None:
    viewer.render_volume(np.zeros((400, 64, 64), np.float32))
    network = convolution(tmp_path / "slow.onnx", np.ones((1, 1, 25, 25)))
    first = viewer.apply_network(network)
    with pytest.raises(InvalidInput, match="Another network is being applied"):
        viewer.apply_network(network)
    first.stop()
    wait_until(lambda: not first.is_running)
    assert viewer.scene.volumes[first.layer].labels is not None  # What is there stays.
    second = viewer.apply_network(convolution(tmp_path / "quick.onnx", np.ones((1, 1, 1, 1))))
    second.wait()
    assert second.layer != first.layer


def test_a_network_that_does_not_return_is_stopped_and_the_next_one_is_applied(
    viewer: Viewer, voxels: Voxels, tmp_path: Path
) -> None:
    applied = viewer.apply_network(endless(tmp_path / "endless.onnx"))
    applied.stop()
    with pytest.raises(PellucidError, match=r"Applying endless.onnx was cancelled"):
        applied.wait(TIMEOUT_S)
    following = viewer.apply_network(convolution(tmp_path / "sign.onnx", np.array([1.0, -1.0]).reshape(2, 1, 1, 1)))
    following.wait(TIMEOUT_S)
    np.testing.assert_array_equal(viewer.retrieve_volume(layer=following.layer), (voxels < 0).astype(np.uint8))


def test_a_network_that_is_not_there_leaves_no_layer(viewer: Viewer, voxels: Voxels, tmp_path: Path) -> None:
    uploaded = viewer.apply_network(convolution(tmp_path / "here.onnx", np.ones((1, 1, 1, 1))))
    uploaded.wait(TIMEOUT_S)
    layers = len(viewer.scene.volumes)
    allowed = json.loads(viewer._connection.exchange("PUT", "/api/upload", b"no network", name="some.onnx"))["path"]
    with pytest.raises(NotFound, match=r"absent.onnx"):
        viewer._connection.ask("POST", "/api/networks", {"path": str(Path(allowed).with_name("absent.onnx"))})
    (tmp_path / "broken.onnx").write_bytes(b"no network")
    with pytest.raises(PellucidError, match="it is not a complete ONNX model"):
        viewer.apply_network(tmp_path / "broken.onnx").wait(TIMEOUT_S)
    assert len(viewer.scene.volumes) == layers
