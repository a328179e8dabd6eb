"""Voxels at regular distances in a file, and the bytes under them."""

import errno
import os
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from pellucid.box import Box
from pellucid.errors import DiskFull, EmptyFile, NotFound, NotWritable, OutputExists, Truncated, Unreadable
from pellucid.formats.byte_sources import FileBytes, JoinedBytes, Piece, existing_file, read_errors
from pellucid.formats.flat import placement as flat
from pellucid.formats.flat.placement import FlatArray, Placement, allocate, place, read_box
from tests.contracts.formats import numbers, random_boxes

SHAPE = (5, 6, 7)


@pytest.mark.parametrize("axes", ["tczyx", "tzyxc", "xyzct", "cyxtz", "zxtcy"])
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("gap_bytes", [0, 1 << 20])
def test_any_order_of_axes_is_read(
    axes: str, order: str, gap_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flat, "_GAP_BYTES", gap_bytes)
    lengths = {"t": 2, "c": 3, "z": 5, "y": 6, "x": 7}
    stored = np.arange(2 * 3 * 5 * 6 * 7, dtype=f"{order}u2").reshape([lengths[axis] for axis in axes])
    (tmp_path / "array").write_bytes(b"head" + stored.tobytes())
    placement, times, channels = place(axes, stored.shape, stored.dtype, 4)
    assert (placement.shape, times, channels) == (SHAPE, 2, 3)
    assert placement.end(2, 3) == 4 + stored.nbytes
    file = FileBytes(tmp_path / "array")
    expected = stored.transpose([axes.index(axis) for axis in "tczyx"])
    for t, c, box in ((t, c, box) for t in (0, 1) for c in (0, 2) for box in random_boxes(SHAPE, 6)):
        out = np.empty(box.shape, np.uint16)
        read_box(file, placement.at(t, c), box, out)
        np.testing.assert_array_equal(out, expected[t, c][box.slices])
    file.close()


def test_empty_box_reads_nothing(tmp_path: Path) -> None:
    (tmp_path / "array").write_bytes(bytes(8))
    array = FlatArray(tmp_path / "array", (2, 2, 2), np.dtype(np.uint8))
    room = np.full((1, 2, 2), 7, np.uint8)
    array.read(Box((0, 0, 0), (0, 2, 2)), room[:0])
    array.close()
    assert room.tolist() == [[[7, 7], [7, 7]]]


def test_box_of_part_of_the_rows_is_written_in_place(tmp_path: Path) -> None:
    voxels, path = numbers(SHAPE, "int16"), tmp_path / "array"
    allocate(path, b"head", SHAPE, np.dtype(">i2"))
    array = FlatArray(path, SHAPE, np.dtype(">i2"), 4, writable=True)
    box = Box((1, 2, 3), (4, 5, 6))
    array.write(box, voxels[box.slices])
    array.close()
    expected = np.zeros(SHAPE, np.int16)
    expected[box.slices] = voxels[box.slices]
    assert path.read_bytes() == b"head" + expected.astype(">i2").tobytes()


def test_short_file_is_told_with_both_sizes(tmp_path: Path) -> None:
    (tmp_path / "array").write_bytes(bytes(100))
    with pytest.raises(Truncated, match="expected 210 bytes, found 100"):
        FlatArray(tmp_path / "array", SHAPE, np.dtype(np.uint8))


def test_file_that_shrinks_while_it_is_read_is_told(tmp_path: Path) -> None:
    path = tmp_path / "array"
    path.write_bytes(bytes(210))
    array = FlatArray(path, SHAPE, np.dtype(np.uint8))
    os.truncate(path, 100)
    with pytest.raises(Truncated, match="found 100"):
        array.read(Box.whole(SHAPE), np.empty(SHAPE, np.uint8))
    array.close()


def test_full_disk_is_named(tmp_path: Path) -> None:
    path = tmp_path / "array"
    allocate(path, b"", SHAPE, np.dtype(np.uint8))
    array = FlatArray(path, SHAPE, np.dtype(np.uint8), writable=True)
    full = OSError(errno.ENOSPC, "No space left on device")
    with mock.patch("os.pwrite", side_effect=full), pytest.raises(DiskFull, match=r"disk is full.*array.*untouched"):
        array.write(Box.whole(SHAPE), np.zeros(SHAPE, np.uint8))
    array.close()


def test_what_cannot_fit_is_refused_before_it_is_created(tmp_path: Path) -> None:
    with pytest.raises(DiskFull, match="disk is full"):
        allocate(tmp_path / "array", b"", (1 << 20, 1 << 20, 1 << 10), np.dtype(np.uint8))
    assert list(tmp_path.iterdir()) == []


def test_existing_file_and_unwritable_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(OutputExists, match="already exists"):
        allocate(tmp_path / "file", b"", SHAPE, np.dtype(np.uint8))
    with pytest.raises(NotWritable, match="Could not write"):
        allocate(tmp_path / "file" / "below", b"", SHAPE, np.dtype(np.uint8))


def test_several_files_are_one(tmp_path: Path) -> None:
    voxels = numbers(SHAPE, "uint8")
    pieces = []
    for plane in range(5):
        path = tmp_path / f"{plane}"
        path.write_bytes(b"head" + voxels[plane].tobytes())
        pieces.append(Piece(path, 4, 42))
    joined = JoinedBytes(pieces)
    joined.require(210)
    out = np.empty((3, 3, 3), np.uint8)
    read_box(joined, Placement.dense(SHAPE, np.dtype(np.uint8)), Box((1, 1, 1), (4, 4, 4)), out)
    np.testing.assert_array_equal(out, voxels[1:4, 1:4, 1:4])
    with pytest.raises(Truncated, match="expected 211 bytes, found 210"):
        joined.require(211)
    pieces[2].path.write_bytes(b"head")
    with pytest.raises(Truncated, match="expected 46 bytes, found 4"):
        joined.require(210)


def test_what_is_no_file_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with pytest.raises(EmptyFile, match="is empty"):
        existing_file(tmp_path / "empty")
    with pytest.raises(NotFound, match="does not exist"):
        existing_file(tmp_path / "absent")
    with pytest.raises(Unreadable, match="it is a folder"):
        existing_file(tmp_path)
    refused = PermissionError(errno.EACCES, "Permission denied")
    with pytest.raises(Unreadable, match="Permission denied"), read_errors(tmp_path):
        raise refused
