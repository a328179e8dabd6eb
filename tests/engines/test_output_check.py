"""No output replaces what it is made from, however it is named."""

import os
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
import tifffile

import pellucid
from pellucid.engines.output_check import check_output
from pellucid.errors import InvalidInput, OutputExists
from pellucid.formats.location import Location
from pellucid.formats.protocol import Voxels
from pellucid.rendering.geometry.isosurfaces import save_isosurface
from pellucid.volume.volume import open_volume

Make = Callable[[Path, Voxels], tuple[str, Path]]


@pytest.fixture
def voxels() -> Voxels:
    numbers: Voxels = np.arange(4 * 5 * 6, dtype=np.uint16).reshape(4, 5, 6)
    return numbers


def one_file(folder: Path, voxels: Voxels) -> tuple[str, Path]:
    tifffile.imwrite(folder / "a.tif", voxels, photometric="minisblack")
    return str(folder / "a.tif"), folder / "a.tif"


def other_spelling(folder: Path, voxels: Voxels) -> tuple[str, Path]:
    tifffile.imwrite(folder / "a.tif", voxels, photometric="minisblack")
    return str(folder / "a.tif"), folder / ".." / folder.name / "." / "a.tif"


def symbolic_link(folder: Path, voxels: Voxels) -> tuple[str, Path]:
    tifffile.imwrite(folder / "a.tif", voxels, photometric="minisblack")
    (folder / "link.tif").symlink_to("a.tif")
    return str(folder / "a.tif"), folder / "link.tif"


def hard_link(folder: Path, voxels: Voxels) -> tuple[str, Path]:
    tifffile.imwrite(folder / "a.tif", voxels, photometric="minisblack")
    os.link(folder / "a.tif", folder / "other.png")
    return str(folder / "a.tif"), folder / "other.png"


def linked_folder(folder: Path, voxels: Voxels) -> tuple[str, Path]:
    (folder / "real").mkdir()
    tifffile.imwrite(folder / "real" / "a.tif", voxels, photometric="minisblack")
    (folder / "alias").symlink_to("real")
    return str(folder / "real" / "a.tif"), folder / "alias" / "a.tif"


def metaimage_voxels(folder: Path, voxels: Voxels) -> tuple[str, Path]:
    pellucid.convert(voxels, folder / "a.mhd").close()
    return str(folder / "a.mhd"), folder / "a.mhd.raw"


def nrrd_voxels(folder: Path, voxels: Voxels) -> tuple[str, Path]:
    pellucid.convert(voxels, folder / "a.nhdr").close()
    return str(folder / "a.nhdr"), folder / "a.nhdr.raw"


def listed_voxels(folder: Path, voxels: Voxels) -> tuple[str, Path]:
    for z, plane in enumerate(voxels):
        (folder / f"plane{z}.raw").write_bytes(plane.tobytes())
    head = "NRRD0004\ntype: uint16\ndimension: 3\nsizes: 6 5 4\nendian: little\nencoding: raw\ndata file: LIST\n"
    (folder / "a.nhdr").write_text(head + "".join(f"plane{z}.raw\n" for z in range(4)))
    return str(folder / "a.nhdr"), folder / "plane2.raw"


def virtual_source(folder: Path, voxels: Voxels) -> tuple[str, Path]:
    with h5py.File(folder / "source.h5", "w") as file:
        file["data"] = voxels
    layout = h5py.VirtualLayout(voxels.shape, voxels.dtype)
    layout[:] = h5py.VirtualSource("source.h5", "data", voxels.shape)
    with h5py.File(folder / "a.h5", "w") as file:
        file.create_virtual_dataset("data", layout)
    return f"{folder / 'a.h5'}:/data", folder / "source.h5"


def external_voxels(folder: Path, voxels: Voxels) -> tuple[str, Path]:
    (folder / "voxels.png").write_bytes(voxels.tobytes())
    with h5py.File(folder / "a.h5", "w") as file:
        file.create_dataset("data", voxels.shape, "<u2", external=[("voxels.png", 0, voxels.nbytes)])
    return str(folder / "a.h5"), folder / "voxels.png"


def external_link(folder: Path, voxels: Voxels) -> tuple[str, Path]:
    with h5py.File(folder / "source.h5", "w") as file:
        file["data"] = voxels
    with h5py.File(folder / "a.h5", "w") as file:
        file["there"] = h5py.ExternalLink("source.h5", "/data")
        file["data"] = h5py.SoftLink("/there")
    return f"{folder / 'a.h5'}:/data", folder / "source.h5"


def scan_of_several(folder: Path, voxels: Voxels) -> tuple[str, Path]:
    """Not a volume, as it holds two of the same size: all that it leads to counts."""
    with h5py.File(folder / "source.h5", "w") as file:
        file["data"] = voxels
    with h5py.File(folder / "a.h5", "w") as file:
        file["one"] = voxels
        file["two"] = h5py.ExternalLink("source.h5", "/data")
    return str(folder / "a.h5"), folder / "source.h5"


def page_of_folder(folder: Path, voxels: Voxels) -> tuple[str, Path]:
    (folder / "pages").mkdir()
    for z, plane in enumerate(voxels):
        tifffile.imwrite(folder / "pages" / f"{z}.tif", plane)
    return str(folder / "pages"), folder / "pages" / "2.tif"


def folder_of_pages(folder: Path, voxels: Voxels) -> tuple[str, Path]:
    page_of_folder(folder, voxels)
    return str(folder / "pages"), folder / "pages"


def folder_around_pages(folder: Path, voxels: Voxels) -> tuple[str, Path]:
    page_of_folder(folder, voxels)
    return str(folder / "pages"), folder


def another_page(folder: Path, voxels: Voxels) -> tuple[str, Path]:
    page_of_folder(folder, voxels)
    return str(folder / "pages"), folder / "pages" / "new.tif"


def member_of_set(folder: Path, voxels: Voxels) -> tuple[str, Path]:
    write_ome_set(folder, voxels)
    return str(folder / "a.ome.tif"), folder / "b.ome.tif"


def inside_zarr(folder: Path, voxels: Voxels) -> tuple[str, Path]:
    pellucid.convert(voxels, folder / "a.zarr").close()
    return str(folder / "a.zarr"), folder / "a.zarr" / "picture.png"


def around_zarr(folder: Path, voxels: Voxels) -> tuple[str, Path]:
    (folder / "outer").mkdir()
    pellucid.convert(voxels, folder / "outer" / "a.zarr").close()
    return str(folder / "outer" / "a.zarr"), folder / "outer"


def hard_link_to_chunk(folder: Path, voxels: Voxels) -> tuple[str, Path]:
    pellucid.convert(voxels, folder / "a.zarr").close()
    chunk = max(
        (path for path in (folder / "a.zarr").rglob("*") if path.is_file()), key=lambda path: path.stat().st_size
    )
    os.link(chunk, folder / "chunk.png")
    return str(folder / "a.zarr"), folder / "chunk.png"


def write_ome_set(folder: Path, voxels: Voxels) -> None:
    """Two files of an OME set, which name each other; each holds half of the planes."""
    half = len(voxels) // 2
    planes = "".join(
        f'<TiffData FirstZ="{z}" IFD="{z % half}" PlaneCount="1">'
        f'<UUID FileName="{name}.ome.tif">urn:uuid:{name}</UUID></TiffData>'
        for z, name in enumerate("a" * half + "b" * half)
    )
    for name, part in (("a", voxels[:half]), ("b", voxels[half:])):
        xml = (
            f'<OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06" UUID="urn:uuid:{name}">'
            '<Image ID="Image:0">'
            f'<Pixels ID="Pixels:0" DimensionOrder="XYZCT" Type="uint16" SizeX="{voxels.shape[2]}" '
            f'SizeY="{voxels.shape[1]}" SizeZ="{len(voxels)}" SizeC="1" SizeT="1"><Channel ID="Channel:0:0"/>{planes}'
            "</Pixels></Image></OME>"
        )
        tifffile.imwrite(folder / f"{name}.ome.tif", part, description=xml, metadata=None, photometric="minisblack")


MAKES = (
    one_file, other_spelling, symbolic_link, hard_link, linked_folder, metaimage_voxels, nrrd_voxels, listed_voxels,
    virtual_source, external_voxels, external_link, scan_of_several, page_of_folder, folder_of_pages,
    folder_around_pages, another_page, member_of_set, inside_zarr, around_zarr, hard_link_to_chunk,
)  # fmt: skip


@pytest.mark.parametrize("make", MAKES, ids=lambda make: str(make.__name__))
@pytest.mark.parametrize("may_join_slices", [False, True])
def test_an_output_over_its_input_is_refused(make: Make, may_join_slices: bool, tmp_path: Path, voxels: Voxels) -> None:
    source, output = make(tmp_path, voxels)
    with pytest.raises(InvalidInput, match=r"Choose another (name|folder) for the output"):
        check_output(output, [source], may_join_slices=may_join_slices)
    check_output(tmp_path.parent / "elsewhere.tif", [source])


def test_files_beside_the_input_may_be_written(tmp_path: Path, voxels: Voxels) -> None:
    source, _ = page_of_folder(tmp_path, voxels)
    image = tmp_path / "pages" / "preview.png"
    image.write_bytes(b"an earlier one")
    check_output(image, [source], may_join_slices=True)
    with pytest.raises(InvalidInput, match="lies inside"):
        check_output(image, [source])
    one_file(tmp_path, voxels)
    check_output(tmp_path / "b.tif", [tmp_path / "a.tif"])


def test_objects_in_a_bucket_are_compared_by_name() -> None:
    with pytest.raises(InvalidInput, match="lies inside"):
        check_output("s3://bucket/a.zarr/0", ["s3://bucket/a.zarr"])
    check_output("s3://bucket/a.zarr2", ["s3://bucket/a.zarr"])


def test_voxels_beside_a_header_are_not_replaced(tmp_path: Path, voxels: Voxels) -> None:
    raw = tmp_path / "a.mhd.raw"
    raw.write_bytes(voxels.tobytes())
    source = Location(str(raw)).with_options(shape="4,5,6", dtype="uint16")
    with pytest.raises(InvalidInput, match="same file"):
        pellucid.convert(source, tmp_path / "a.mhd", overwrite=True)
    with pytest.raises(OutputExists, match=r"a\.mhd\.raw"):
        pellucid.convert(voxels, tmp_path / "a.mhd")
    assert raw.read_bytes() == voxels.tobytes()


def test_a_mesh_does_not_replace_its_volume(tmp_path: Path, voxels: Voxels) -> None:
    pellucid.convert(voxels, tmp_path / "a.npy").close()
    before = (tmp_path / "a.npy").read_bytes()
    os.link(tmp_path / "a.npy", tmp_path / "mesh.ply")
    with open_volume(tmp_path / "a.npy") as volume, pytest.raises(InvalidInput, match="part of the input"):
        save_isosurface(volume, 50.5, tmp_path / "mesh.ply")
    assert (tmp_path / "a.npy").read_bytes() == before
