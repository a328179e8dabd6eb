"""HiPic frames, written from the layout and read back; single images also by another reader."""

from pathlib import Path

import numpy as np
import pytest
from fabio.HiPiCimage import HiPiCimage

from pellucid.box import Box
from pellucid.errors import Corrupted, DatasetMissing, InvalidInput, Truncated
from pellucid.formats.location import Location
from pellucid.formats.registry import open_reader, recognise
from pellucid.volume.volume import open_volume
from tests.contracts.formats import random_boxes
from tests.hipic_files import Pixels, write_his, write_img


def frames_of(bits: int, shape: tuple[int, int, int] = (9, 5, 7)) -> Pixels:
    return np.random.default_rng(bits).integers(0, 2**bits, shape)


@pytest.mark.parametrize("bits", [8, 12, 16])
def test_every_box_of_a_sequence(bits: int, tmp_path: Path) -> None:
    frames = frames_of(bits)
    write_his(tmp_path / "a.his", frames, bits)
    location = Location(str(tmp_path / "a.his"))
    assert recognise(location) == "hipic"
    reader = open_reader(location)
    assert reader.header.dtype == (np.uint8 if bits == 8 else np.uint16)
    for box in random_boxes((9, 5, 7), 30):
        out = np.empty(box.shape, reader.header.dtype)
        reader.read(box, out)
        np.testing.assert_array_equal(out, frames[box.slices])


@pytest.mark.parametrize("bits", [8, 16])
def test_an_image_is_the_same_to_fabio(bits: int, tmp_path: Path) -> None:
    frame = frames_of(bits)[0]
    write_img(tmp_path / "q0001.img", frame, bits)
    with open_volume(tmp_path / "q0001.img") as volume:
        np.testing.assert_array_equal(volume.read()[0], frame)
    if bits == 16:
        np.testing.assert_array_equal(HiPiCimage().read(str(tmp_path / "q0001.img")).data, frame)


def test_a_folder_of_images_is_a_sequence_in_natural_order(tmp_path: Path) -> None:
    frames = frames_of(16)
    for index, frame in enumerate(frames):
        write_img(tmp_path / f"q{index + 5}.img", frame)
    write_img(tmp_path / "dark.img", frames[0] * 0)
    with open_volume(f"{tmp_path}:/q*.img") as volume:
        np.testing.assert_array_equal(volume.read(), frames)
    with pytest.raises(DatasetMissing):
        open_volume(f"{tmp_path}:/z*.img")


def test_what_is_wrong_with_a_file_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.his"
    write_his(path, frames_of(16))
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(Truncated):
        open_volume(path)
    path.write_bytes(whole[:200].replace(b"IM", b"??").replace(b"??", b"IM", 1) + whole[200:])
    with pytest.raises(Corrupted, match="expected a frame at byte 134"):
        open_volume(path)
    write_img(tmp_path / "b.img", frames_of(16)[0])
    write_img(tmp_path / "c.img", frames_of(16)[0, 1:])
    with pytest.raises(InvalidInput, match="7 x 4 pixels of 16 bits, but the first frame has 7 x 5"):
        open_volume(f"{tmp_path}:/?.img")


def test_more_frames_than_sixteen_bits_count(tmp_path: Path) -> None:
    write_his(tmp_path / "a.his", np.arange(65540)[:, None, None] % 256, 8)
    with open_volume(tmp_path / "a.his") as volume:
        assert volume.shape == (65540, 1, 1)
        assert volume.read(Box((65537, 0, 0), (65540, 1, 1))).ravel().tolist() == [1, 2, 3]
