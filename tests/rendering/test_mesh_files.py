"""Meshes and points in files: read back, read as others write them, and refused in words."""

import base64
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from pellucid.errors import Corrupted, EmptyFile, InvalidInput, NotFound, Truncated, UnknownCodec
from pellucid.rendering.geometry.mesh_files import load_mesh, write_arrays
from pellucid.rendering.geometry.point_files import load_points
from pellucid.rendering.geometry.shapes import Mesh, Points

VERTICES = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0.25, 0.1, 1 / 3]], np.float32)
TRIANGLES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])
SUFFIXES = (".ply", ".obj", ".stl", ".vtp")

PLY_TEXT = """ply
format ascii 1.0
comment made by hand
element vertex 4
property float x
property float y
property float z
property uchar red
element face 1
property list uchar int vertex_indices
property uchar flag
element edge 1
property int vertex1
end_header
0 0 0 255
1 0 0 255
1 1 0 255
0 1 0.5 255
4 0 1 2 3 7
0
"""


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_written_is_read_back(tmp_path: Path, suffix: str) -> None:
    write_arrays(tmp_path / f"mesh{suffix}", VERTICES, TRIANGLES)
    read = load_mesh(str(tmp_path / f"mesh{suffix}"))
    assert np.array_equal(read.vertices[read.triangles], VERTICES[TRIANGLES])
    assert len(read.vertices) == 4


def test_a_mesh_in_memory_is_found() -> None:
    mesh = Mesh(VERTICES, TRIANGLES)
    assert load_mesh(mesh.name) is mesh


def test_ply_as_text_with_a_quadrangle(tmp_path: Path) -> None:
    (tmp_path / "a.ply").write_text(PLY_TEXT)
    mesh = load_mesh(str(tmp_path / "a.ply"))
    assert mesh.triangles.tolist() == [[0, 1, 2], [0, 2, 3]]
    assert mesh.vertices[3].tolist() == [0, 1, 0.5]


@pytest.mark.parametrize("order", ["<", ">"])
def test_ply_binary_of_either_order_with_mixed_polygons(tmp_path: Path, order: str) -> None:
    header = (
        f"ply\nformat binary_{'little' if order == '<' else 'big'}_endian 1.0\nelement vertex 4\nproperty double x\n"
        "property double y\nproperty double z\nelement face 2\nproperty list uchar ushort vertex_index\nend_header\n"
    )
    faces = struct.pack(f"{order}B4H", 4, 0, 1, 2, 3) + struct.pack(f"{order}B3H", 3, 3, 2, 1)
    (tmp_path / "a.ply").write_bytes(header.encode() + VERTICES.astype(order + "f8").tobytes() + faces)
    mesh = load_mesh(str(tmp_path / "a.ply"))
    assert mesh.triangles.tolist() == [[0, 1, 2], [0, 2, 3], [3, 2, 1]]
    assert np.array_equal(mesh.vertices, VERTICES)


def test_obj_with_textures_negative_indices_and_polygons(tmp_path: Path) -> None:
    text = (
        "# made by hand\nv 0 0 0\nv 1 0 0\nv 1 1 0 1.0\nv 0 1 0\nvt 0 0\nvn 0 0 1\ng part\nf 1/1/1 2//1 3\nf -4 -2 -1\n"
    )
    (tmp_path / "a.obj").write_text(text)
    assert load_mesh(str(tmp_path / "a.obj")).triangles.tolist() == [[0, 1, 2], [0, 2, 3]]


def test_stl_as_text(tmp_path: Path) -> None:
    facets = "".join(
        "facet normal 0 0 1\nouter loop\n"
        + "".join(f"vertex {x:g} {y:g} {z:.9g}\n" for x, y, z in VERTICES[triangle])
        + "endloop\nendfacet\n"
        for triangle in TRIANGLES
    )
    (tmp_path / "a.stl").write_text(f"solid tetrahedron\n{facets}endsolid tetrahedron\n")
    mesh = load_mesh(str(tmp_path / "a.stl"))
    assert np.array_equal(mesh.vertices[mesh.triangles], VERTICES[TRIANGLES])
    assert len(mesh.vertices) == 4


def packed(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]], codec: str) -> str:
    """As VTK writes binary arrays: base64 of the size and the bytes, or of zlib's blocks and their sizes."""
    content = array.tobytes()
    if not codec:
        return base64.b64encode(struct.pack("<I", len(content)) + content).decode()
    blocks = [zlib.compress(content[:24]), zlib.compress(content[24:])]
    sizes = struct.pack("<5I", 2, 24, len(content) - 24, *map(len, blocks))
    return base64.b64encode(sizes).decode() + base64.b64encode(b"".join(blocks)).decode()


def vtp(codec: str, form: str) -> str:
    compressor = f' compressor="{codec}"' if codec else ""

    def array(kind: str, name: str, values: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> str:
        text = " ".join(map(str, values.ravel())) if form == "ascii" else packed(values, codec)
        return f'<DataArray type="{kind}" Name="{name}" format="{form}">\n {text}\n</DataArray>'

    return (
        f'<?xml version="1.0"?><VTKFile type="PolyData" byte_order="LittleEndian"{compressor}><PolyData>'
        f'<Piece NumberOfPoints="4"><Points>{array("Float32", "Points", VERTICES)}</Points>'
        f"<Polys>{array('Int32', 'connectivity', TRIANGLES.astype('<i4'))}"
        f"{array('Int64', 'offsets', np.array([3, 6, 9, 12]))}</Polys></Piece></PolyData></VTKFile>"
    )


@pytest.mark.parametrize(("codec", "form"), [("", "ascii"), ("", "binary"), ("vtkZLibDataCompressor", "binary")])
def test_vtp_as_vtk_writes_it(tmp_path: Path, codec: str, form: str) -> None:
    (tmp_path / "a.vtp").write_text(vtp(codec, form))
    mesh = load_mesh(str(tmp_path / "a.vtp"))
    assert np.array_equal(mesh.vertices, VERTICES)
    assert np.array_equal(mesh.triangles, TRIANGLES)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_cut_short_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"mesh{suffix}"
    write_arrays(path, VERTICES, TRIANGLES)
    whole = path.read_bytes()
    for length in (1, len(whole) // 3, len(whole) // 2, len(whole) - 40):
        path.write_bytes(whole[:length])
        with pytest.raises((Truncated, Corrupted, InvalidInput)) as reply:
            load_mesh(str(path))
        assert str(path) in reply.value.what


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_no_mesh_is_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"mesh{suffix}"
    with pytest.raises(NotFound):
        load_mesh(str(path))
    path.write_bytes(b"")
    with pytest.raises(EmptyFile):
        load_mesh(str(path))
    path.write_bytes(bytes(range(256)) * 8)
    with pytest.raises((Truncated, Corrupted, InvalidInput)):
        load_mesh(str(path))


def test_promises_that_cannot_be_kept_are_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.ply").write_text(PLY_TEXT.replace("vertex 4", "vertex 4000000000000"))
    with pytest.raises(Corrupted, match="fewer than 4,000,000,000,000 lines of vertex"):
        load_mesh(str(tmp_path / "a.ply"))
    (tmp_path / "a.ply").write_text(
        PLY_TEXT.replace("ascii", "binary_little_endian").replace("vertex 4", "vertex 9999")
    )
    with pytest.raises(Truncated, match="is truncated"):
        load_mesh(str(tmp_path / "a.ply"))
    (tmp_path / "a.stl").write_bytes(bytes(80) + b"\xff\xff\xff\xff" + bytes(50))
    with pytest.raises(Truncated, match="expected 214,748,364,834 bytes"):
        load_mesh(str(tmp_path / "a.stl"))
    (tmp_path / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 9\n")
    with pytest.raises(InvalidInput, match="vertex 8, but the mesh has 3"):
        load_mesh(str(tmp_path / "a.obj"))
    (tmp_path / "a.vtp").write_text(vtp("", "binary").replace("<VTKFile", '<VTKFile compressor="vtkLZ4DataCompressor"'))
    with pytest.raises(UnknownCodec, match="vtkLZ4DataCompressor"):
        load_mesh(str(tmp_path / "a.vtp"))


POINTS = np.array([[0.0, 1.0, 2.0, 0.5], [3.0, 4.0, 5.0, 1.5]])


def same(points: Points) -> bool:
    return np.array_equal(points.positions, POINTS[:, :3]) and np.array_equal(points.values, POINTS[:, 3])


def test_points_from_every_file(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", POINTS)
    np.savez(tmp_path / "names.npz", **dict(zip(("x", "y", "z", "value"), POINTS.T, strict=True)))
    np.savez(tmp_path / "pair.npz", positions=POINTS[:, :3], values=POINTS[:, 3])
    np.savetxt(tmp_path / "plain.csv", POINTS, delimiter=",")
    (tmp_path / "named.csv").write_text('\ufeff"value",z, y,x,label\n0.5,2,1,0,7\n1.5,5,4,3,8\n')
    rows = np.array([tuple(row) for row in POINTS], [(name, "f4") for name in ("x", "y", "z", "value")])
    np.save(tmp_path / "rows.npy", rows)
    for path in sorted(tmp_path.iterdir()):
        assert same(load_points(str(path))), path.name


def test_what_are_no_points_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((3, 5)))
    with pytest.raises(InvalidInput, match=r"has shape \(3, 5\)\. "):
        load_points(str(tmp_path / "a.npy"))
    (tmp_path / "a.csv").write_text("x,y,value\n1,2,3\n")
    with pytest.raises(InvalidInput, match="no column 'z'; it has x, y, value"):
        load_points(str(tmp_path / "a.csv"))
    (tmp_path / "b.csv").write_text("1,2,3,4\n1,2,three,4\n")
    with pytest.raises(Corrupted, match="cannot be read as points"):
        load_points(str(tmp_path / "b.csv"))
    np.savez(tmp_path / "a.npz", x=np.zeros(3))
    with pytest.raises(InvalidInput, match="has no 'y'; it has x"):
        load_points(str(tmp_path / "a.npz"))
    packed = bytearray((tmp_path / "a.npz").read_bytes())
    for header, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        packed[packed.index(header) + flags] |= 1  # Encrypted, says the archive.
    (tmp_path / "secret.npz").write_bytes(packed)
    with pytest.raises(Corrupted, match="encrypted"):
        load_points(str(tmp_path / "secret.npz"))
    np.save(tmp_path / "o.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(Corrupted):
        load_points(str(tmp_path / "o.npy"))
    with pytest.raises(NotFound):
        load_points(str(tmp_path / "none.csv"))
    (tmp_path / "a.txt").write_text("1,2,3,4\n")
    with pytest.raises(InvalidInput, match="is not a point file"):
        load_points(str(tmp_path / "a.txt"))
