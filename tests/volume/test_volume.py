"""Volume: what it says of itself, and reading."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pellucid
from pellucid.box import Box
from pellucid.errors import InvalidInput, SelectionInvalid, UnsupportedType, WrongDimensions
from pellucid.formats.protocol import Voxels
from pellucid.volume.interpolate import trilinear
from pellucid.volume.volume import Volume


@pytest.fixture
def ramp() -> Voxels:
    return np.arange(4 * 5 * 6, dtype=np.uint16).reshape(4, 5, 6)


@pytest.fixture
def volume(ramp: Voxels) -> Volume:
    return Volume.from_array(ramp, spacing=(2.0, 1.0, 0.5), unit="um")


def test_facts(volume: Volume) -> None:
    assert (volume.shape, volume.dtype.name, volume.nbytes) == ((4, 5, 6), "uint16", 240)
    assert (volume.spacing, volume.unit) == ((2.0, 1.0, 0.5), "um")
    assert "shape=(4, 5, 6)" in repr(volume)


def test_boxes_slices_and_numbers(volume: Volume, ramp: Voxels) -> None:
    assert (volume[Box((1, 0, 2), (3, 5, 4))] == ramp[1:3, :, 2:4]).all()
    assert (volume[1:, :-1, 2:4] == ramp[1:, :-1, 2:4]).all()
    assert (volume[-1, :, 0] == ramp[-1, :, 0]).all()
    assert (volume[1] == ramp[1]).all()
    assert (volume[..., 2:3] == ramp[..., 2:3]).all()
    assert (np.asarray(volume) == ramp).all()


PART = st.one_of(
    st.integers(-3, 2),
    st.just(slice(None)),
    st.sampled_from([slice(1, None), slice(None, -1), slice(-2, 2), slice(0, 99)]),
)


@given(st.lists(PART, min_size=1, max_size=3), st.integers(0, 4))
def test_an_index_selects_what_it_selects_in_numpy(parts: list[int | slice], gap: int) -> None:
    array = np.arange(27, dtype=np.int16).reshape(3, 3, 3)
    index = (*parts[:gap], ..., *parts[gap:]) if gap <= len(parts) else tuple(parts)
    chosen = Volume.from_array(array)[index]
    assert np.shape(chosen) == array[index].shape
    assert np.array_equal(chosen, array[index])


def test_three_numbers_give_one_value(volume: Volume, ramp: Voxels) -> None:
    assert volume[1, 2, -1] == ramp[1, 2, -1] and np.ndim(volume[1, 2, -1]) == 0


def test_reading_into_an_array(volume: Volume, ramp: Voxels) -> None:
    target = np.zeros((2, 5, 12), np.uint16)
    volume.read(Box((0, 0, 0), (2, 5, 6)), out=target[:, :, ::2])
    assert (target[:, :, ::2] == ramp[:2]).all()
    assert (target[:, :, 1::2] == 0).all()


def test_what_cannot_be_read_is_refused(volume: Volume) -> None:
    with pytest.raises(InvalidInput, match=r"Choose a box within 0:4,0:5,0:6"):
        volume.read(Box((0, 0, 0), (5, 5, 6)))
    with pytest.raises(InvalidInput, match=r"shape \(4, 5, 6\) and type uint16"):
        volume.read(out=np.zeros((4, 5, 6), np.uint8))
    with pytest.raises(InvalidInput, match="at_level"):
        volume[::2, :, :]
    with pytest.raises(InvalidInput, match="Index with a Box"):
        volume[1, 2, 3, 4]
    for wrong in ("a", 1.9, True, np.True_, None, np.float32(1), np.array([0, 1]), (0, False)):
        with pytest.raises(InvalidInput, match=r"Invalid position .*\. Index with a Box"):
            volume[wrong]  # type: ignore[index]
    with pytest.raises(InvalidInput, match="not whole numbers"):
        volume[0.5:2.5]
    assert volume[np.int16(1)].shape == (5, 6)  # type: ignore[index]
    with pytest.raises(InvalidInput, match="A list does not fit"):
        volume.read(out=[])  # type: ignore[arg-type]
    with pytest.raises(SelectionInvalid, match="level from 0 to 0"):
        volume.at_level(1)


def test_arrays_that_are_no_volume_are_refused() -> None:
    with pytest.raises(WrongDimensions, match="three axes"):
        Volume.from_array(np.zeros((2, 2)))
    with pytest.raises(UnsupportedType, match="complex128"):
        Volume.from_array(np.zeros((2, 2, 2), complex))


def test_a_big_endian_array_reads_native() -> None:
    volume = Volume.from_array(np.arange(8, dtype=">i4").reshape(2, 2, 2))
    assert volume.dtype == np.dtype("=i4")
    assert volume[0, 0, :].tolist() == [0, 1]


def test_sampling_is_trilinear(volume: Volume, ramp: Voxels) -> None:
    points = np.random.default_rng(0).uniform((0, 0, 0), (3, 4, 5), (50, 3))
    expected = points @ np.array([30.0, 6.0, 1.0])
    assert np.allclose(volume.sample(points), expected)
    assert np.allclose(trilinear(ramp, points), expected)


def test_sampling_outside_takes_the_nearest_voxel(volume: Volume) -> None:
    assert volume.sample(np.array([[-5.0, 0.0, 0.0], [9.0, 9.0, 9.0]])).tolist() == [0.0, 119.0]


def test_changes_are_announced_and_statistics_follow() -> None:
    voxels = np.zeros((4, 4, 4), np.uint8)
    volume = Volume.from_array(voxels)
    heard: list[Box] = []
    stop = volume.on_change(heard.append)
    assert volume.value_range == (0.0, 0.0)
    voxels[1, 1, 1] = 9
    volume.changed(Box((1, 1, 1), (2, 2, 2)))
    assert heard == [Box((1, 1, 1), (2, 2, 2))]
    assert volume.value_range == (0.0, 9.0)
    stop()
    volume.changed(volume.box)
    assert len(heard) == 1


def test_a_closed_volume_says_so(tmp_path: Path, ramp: Voxels) -> None:
    np.save(tmp_path / "ramp.npy", ramp)
    volume = pellucid.open(tmp_path / "ramp.npy")
    same = volume.at_level(0)
    volume.close()
    volume.close()
    for closed in (volume, same):
        with pytest.raises(InvalidInput, match="The volume is closed"):
            closed.read()


def test_a_volume_travels_by_name_or_with_its_array(tmp_path: Path, ramp: Voxels, volume: Volume) -> None:
    np.save(tmp_path / "ramp.npy", ramp)
    with pellucid.open(tmp_path / "ramp.npy") as opened, pickle.loads(pickle.dumps(opened)) as copy:
        assert (copy.read() == ramp).all()
    copy = pickle.loads(pickle.dumps(volume))
    assert (copy.read() == ramp).all()
    assert (copy.spacing, copy.unit) == (volume.spacing, volume.unit)


def test_opening_by_name(tmp_path: Path, ramp: Voxels) -> None:
    np.save(tmp_path / "ramp.npy", ramp)
    with pellucid.open(tmp_path / "ramp.npy") as volume:
        assert (volume.read() == ramp).all()
    with pytest.raises(InvalidInput, match="from_array"):
        pellucid.open(ramp)  # type: ignore[arg-type]
    with pytest.raises(SelectionInvalid, match="no time step 3"):
        pellucid.open(f"{tmp_path}/ramp.npy:t=3")


def test_series_of_time_and_channel(tmp_path: Path) -> None:
    voxels = np.arange(2 * 3 * 4 * 5 * 6, dtype=np.uint8).reshape(2, 3, 4, 5, 6)
    np.save(tmp_path / "five.npy", voxels)
    with pellucid.open_series(tmp_path / "five.npy") as series:
        assert (len(series), series.times, series.channels) == (2, 2, 3)
        assert (series[1, 2].read() == voxels[1, 2]).all()
        assert [volume.read()[0, 0, 0] for volume in series] == [0, voxels[1, 0, 0, 0, 0]]
        with pytest.raises(SelectionInvalid, match="channel from 0 to 2"):
            series[0, 3]
    with pytest.raises(pellucid.errors.SelectionNeeded, match="2 time steps and 3 channels"):
        pellucid.open(tmp_path / "five.npy")
    with pellucid.open(f"{tmp_path}/five.npy:t=1,c=2") as volume:
        assert (volume.read() == voxels[1, 2]).all()
