"""Headers of every format, made of known words and odd values: opened, or refused by an error of ours."""

import json
import struct
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import h5py
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pellucid.errors import PellucidError
from pellucid.rendering.geometry.mesh_files import load_mesh
from pellucid.rendering.geometry.point_files import load_points
from pellucid.volume.volume import open_volume
from tests.damaged_files import ESCAPE, LEAVES, NUMBERS

fuzzed = settings(max_examples=60, suppress_health_check=list(HealthCheck))

numbers = st.one_of(st.sampled_from(NUMBERS), st.integers(-3, 9).map(str), st.floats().map(repr))
words = st.one_of(
    numbers, st.sampled_from((ESCAPE, "raw", "gzip", "uint8", "float", "MET_UCHAR", "LIST", "LOCAL", "a%d 0 9", "none"))
)
values = st.lists(words, max_size=5).map(" ".join)
leaves = st.one_of(st.sampled_from(LEAVES), st.integers(), st.floats(), st.text(max_size=8))
trees = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
)

fields = st.integers(0, 2**32 - 1)
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9)

TAGS = (256, 257, 258, 259, 262, 270, 273, 277, 278, 279, 282, 322, 323, 339)
ATTRIBUTES = ("spacing", "unit", "levels", "element_size_um", "resolution", "DIMENSION_LIST", "DIMENSION_LABELS",
              "directions", "origin", "space")  # fmt: skip
NRRD = ("type", "dimension", "sizes", "spacings", "space directions", "space origin", "space", "units", "kinds",
        "labels", "endian", "encoding", "line skip", "byte skip", "data file")  # fmt: skip
META = ("NDims", "DimSize", "ElementSpacing", "ElementType", "ElementNumberOfChannels", "HeaderSize", "CompressedData",
        "BinaryData", "TransformMatrix", "Offset", "AnatomicalOrientation", "DistanceUnits")  # fmt: skip
ZARR2 = {"zarr_format": 2, "shape": [2, 2, 2], "chunks": [2, 2, 2], "dtype": "|u1", "compressor": None, "filters": None,
         "fill_value": 0, "order": "C", "dimension_separator": "."}  # fmt: skip
N5 = {"dimensions": [2, 2, 2], "blockSize": [2, 2, 2], "dataType": "uint8", "compression": {"type": "raw"}}


def refused_or_read(name: str, content: bytes, *, is_geometry: bool = False) -> None:
    """A file of that name is opened, and a voxel of it read, or an error of ours says why not."""
    with TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        open_it(path.parent if path.parent != Path(folder) else path, is_geometry=is_geometry)


def open_it(path: Path, *, is_geometry: bool = False) -> None:
    try:
        if is_geometry:
            (load_points if path.suffix in (".csv", ".npz") else load_mesh)(str(path))
            return
        with open_volume(path) as volume:
            assert volume[0:1, 0:1, 0:1].shape == (1, 1, 1)
    except PellucidError as error:
        assert "\x1b" not in str(error)


@fuzzed
@given(st.dictionaries(st.sampled_from(NRRD), values))
def test_nrrd(fields: dict[str, str]) -> None:
    whole = {"type": "uint8", "dimension": "3", "sizes": "2 2 2", "encoding": "raw"} | fields
    refused_or_read("a.nrrd", _lines("NRRD0004\n", ": ", whole) + b"\n" + bytes(8))


@fuzzed
@given(st.dictionaries(st.sampled_from(META), values), values)
def test_metaimage(fields: dict[str, str], voxels: str) -> None:
    whole = (
        {"NDims": "3", "DimSize": "2 2 2", "ElementType": "MET_UCHAR"} | fields | {"ElementDataFile": voxels or "LOCAL"}
    )
    refused_or_read("a.mha", _lines("", " = ", whole) + bytes(8))


def _lines(first: str, between: str, fields: dict[str, str]) -> bytes:
    return (first + "".join(f"{name}{between}{value}\n" for name, value in fields.items())).encode("utf-8", "replace")


@fuzzed
@given(st.binary(min_size=348, max_size=348), st.sampled_from((348, 540)), st.integers(0, 7))
def test_nifti(noise: bytes, size: int, count: int) -> None:
    head = bytearray(struct.pack("<i", size) + noise[4:]).ljust(size, b"\0")
    if size == 348:
        head[40:42], head[344:348] = struct.pack("<h", count), b"n+1\0"
    else:
        head[4:12], head[16:24] = b"n+2\0\r\n\x1a\n", struct.pack("<q", count)
    refused_or_read("a.nii", bytes(head) + bytes(64))


@fuzzed
@given(
    st.one_of(
        st.fixed_dictionaries({"descr": leaves, "fortran_order": leaves, "shape": trees}).map(repr),
        st.text(max_size=60),
    )
)
def test_npy(header: str) -> None:
    text = header.encode("latin-1", "replace") + b"\n"
    refused_or_read("a.npy", b"\x93NUMPY\x01\0" + struct.pack("<H", len(text)) + text + bytes(8))


@fuzzed
@given(st.lists(st.tuples(st.sampled_from(TAGS), st.integers(0, 20), fields, fields), max_size=14))
def test_tiff(entries: list[tuple[int, int, int, int]]) -> None:
    directory = struct.pack("<H", len(entries)) + b"".join(struct.pack("<HHII", *entry) for entry in sorted(entries))
    refused_or_read("a.tif", b"II*\0\x08\0\0\0" + directory + bytes(200))


@fuzzed
@given(st.binary(min_size=18, max_size=18), st.sampled_from(("a.his", "a.img")))
def test_hipic(noise: bytes, name: str) -> None:
    refused_or_read(name, b"IM" + noise[2:] + bytes(200))


@fuzzed
@given(st.sampled_from((1, 2, 5)), st.binary(max_size=200))
def test_netcdf(version: int, noise: bytes) -> None:
    refused_or_read("a.nc", b"CDF" + bytes([version]) + noise)


@fuzzed
@given(st.sampled_from(list(ZARR2)), trees)
def test_zarr(key: str, value: Any) -> None:
    refused_or_read("a.zarr/.zarray", json.dumps(ZARR2 | {key: value}).encode())


@fuzzed
@given(trees)
def test_ome_zarr(images: Any) -> None:
    document = {"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"multiscales": images}}}
    refused_or_read("a.zarr/zarr.json", json.dumps(document).encode())


@fuzzed
@given(st.sampled_from(list(N5)), trees)
def test_n5(key: str, value: Any) -> None:
    refused_or_read("a.n5/attributes.json", json.dumps(N5 | {key: value}).encode())


@fuzzed
@given(
    st.sampled_from(ATTRIBUTES), st.one_of(st.floats(), st.integers(-5, 5), texts, st.lists(st.floats(), max_size=4))
)
def test_hdf5_attributes(name: str, value: Any) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "a.h5")
        with h5py.File(path, "w") as file:
            file["d"] = np.zeros((2, 2, 2), np.uint8)
            file["d"].attrs[name] = value
        open_it(path)


@fuzzed
@given(st.sampled_from(("shape", "dtype", "order", "offset", "spacing", "unit", "t", "c", "level", "format")), words)
def test_options_of_raw_files(name: str, value: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "a_2x2x2_uint8.raw")
        path.write_bytes(bytes(8))
        try:
            open_volume(f"{path}:{name}={value}").close()
        except PellucidError as error:
            assert "\x1b" not in str(error)


@fuzzed
@given(
    st.sampled_from((".obj", ".ply", ".stl", ".vtp", ".csv")),
    st.lists(st.lists(words, max_size=6).map(" ".join), max_size=8),
)
def test_meshes_and_points(ending: str, lines: list[str]) -> None:
    first = {".ply": "ply\nformat ascii 1.0\n", ".stl": "solid a\nfacet\n", ".vtp": "<VTKFile><PolyData>", ".csv": ""}
    begins = (
        "element vertex",
        "element face",
        "property float",
        "property list uchar int",
        "end_header",
        "v",
        "f",
        "vertex",
    )
    text = "\n".join(f"{begins[number % len(begins)]} {line}" for number, line in enumerate(lines))
    content = f"{first.get(ending, '')}{text}".encode("utf-8", "replace") or b" "
    refused_or_read(f"a{ending}", content, is_geometry=True)
