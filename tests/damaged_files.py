"""Files that are damaged, or made to do harm, in every format: for tests that nothing but an error comes of them.

Here: whole small files of every format (write_whole_files), and what can be done to them (damaged).
Not here: what is tested with them.

Everything follows from the seed, so that a failure can be repeated.
"""

import gzip
import json
import re
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import h5py
import numpy as np
import tensorstore as ts
import tifffile

from pellucid.box import Box
from pellucid.formats.location import Location
from pellucid.formats.protocol import Layout, Level
from pellucid.formats.registry import open_writer
from tests.formats.neural_field.sample_fields import mixed_field, whole_volume, write_volume
from tests.hipic_files import write_his

ESCAPE = "\x1b[31m\x1b]0;owned\x07\u202e\x9b2J"
VOXELS = np.arange(60, dtype=np.uint16).reshape(3, 4, 5)
NUMBERS = ("99999999999999999999", "-1", "nan", "inf", "1e400", "0", "True", "7" * 400, "", "4294967295", "0x10", "१")
LEAVES: tuple[Any, ...] = (
    None, True, -1, 0, 10**30, 1e308, float("nan"), ESCAPE, "", [], {}, [[[]]], [True, 2, 2], [-1, 4, 5], "..", 2**31,
)  # fmt: skip
CUTS = (
    1,
    2,
    3,
    4,
    7,
    8,
    10,
    16,
    40,
    64,
    65,
    80,
    100,
    128,
    200,
    256,
    300,
    343,
    348,
    352,
    500,
    544,
    700,
    1000,
    1500,
    2100,
)
HEADER_BYTES = 700


def write_whole_files(folder: Path) -> list[Path]:
    """One small volume, scan, mesh or table of points in every format, whole."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("a.npy", "a.nrrd", "a.nhdr", "a.mha", "a.mhd", "a.nii", "a.nii.gz", "a.tif", "a.nc", "a.h5"):
        _written(folder / name)
    for name in ("a.zarr", "a.zarr2", "a.n5", "slices/"):
        _written(folder / name, "gzip" if name != "slices/" else "none")
    _write_text_headers(folder)
    _write_tiffs(folder)
    _write_hdf5(folder)
    _write_precomputed(folder / "a.precomputed")
    _write_meshes(folder)
    write_his(folder / "a.his", VOXELS)
    write_volume(folder / "a.plf", whole_volume(mixed_field(), (3, 4, 5)))
    write_volume(folder / "residual.plf", whole_volume(mixed_field(), (3, 4, 5)), VOXELS.astype(np.float32), 2.0)
    VOXELS.tofile(folder / "a_5x4x3_uint16_le.raw")
    np.save(folder / "f.npy", np.asfortranarray(VOXELS.astype(">f4")))
    return sorted(path for path in folder.iterdir() if not path.name.endswith(".raw.raw"))


def _written(path: Path, codec: str | None = None) -> None:
    name = f"{path}/" if path.suffix == "" else str(path)
    layout = Layout((Level(VOXELS.shape, VOXELS.shape, (2.0, 0.5, 0.5)),), VOXELS.dtype, "um", codec=codec)
    writer = open_writer(Location(name), layout)
    writer.write(Box.whole(VOXELS.shape), VOXELS)
    writer.finish()
    writer.close()


def _write_text_headers(folder: Path) -> None:
    for number in range(3):
        (folder / f"plane{number}.raw").write_bytes(VOXELS[number].tobytes())
    nrrd = "NRRD0004\ntype: uint16\ndimension: 3\nsizes: 5 4 3\nspacings: 1 1 2\nendian: little\n"
    nrrd += "lineskip: 0\nbyteskip: 0\n"
    (folder / "list.nhdr").write_text(f'{nrrd}units: "um" "um" "um"\nencoding: raw\ndata file: plane%d.raw 0 2 1\n')
    (folder / "gzip.nrrd").write_bytes(f"{nrrd}encoding: gzip\n\n".encode() + gzip.compress(VOXELS.tobytes()))
    text = " ".join(map(str, VOXELS.ravel()))
    (folder / "text.nrrd").write_text(f"{nrrd}space directions: (1,0,0) (0,1,0) (0,0,2)\nencoding: text\n\n{text}")
    meta = "ObjectType = Image\nNDims = 3\nDimSize = 5 4 3\nElementSpacing = 1 1 2\n"
    meta += "ElementType = MET_USHORT\nHeaderSize = 0\n"
    (folder / "list.mhd").write_text(f"{meta}DistanceUnits = um\nElementDataFile = plane%d.raw 0 2 1\n")
    names = "\n".join(f"plane{number}.raw" for number in range(3))
    (folder / "names.mhd").write_text(f"{meta}ElementNumberOfChannels = 1\nElementDataFile = LIST\n{names}\n")


def _write_tiffs(folder: Path) -> None:
    gray: dict[str, Any] = {"photometric": "minisblack"}
    tifffile.imwrite(
        folder / "imagej.tif", VOXELS, imagej=True, resolution=(2.0, 2.0), metadata={"axes": "ZYX", "unit": "um"}
    )
    tifffile.imwrite(folder / "ome.ome.tif", VOXELS, ome=True, metadata={"axes": "ZYX", "PhysicalSizeX": 0.5}, **gray)
    tifffile.imwrite(folder / "zlib.tif", VOXELS, compression="zlib", **gray)
    tifffile.imwrite(folder / "tiled.tif", VOXELS, tile=(16, 16), bigtiff=True, compression="zlib", **gray)


def _write_hdf5(folder: Path) -> None:
    with h5py.File(folder / "chunked.h5", "w") as file:
        volume = file.create_dataset("d", data=VOXELS, chunks=(2, 2, 2), compression="gzip")
        volume.attrs["element_size_um"] = (1.0, 2.0, 3.0)
        volume.attrs["unit"] = "um"
        file["x"] = np.arange(5.0)
        file["x"].make_scale("x")
        volume.dims[2].attach_scale(file["x"])
        volume.dims[2].label = "x"
    with h5py.File(folder / "scan.h5", "w") as file:
        for name, count in (("data", 3), ("data_white", 2), ("data_dark", 1)):
            file[f"exchange/{name}"] = np.ones((count, 4, 5), np.uint16)
        file["exchange/theta"] = np.linspace(0, 180, 3)
        file["exchange/theta"].attrs["units"] = "deg"
    with h5py.File(folder / "scan.nxs", "w") as file:
        detector = file.create_group("entry/instrument/detector")
        detector.attrs["NX_class"] = "NXdetector"
        detector["data"], detector["image_key"] = VOXELS, np.array([0, 1, 2])
        file["entry/sample/rotation_angle"] = np.array([0.0, 1.0, 2.0])


def _write_precomputed(folder: Path) -> None:
    spec = {
        "driver": "neuroglancer_precomputed", "kvstore": {"driver": "file", "path": f"{folder}/"},
        "multiscale_metadata": {"type": "image", "data_type": "uint16", "num_channels": 1},
        "scale_metadata": {"size": [5, 4, 3], "encoding": "raw", "chunk_size": [5, 4, 3], "resolution": [8, 8, 8]},
    }  # fmt: skip
    ts.open(spec, create=True).result()[..., 0].write(VOXELS.T).result()


def _write_meshes(folder: Path) -> None:
    corners = ((0, 0, 0), (1, 0, 0), (0, 1, 0))
    vertices = "\n".join(" ".join(map(str, corner)) for corner in corners)
    header = "element vertex 3\nproperty float x\nproperty float y\nproperty float z\nelement face 1\n"
    header += "property list uchar int vertex_indices\nend_header\n"
    (folder / "text.ply").write_text(f"ply\nformat ascii 1.0\n{header}{vertices}\n3 0 1 2\n")
    rows = np.array(corners, "<f4").tobytes() + struct.pack("<B3i", 3, 0, 1, 2)
    (folder / "a.ply").write_bytes(f"ply\nformat binary_little_endian 1.0\n{header}".encode() + rows)
    (folder / "a.obj").write_text("".join(f"v {x} {y} {z}\n" for x, y, z in corners) + "f 1 2 3\nf -1 -2 -3\n")
    facet = struct.pack("<12fH", 0, 0, 1, *np.ravel(corners).tolist(), 0)
    (folder / "a.stl").write_bytes(b"binary".ljust(80) + struct.pack("<I", 1) + facet)
    lines = "".join(f"vertex {x} {y} {z}\n" for x, y, z in corners)
    (folder / "text.stl").write_text(f"solid a\nfacet normal 0 0 1\nouter loop\n{lines}endloop\nendfacet\nendsolid a\n")
    arrays = (
        f'<Points><DataArray type="Float32" NumberOfComponents="3">{" ".join(vertices.split())}</DataArray></Points>'
    )
    polygons = '<DataArray type="Int64" Name="connectivity">0 1 2</DataArray>'
    polygons += '<DataArray type="Int64" Name="offsets">3</DataArray>'
    piece = f'<Piece NumberOfPoints="3" NumberOfPolys="1">{arrays}<Polys>{polygons}</Polys></Piece>'
    (folder / "a.vtp").write_text(
        f'<?xml version="1.0"?><VTKFile type="PolyData"><PolyData>{piece}</PolyData></VTKFile>'
    )
    (folder / "a.csv").write_text("x,y,z,value\n1,2,3,4\n5,6,7,8\n")
    np.savez_compressed(folder / "a.npz", positions=np.ones((2, 3)), values=np.ones(2))
    np.save(folder / "points.npy", np.ones((3, 4)))


def damaged(whole: Path, into: Path, seed: int = 0) -> Iterator[Path]:
    """Damaged copies of a file or folder, each made when it is asked for, under a name that tells what was done."""
    random = Random(f"{whole.name}{seed}")
    if whole.is_dir():
        for metadata in sorted(path for path in whole.rglob("*") if path.is_file()):
            kinds: list[Callable[[bytes, Random], Iterator[bytes]]] = [_bent_bytes]
            is_document = metadata.suffix == ".json" or metadata.name in (".zarray", ".zattrs", ".zgroup", "info")
            kinds = [_bent_json] if is_document else kinds
            for number, content in enumerate(one for kind in kinds for one in kind(metadata.read_bytes(), random)):
                yield _copied(whole, into / f"{number}-{metadata.parent.name}-{whole.name}", metadata, content)
        return
    content = whole.read_bytes()
    for number, changed in enumerate(_changes(content, random)):
        path = into / f"{number}-{whole.name}"
        path.write_bytes(changed)
        yield path


def _changes(content: bytes, random: Random) -> Iterator[bytes]:
    yield from (content[:cut] for cut in (*CUTS, len(content) // 2, len(content) - 1) if cut < len(content))
    yield from _bent_bytes(content, random)
    yield from _bent_text(content, random)


def _bent_bytes(content: bytes, random: Random) -> Iterator[bytes]:
    """Some bits of the header turned, and fields of it set to the largest, smallest and odd numbers."""
    end = min(len(content), HEADER_BYTES)
    for _ in range(30):
        at = random.randrange(end) if end else 0
        yield content[:at] + bytes([content[at] ^ (1 << random.randrange(8))]) + content[at + 1 :] if end else b""
    for size, field in (
        (2, b"\xff\xff"),
        (4, b"\xff\xff\xff\x7f"),
        (4, b"\0\0\0\x80"),
        (8, b"\xff" * 8),
        (4, b"\0\0\xc0\x7f"),
    ):
        for _ in range(6):
            at = random.randrange(max(1, end - size))
            yield content[:at] + field + content[at + size :]


def _bent_text(content: bytes, random: Random) -> Iterator[bytes]:
    """Numbers and words of a header replaced: by absurd numbers, terminal escapes, zeros, endless lines."""
    words = [found for found in re.finditer(rb"[\w.+-]+", content[:HEADER_BYTES]) if len(found.group()) < 40]
    for _ in range(40 if words else 0):
        word = random.choice(words)
        text = random.choice(
            (*NUMBERS, ESCAPE, "\0", "a" * 5000, "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"))
        )
        yield content[: word.start()] + text.encode() + content[word.end() :]


def _bent_json(content: bytes, random: Random) -> Iterator[bytes]:
    document = json.loads(content)
    for keys in _places(document):
        for leaf in random.sample(LEAVES, 5):
            yield json.dumps(_replaced(document, keys, leaf)).encode()
    yield b"[" * 100_000
    yield content[: len(content) // 2]
    yield b"\xff\xfe" + content
    yield b"[]"


def _places(document: Any, keys: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if keys:
        yield keys
    items = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, inner in items:
        yield from _places(inner, (*keys, key))


def _replaced(document: Any, keys: tuple[Any, ...], leaf: Any) -> Any:
    if not keys:
        return leaf
    changed = dict(document) if isinstance(document, dict) else list(document)
    changed[keys[0]] = _replaced(document[keys[0]], keys[1:], leaf)
    return changed


def _copied(whole: Path, copy: Path, changed: Path, content: bytes) -> Path:
    for path in whole.rglob("*"):
        target = copy / path.relative_to(whole)
        if path.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content if path == changed else path.read_bytes())
    return copy


def write_hostile_files(folder: Path) -> list[Path]:
    """Files that no accident makes."""
    folder.mkdir(parents=True, exist_ok=True)
    nrrd = "NRRD0004\ntype: uint8\ndimension: 3\nsizes: 4 4 4\n"
    (folder / "many.nhdr").write_text(f"{nrrd}encoding: raw\ndata file: a%d.raw 0 999999999\n")
    (folder / "wide.nhdr").write_text(f"{nrrd}encoding: raw\ndata file: a%0999999999d.raw 0 1\n")
    (folder / "skip.nrrd").write_text(f"{nrrd}encoding: raw\nlineskip: 99999999999\n\n" + "x" * 64)
    (folder / "many.mhd").write_text(
        "NDims = 3\nDimSize = 4 4 4\nElementType = MET_UCHAR\nElementDataFile = a%d.raw 0 999999999\n"
    )
    (folder / "zero.nhdr").write_bytes(f"{nrrd}encoding: raw\ndata file: a\0b.raw\n".encode())
    (folder / f"escape{ESCAPE}.npy").write_bytes(b"\x93NUMPY\x01\0broken")
    (folder / "escape.nhdr").write_text(f"{nrrd}encoding: {ESCAPE}\n\n")
    (folder / "unit.nrrd").write_bytes(
        f'{nrrd}units: "{ESCAPE}" "a" "b"\nencoding: raw\n\n'.encode("latin-1", "replace") + bytes(64)
    )
    _write_npy(folder / "bool.npy", "{'descr': '|u1', 'fortran_order': False, 'shape': (True, 2, 2)}", bytes(4))
    _write_npy(folder / "huge.npy", "{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999, 9, 9)}", bytes(4))
    _write_npy(folder / "deep.npy", "(" * 5000, b"")
    _write_hostile_hdf5(folder)
    with zipfile.ZipFile(folder / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("positions.npy", b"\x93NUMPY\x01\0" + b"\0" * 10_000_000)
    return sorted(folder.iterdir())


def _write_npy(path: Path, header: str, body: bytes) -> None:
    text = header.encode() + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\0" + struct.pack("<H", len(text)) + text + body)


def _write_hostile_hdf5(folder: Path) -> None:
    layout = h5py.VirtualLayout((3, 3, 3), "u1")
    layout[...] = h5py.VirtualSource(".", "v", (3, 3, 3))
    with h5py.File(folder / "self.h5", "w") as file:
        file.create_virtual_dataset("v", layout)
    for one, other in (("ring1.h5", "ring2.h5"), ("ring2.h5", "ring1.h5")):
        layout = h5py.VirtualLayout((3, 3, 3), "u1")
        layout[...] = h5py.VirtualSource(other, "v", (3, 3, 3))
        with h5py.File(folder / one, "w") as file:
            file.create_virtual_dataset("v", layout)
    with h5py.File(folder / "circle.h5", "w") as file:
        file["a"], file["b"] = h5py.SoftLink("/b"), h5py.SoftLink("/a")
        file["e"] = h5py.ExternalLink("circle.h5", "/e")
        group = file.create_group("g")
        group["up"] = group
    with h5py.File(folder / "names.h5", "w") as file:
        file[f"one{ESCAPE}"] = VOXELS
        file[f"two{ESCAPE}"] = VOXELS
        file[f"two{ESCAPE}"].attrs["unit"] = ESCAPE
    with h5py.File(folder / "attributes.h5", "w") as file:
        file["d"] = VOXELS
        file["d"].attrs["spacing"] = (np.nan, -1.0, np.inf)
        file["d"].attrs["levels"] = ["/d", "/none"]
    with h5py.File(folder / "deep.h5", "w") as file:
        group = file
        for _ in range(1200):
            group = group.create_group("g")
        group["d"] = VOXELS
