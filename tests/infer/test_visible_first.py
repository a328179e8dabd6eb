"""Labels appear where someone looks, and are those of the whole volume in the end."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.box import Box
from pellucid.engines.stopping import stopping_when
from pellucid.errors import Cancelled, InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.infer.job import NetworkFile
from pellucid.infer.network_files.network import NetworkForm
from pellucid.infer.network_files.transforms import ValueTransform
from pellucid.infer.priority import visible_first
from pellucid.infer.priority.focus import BlockQueue, Focus
from pellucid.infer.priority.visible_first import VisibleRun
from pellucid.volume.volume import Volume
from tests.infer.small_networks import convolution, super_resolution, unet

SHAPE = (7, 40, 52)
CUBES = list(Box.whole((64, 64, 64)).tiles((16, 16, 16)))
POINTS = st.tuples(*[st.floats(0, 63)] * 3)


@pytest.fixture(autouse=True)
def small_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visible_first, "EDGE_2D", 16)
    monkeypatch.setattr(visible_first, "EDGE_3D", 8)


@pytest.fixture
def voxels() -> Voxels:
    return np.random.default_rng(3).normal(5, 2, SHAPE).astype(np.float32)


def opened(voxels: Voxels, path: Path, form: NetworkForm | None = None, **how: float) -> VisibleRun:
    labels = np.zeros(voxels.shape, np.uint8)
    return VisibleRun.open(Volume.from_array(voxels), NetworkFile(path, form or NetworkForm()), labels, **how)  # type: ignore[arg-type]


@pytest.mark.parametrize("is_3d", [False, True])
def test_all_blocks_together_are_the_whole(is_3d: bool, voxels: Voxels, tmp_path: Path) -> None:
    kernel = np.random.default_rng(0).normal(size=(3, 1, *[3] * (3 if is_3d else 2))).astype(np.float32)
    run = opened(voxels, convolution(tmp_path / "net.onnx", kernel))
    counts = np.zeros(SHAPE, int)

    def count(box: Box) -> None:
        counts[box.slices] += 1

    run.run(count)
    assert (counts == 1).all()
    kernels = kernel[:, 0] if is_3d else kernel[:, :, :, :].reshape(3, 1, 3, 3)
    padded = np.pad(voxels, [(1, 1) if is_3d else (0, 0), (1, 1), (1, 1)]).astype(np.float64)
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernels.shape[1:])
    expected = np.einsum("zyxabc,oabc->ozyx", windows, kernels.astype(np.float64)).argmax(axis=0)
    assert np.mean(run.labels != expected) < 1e-3  # Ties, to the last digit.


def test_statistics_are_those_of_the_whole_volume(voxels: Voxels, tmp_path: Path) -> None:
    form = NetworkForm(preprocess=(ValueTransform.parse("zero_mean_unit_variance"),))
    run = opened(voxels, convolution(tmp_path / "net.onnx", np.ones((1, 1, 1, 1))), form, threshold=0.5)
    run.run(lambda box: None)
    np.testing.assert_array_equal(run.labels, (voxels - voxels.mean()) / voxels.std() > 0.5)


def test_the_slice_that_is_shown_comes_first(voxels: Voxels, tmp_path: Path) -> None:
    run = opened(voxels, convolution(tmp_path / "net.onnx", np.ones((1, 1, 3, 3))))
    run.queue.set_focus(Focus(cross_hair=(4, 3, 3)))
    boxes: list[Box] = []
    run.run(boxes.append)
    tiles = len(boxes) // SHAPE[0]
    assert {box.start[0] for box in boxes[:tiles]} == {4}
    assert boxes[0].contains(Box((4, 3, 3), (5, 4, 4)))


def test_another_focus_changes_the_order_of_what_is_left(voxels: Voxels, tmp_path: Path) -> None:
    run = opened(voxels, convolution(tmp_path / "net.onnx", np.ones((1, 1, 3, 3))))
    boxes: list[Box] = []

    def turn_away(box: Box) -> None:
        boxes.append(box)
        if len(boxes) == 3:
            run.queue.set_focus(Focus(cross_hair=(6, 39, 51)))

    run.run(turn_away)
    assert boxes[3].contains(Box((6, 39, 51), (7, 40, 52)))
    assert len({str(box) for box in boxes}) == len(boxes)


def test_it_stops_where_it_is_told_to(voxels: Voxels, tmp_path: Path) -> None:
    run = opened(voxels, convolution(tmp_path / "net.onnx", np.ones((1, 1, 3, 3))))
    boxes: list[Box] = []
    with pytest.raises(Cancelled), stopping_when(lambda: len(boxes) == 2):
        run.run(boxes.append)
    assert len(boxes) == 2


def test_a_network_that_depends_on_its_window_is_blended(voxels: Voxels, tmp_path: Path) -> None:
    run = opened(voxels, unet(tmp_path / "net.onnx", normalised=True))
    assert run.predictor.windows.is_blended
    run.run(lambda box: None)
    assert run.labels.any()


def test_an_output_of_another_size_is_refused(voxels: Voxels, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"voxels \(z, y, x\) for each of the input's.*pellucid segment"):
        opened(voxels, super_resolution(tmp_path / "net.onnx", np.ones((1, 1, 1))))


@given(POINTS, st.booleans())
def test_blocks_on_more_slices_come_first_then_the_nearer_ones(point: tuple[float, float, float], is_eye: bool) -> None:
    queue = BlockQueue(CUBES, Focus(eye=point) if is_eye else Focus(cross_hair=point))
    taken = list(iter(queue.take, None))
    assert sorted(map(str, taken)) == sorted(map(str, CUBES)) and len(queue) == 0
    voxel = np.rint(point)

    def key(box: Box) -> tuple[int, float]:
        slices = sum(a <= v < b for a, b, v in zip(box.start, box.stop, voxel, strict=True))
        middle = (np.array(box.start) + box.stop - 1) / 2
        return 0 if is_eye else -slices, round(float(np.linalg.norm(middle - point)), 6)

    assert [key(box) for box in taken] == sorted(key(box) for box in CUBES)


def test_what_clipping_leaves_comes_first() -> None:
    kept = Box((16, 0, 0), (32, 64, 64))
    queue = BlockQueue(CUBES, Focus(eye=(200, 0, 0), box=kept))
    first = [queue.take() for _ in range(16)]
    assert all(box is not None and kept.contains(box) for box in first)
