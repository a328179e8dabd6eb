"""Headerless voxels."""

from pathlib import Path

import numpy as np
import pytest

from pellucid.errors import InvalidInput
from pellucid.formats import registry
from pellucid.formats.flat.raw import raw_spec
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Level
from tests.contracts.formats import numbers, read_all, same_bits


@pytest.mark.parametrize(
    ("name", "shape", "dtype"),
    [
        ("foo_512x512x361_int16_be.raw", (361, 512, 512), ">i2"),
        ("bonsai_256x256x178_uint8.raw", (178, 256, 256), "|u1"),
        ("a-3x4x5-float32-le.bin", (5, 4, 3), "<f4"),
        ("x_3x4x5_uint16.raw:order=be", (5, 4, 3), ">u2"),
        ("x.raw:shape=3,4,5,dtype=float64", (3, 4, 5), "<f8"),
        ("x.raw:shape=3x4x5,dtype=float64,order=be", (5, 4, 3), ">f8"),
        ("y_3x4x5_uint16.raw:dtype=int8", (5, 4, 3), "|i1"),
    ],
)
def test_name_and_options_tell_shape_and_type(name: str, shape: tuple[int, int, int], dtype: str) -> None:
    text = raw_spec(Location.parse(name))
    assert text.shape == shape
    assert text.dtype == np.dtype(dtype)


def test_bytes_are_as_the_name_says(tmp_path: Path) -> None:
    voxels = numbers((3, 4, 5), "int16")
    (tmp_path / "a_5x4x3_int16_be.raw").write_bytes(voxels.astype(">i2").tobytes())
    assert same_bits(read_all(Location(str(tmp_path / "a_5x4x3_int16_be.raw"))), voxels)


def test_any_name_will_do_where_the_shape_is_given(tmp_path: Path) -> None:
    voxels = numbers((3, 4, 5), "float32")
    (tmp_path / "dump").write_bytes(b"16 bytes of head" + voxels.tobytes() + b"tail")
    location = Location.parse(f"{tmp_path / 'dump'}:shape=3,4,5,dtype=float32,offset=16")
    assert same_bits(read_all(location), voxels)


def test_wrong_length_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a_5x4x3_uint8.raw"
    path.write_bytes(bytes(59))
    with pytest.raises(
        InvalidInput, match=r"is truncated, or has .*: 5x4x3 voxels of uint8 need 60 bytes, but it has 59"
    ):
        registry.open_reader(Location(str(path)))
    path.write_bytes(bytes(72))
    with pytest.raises(InvalidInput, match=r"has 72 bytes, but 5x4x3 voxels of uint8 need 60 bytes.*offset=12"):
        registry.open_reader(Location(str(path)))


def test_what_is_not_said_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.raw").write_bytes(bytes(60))
    with pytest.raises(InvalidInput, match=r"shape and dtype was not given. Write .*a.raw:shape=Z,Y,X,dtype=uint16"):
        registry.open_reader(Location(str(tmp_path / "a.raw")))
    for options, text in (("shape=3,4", "Invalid shape"), ("shape=3,4,5,dtype=int12", "Unknown voxel type")):
        with pytest.raises(InvalidInput, match=text):
            registry.open_reader(Location.parse(f"{tmp_path / 'a.raw'}:{options}"))
    with pytest.raises(InvalidInput, match="Unknown byte order"):
        registry.open_reader(Location.parse(f"{tmp_path / 'a.raw'}:shape=3,4,5,dtype=int16,order=middle"))


@pytest.mark.parametrize("name", ["out.raw", "out_5x4x3.raw", "out_3x4x5_uint16.raw", "out_5x4x3_int16.raw"])
def test_output_name_must_say_what_is_inside(name: str, tmp_path: Path) -> None:
    layout = Layout((Level((3, 4, 5), (3, 4, 5)),), np.dtype(np.uint16))
    with pytest.raises(InvalidInput, match=r"Write it as .*_5x4x3_uint16_le\.raw"):
        registry.open_writer(Location(str(tmp_path / name)), layout)
    assert list(tmp_path.iterdir()) == []
