"""The store: names of steps, what is read ahead, and who goes when memory is short."""

from pathlib import Path

import numpy as np
import pytest

from pellucid.device import choose
from pellucid.errors import NotFound
from pellucid.fields.store import FieldKey, FieldStore
from pellucid.volume.volume import Volume

STEP_BYTES = 32 * 32 * 32


@pytest.fixture
def series(tmp_path: Path) -> str:
    np.save(tmp_path / "steps.npy", np.arange(4 * STEP_BYTES, dtype=np.uint64).reshape(4, 32, 32, 32).astype(np.uint8))
    return str(tmp_path / "steps.npy")


def held(store: FieldStore, series: str) -> list[int]:
    """The steps that are on the device, least recently used first."""
    return [int(key.source.removeprefix(f"{series}:t=")) for key in store._fields]


def test_a_time_has_a_name(series: str, tmp_path: Path) -> None:
    store = FieldStore(choose("cpu"))
    assert [store.name_at(series, time) for time in (-2.0, 1.49, 1.5, 8.0)] == [f"{series}:t={t}" for t in (0, 1, 2, 3)]
    assert store.name_at(f"{series}:t=1", 3.0) == f"{series}:t=1"
    memory = Volume.from_array(np.zeros((2, 2, 2), np.uint8))
    assert store.name_at(str(memory.location), 3.0) == str(memory.location)
    with pytest.raises(NotFound):
        store.name_at(str(tmp_path / "absent.npy"), 0.0)


def test_what_comes_next_is_there_when_it_is_wanted(series: str) -> None:
    store = FieldStore(choose("cpu"))
    names = [FieldKey(store.name_at(series, time)) for time in range(4)]
    store.get(names[:1])
    store.read_ahead([names[1], names[0]])
    ahead = store._ahead._coming[names[1]].field
    assert names[0] not in store._ahead
    assert store.get(names[1:2]) == [ahead.result()]
    assert held(store, series) == [0, 1]


def test_what_cannot_be_read_ahead_fails_when_it_is_wanted(tmp_path: Path) -> None:
    store = FieldStore(choose("cpu"))
    store._ahead.start("broken", 10, lambda: store.get([FieldKey(str(tmp_path / "absent.npy"))])[0])
    assert store._ahead.nbytes == 10
    assert store._ahead.take_ready(wait=True) == {}
    assert store._ahead.nbytes == 0


def test_nothing_is_read_ahead_where_there_is_no_room(series: str) -> None:
    store = FieldStore(choose("cpu"), int(2.5 * STEP_BYTES))
    names = [FieldKey(store.name_at(series, time)) for time in range(4)]
    store.get(names[:1])
    store.read_ahead(names[1:])
    assert names[1] in store._ahead
    assert names[2] not in store._ahead


def test_the_least_recently_used_goes_first(series: str) -> None:
    store = FieldStore(choose("cpu"), int(3.5 * STEP_BYTES))
    names = [FieldKey(store.name_at(series, time)) for time in range(4)]
    for step in (0, 1, 2, 0, 3):
        store.get([names[step]])
    assert held(store, series) == [2, 0, 3]


def test_values_and_labels_of_one_volume_are_two_fields(series: str) -> None:
    store = FieldStore(choose("cpu"))
    values, labels = store.get([FieldKey(f"{series}:t=1"), FieldKey(f"{series}:t=1", is_labels=True)])
    assert values.labels is None
    assert labels.labels is not None
    assert labels.labels.labels.tolist() == list(range(256))
    store.release(FieldKey(f"{series}:t=1"))
    assert labels.labels.read().shape == (32, 32, 32)
