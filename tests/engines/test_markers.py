"""Done-markers: keyed by parameters and input, whole after a crash."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pellucid.engines.markers import Markers, job_key
from pellucid.engines.task import BlockResult
from pellucid.volume.blocks import split
from tests.contracts.engine_tasks import Invert


@pytest.fixture
def task(tmp_path: Path) -> Invert:
    np.save(tmp_path / "in.npy", np.zeros((4, 4, 4), np.uint8))
    return Invert(str(tmp_path / "in.npy"), "out", None, "log")  # type: ignore[arg-type]


def test_the_key_follows_parameters_input_and_cut(task: Invert) -> None:
    blocks = split((4, 4, 4), (2, 4, 4))
    key = job_key(task, blocks)
    assert job_key(task, blocks) == key
    assert job_key(replace(task, trouble="bug"), blocks) != key
    assert job_key(task, split((4, 4, 4), (1, 4, 4))) != key
    np.save(task.source, np.ones((4, 4, 5), np.uint8))
    assert job_key(task, blocks) != key


def test_results_are_found_again(tmp_path: Path) -> None:
    markers = Markers(tmp_path / "done", "key")
    markers.add(BlockResult(3, {"mean": 1.5}))
    markers.close()
    assert Markers(tmp_path / "done", "key").results == {3: {"mean": 1.5}}


def test_another_key_starts_afresh(tmp_path: Path) -> None:
    markers = Markers(tmp_path / "done", "key")
    markers.add(BlockResult(3))
    markers.close()
    assert Markers(tmp_path / "done", "other").results == {}
    assert Markers(tmp_path / "done", "key").results == {}


def test_a_line_cut_by_a_crash_is_void_and_spoils_no_other(tmp_path: Path) -> None:
    (tmp_path / "done").write_text("key\n[0, null]\n[1, nu")
    markers = Markers(tmp_path / "done", "key")
    assert markers.results == {0: None}
    markers.add(BlockResult(2))
    markers.close()
    assert Markers(tmp_path / "done", "key").results == {0: None, 2: None}
