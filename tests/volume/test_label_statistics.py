"""Counts, centres and boxes of labels, as scipy.ndimage defines them, whatever the type and the size of pieces."""

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from pellucid.errors import Cancelled, InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.volume import label_statistics, statistics
from pellucid.volume.label_statistics import LabelTable, measure_labels
from pellucid.volume.volume import Volume


def compare(table: LabelTable, voxels: Voxels) -> None:
    """With the definition, label by label."""
    names = [int(name) for name in np.unique(voxels) if name != 0]
    assert table.labels.tolist() == names
    ranks = np.searchsorted(names, voxels) + 1 if names else np.zeros(voxels.shape, int)
    ranks = np.where(voxels == 0, 0, ranks)
    indices = range(1, len(names) + 1)
    assert table.voxels.tolist() == [int(np.count_nonzero(voxels == name)) for name in names]
    if names:
        np.testing.assert_allclose(table.center, ndimage.center_of_mass(voxels != 0, ranks, indices), atol=1e-9)
    for row, places in enumerate(ndimage.find_objects(ranks)):
        assert table.box(row).slices == places


@pytest.mark.parametrize("dtype", ["uint8", "int16", ">u2", "int32", "uint64"])
def test_labels_are_counted_as_scipy_does(monkeypatch: pytest.MonkeyPatch, dtype: str) -> None:
    monkeypatch.setattr(statistics, "PIECE_BYTES", 2048)
    monkeypatch.setattr(label_statistics, "MERGED_TOGETHER", 10)
    voxels = np.random.default_rng(3).integers(0, 6, (9, 14, 11)).astype(dtype)
    compare(measure_labels(Volume.from_array(voxels)), voxels)


@settings(max_examples=40, deadline=None)
@given(
    shape=st.tuples(*[st.integers(1, 6)] * 3),
    names=st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=5),
    seed=st.integers(0, 1000),
)
def test_any_labels_are_counted_as_scipy_does(shape: tuple[int, int, int], names: list[int], seed: int) -> None:
    voxels = np.random.default_rng(seed).choice(np.array([0, *names]), shape).astype(np.int32)
    table = measure_labels(Volume.from_array(voxels))
    compare(table, voxels)
    compare(LabelTable.from_rows(table.to_rows(), "int32"), voxels)


def test_labels_beyond_int64_keep_their_names() -> None:
    voxels = np.full((1, 1, 2), 2**64 - 3, np.uint64)
    table = measure_labels(Volume.from_array(voxels))
    assert LabelTable.from_rows(table.to_rows(), "uint64").labels.tolist() == [2**64 - 3]


def test_values_are_no_labels() -> None:
    with pytest.raises(InvalidInput, match="has type float32, but labels must be whole numbers"):
        measure_labels(Volume.from_array(np.zeros((2, 2, 2), np.float32)))


def test_too_many_labels_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_statistics, "MAX_LABELS", 7)
    with pytest.raises(InvalidInput, match="more than 7 different labels"):
        measure_labels(Volume.from_array(np.arange(1, 9, dtype=np.uint16).reshape(2, 2, 2)))


def test_counting_stops_when_it_is_cancelled() -> None:
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Cancelled):
        measure_labels(Volume.from_array(np.ones((2, 2, 2), np.uint8)), cancel)
