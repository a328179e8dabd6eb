"""Frames are read block by block, in the order asked for; a Scan refuses parts that do not fit together."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from pellucid.box import Box
from pellucid.errors import InvalidInput
from pellucid.tomo.scan import Frames, Scan
from pellucid.volume.volume import Volume, open_volume

STACK = np.arange(6 * 4 * 5, dtype=np.uint16).reshape(6, 4, 5)


@pytest.mark.parametrize(
    "which", [slice(None), [5, 0, 1, 2], [1, 3, 5], np.array([True, False, True, True, False, True])]
)
def test_frames_come_in_the_order_asked_for(which: Any) -> None:
    frames = Frames.from_array(STACK).choose(which)
    assert np.array_equal(frames.read(), STACK[which])
    assert np.array_equal(frames.read((1, 3), (2, 4)), STACK[which][1:3, 2:4])
    assert frames.times.tolist() == np.arange(6.0)[which].tolist()


@pytest.mark.parametrize(("codec", "reads"), [(None, 3), ("gzip", 2)])
def test_rows_that_are_compressed_together_are_read_once(
    codec: str | None, reads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = np.arange(40 * 9 * 5, dtype=np.uint16).reshape(40, 9, 5)
    with h5py.File(tmp_path / "frames.h5", "w") as file:
        file.create_dataset("frames", data=stack, chunks=(1, 9, 5), compression=codec)
    frames, boxes, read = Frames.whole(open_volume(tmp_path / "frames.h5")), list[Box](), Volume.read

    def counted(self: Volume, box: Box, out: Any) -> Any:
        boxes.append(box)
        return read(self, box, out)

    monkeypatch.setattr(Volume, "read", counted)
    np.testing.assert_array_equal(frames.read_rows([1, 8, 4]), stack[:, [1, 8, 4]])
    assert len(boxes) == reads
    frames.volume.close()


def test_reading_what_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"rows 3:5: there are 4. Choose a range within 0:4"):
        Frames.from_array(STACK).read(rows=(3, 5))


def test_a_scan_says_how_far_the_sample_turned() -> None:
    half = Scan("memory", "simulated", Frames.from_array(STACK), np.arange(6) * np.pi / 6)
    assert half.span_rad == pytest.approx(np.pi) and not half.is_full_turn
    full = Scan("memory", "simulated", Frames.from_array(STACK), np.arange(6) * np.pi / 3)
    assert full.is_full_turn


def test_parts_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InvalidInput, match="6 projections and 5 angles"):
        Scan("memory", "simulated", Frames.from_array(STACK), np.arange(5.0))
    with pytest.raises(InvalidInput, match=r"flats of memory are \(3, 5\) pixels and its projections \(4, 5\)"):
        Scan("memory", "simulated", Frames.from_array(STACK), np.arange(6.0), flats=Frames.from_array(STACK[:, 1:]))
