"""Files that name others: inside the allowed folders they are read, outside they are refused."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
import tifffile

from pellucid.errors import InvalidInput, NotAllowed
from pellucid.formats.hdf5.tree import Hdf5Tree
from pellucid.formats.local_files import VARIABLE, allow_only, allowed_folders, check_allowed, open_local
from pellucid.rendering.geometry.mesh_files import load_mesh
from pellucid.rendering.geometry.point_files import load_points
from pellucid.tomo.scan_files.angles import angles_from_file
from pellucid.volume.volume import open_volume

VOXELS = np.arange(24, dtype=np.uint16).reshape(2, 3, 4)
Maker = Callable[[Path, Path], str]


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, Path]]:
    """An allowed folder, and one beside it that is not."""
    monkeypatch.setenv(VARIABLE, "[]")  # So that it is as before when the test ends.
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    allow_only([inside])
    yield inside, outside


def nrrd(place: Path, target: Path) -> str:
    return _nrrd(place, _raw(target, "secret.raw"))


def nrrd_pattern(place: Path, target: Path) -> str:
    for number in range(2):
        (target / f"plane{number}.raw").write_bytes(VOXELS[number].tobytes())
    return _nrrd(place, f"{_up(place, target)}/plane%d.raw 0 1")


def nrrd_list(place: Path, target: Path) -> str:
    for number in range(2):
        (target / f"plane{number}.raw").write_bytes(VOXELS[number].tobytes())
    return _nrrd(place, "LIST\n" + "\n".join(f"{_up(place, target)}/plane{number}.raw" for number in range(2)))


def _nrrd(place: Path, files: str) -> str:
    lines = ["NRRD0004", "type: uint16", "dimension: 3", "sizes: 4 3 2", "endian: little", "encoding: raw"]
    (place / "a.nhdr").write_text("\n".join([*lines, f"data file: {files}", ""]))
    return str(place / "a.nhdr")


def metaimage(place: Path, target: Path) -> str:
    return _metaimage(place, _raw(target, "secret.raw"))


def metaimage_pattern(place: Path, target: Path) -> str:
    for number in range(2):
        (target / f"plane{number}.raw").write_bytes(VOXELS[number].tobytes())
    return _metaimage(place, f"{_up(place, target)}/plane%d.raw 0 1")


def metaimage_list(place: Path, target: Path) -> str:
    for number in range(2):
        (target / f"plane{number}.raw").write_bytes(VOXELS[number].tobytes())
    names = "\n".join(f"{_up(place, target)}/plane{number}.raw" for number in range(2))
    return _metaimage(place, f"LIST\n{names}")


def _metaimage(place: Path, files: str) -> str:
    lines = ["NDims = 3", "DimSize = 4 3 2", "ElementType = MET_USHORT", f"ElementDataFile = {files}", ""]
    (place / "a.mhd").write_text("\n".join(lines))
    return str(place / "a.mhd")


def _raw(target: Path, name: str) -> str:
    (target / name).write_bytes(VOXELS.tobytes())
    return str(target / name)


def _up(place: Path, target: Path) -> str:
    return os.path.relpath(target, place)


def symbolic_link(place: Path, target: Path) -> str:
    np.save(target / "secret.npy", VOXELS)
    (place / "link.npy").symlink_to(target / "secret.npy")
    return str(place / "link.npy")


def folder_link(place: Path, target: Path) -> str:
    np.save(target / "secret.npy", VOXELS)
    (place / "folder").symlink_to(target)
    return str(place / "folder" / "secret.npy")


def tiff_slice_link(place: Path, target: Path) -> str:
    for number in range(2):
        tifffile.imwrite(target / f"slice{number}.tif", VOXELS[number])
    (place / "slices").mkdir()
    for number in range(2):
        (place / "slices" / f"slice{number}.tif").symlink_to(target / f"slice{number}.tif")
    return str(place / "slices")


def ome_tiff(place: Path, target: Path) -> str:
    """A master file without the planes, which are in another."""
    tifffile.imwrite(target / "secret.ome.tif", VOXELS, ome=True, photometric="minisblack", metadata={"axes": "ZYX"})
    with tifffile.TiffFile(target / "secret.ome.tif") as tif:
        uuid = str(tif.ome_metadata).partition('UUID="')[2].partition('"')[0]
    named = f'<UUID FileName="{_up(place, target)}/secret.ome.tif">{uuid}</UUID>'
    data = f'<TiffData IFD="0" PlaneCount="2">{named}</TiffData>'
    pixels = (
        '<Pixels ID="Pixels:0" DimensionOrder="XYZCT" Type="uint16" SizeX="4" SizeY="3" SizeZ="2" SizeC="1" SizeT="1">'
        f'<Channel ID="Channel:0:0" SamplesPerPixel="1"/>{data}</Pixels>'
    )
    space = 'xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06"'
    text = f'<OME {space} UUID="urn:uuid:1"><Image ID="Image:0">{pixels}</Image></OME>'
    tifffile.imwrite(place / "a.ome.tif", VOXELS[:1], description=text, metadata=None, photometric="minisblack")
    return str(place / "a.ome.tif")


def zarr_chunk_link(place: Path, target: Path) -> str:
    _zarr(place / "a.zarr")
    (place / "a.zarr" / "0.0.0").rename(target / "secret")
    (place / "a.zarr" / "0.0.0").symlink_to(target / "secret")
    return str(place / "a.zarr")


def zarr_chunk_link_by_tensorstore(place: Path, target: Path) -> str:
    name = zarr_chunk_link(place, target)
    document = json.loads((place / "a.zarr" / ".zarray").read_text())
    (place / "a.zarr" / ".zarray").write_text(json.dumps({**document, "order": "F"}))
    return name


def _zarr(folder: Path) -> None:
    folder.mkdir(parents=True)
    document = {
        "zarr_format": 2, "shape": [2, 3, 4], "chunks": [2, 3, 4], "dtype": "<u2", "compressor": None, "filters": None,
        "fill_value": 0, "order": "C", "dimension_separator": ".",
    }  # fmt: skip
    (folder / ".zarray").write_text(json.dumps(document))
    (folder / "0.0.0").write_bytes(VOXELS.tobytes())


def external_link(place: Path, target: Path) -> str:
    return _linked(place, h5py.ExternalLink(f"{_up(place, _hdf5(target).parent)}/secret.h5", "/d"))


def absolute_external_link(place: Path, target: Path) -> str:
    return _linked(place, h5py.ExternalLink(str(_hdf5(target)), "/d"))


def soft_link_to_external_link(place: Path, target: Path) -> str:
    with h5py.File(place / "a.h5", "w") as file:
        file["there"] = h5py.ExternalLink(str(_hdf5(target)), "/")
        file["again"] = h5py.SoftLink("/there/d")
        file["v"] = h5py.SoftLink("again")
    return f"{place / 'a.h5'}:/v"


def external_link_to_virtual(place: Path, target: Path) -> str:
    _virtual(place / "b.h5", str(_hdf5(target)))
    return _linked(place, h5py.ExternalLink("b.h5", "/v"))


def virtual(place: Path, target: Path) -> str:
    _virtual(place / "a.h5", str(_hdf5(target)))
    return str(place / "a.h5")


def virtual_of_virtual(place: Path, target: Path) -> str:
    _virtual(place / "b.h5", str(_hdf5(target)))
    _virtual(place / "a.h5", "b.h5", "v")
    return str(place / "a.h5")


def virtual_through_link(place: Path, target: Path) -> str:
    """A source inside the folder, whose dataset is a link to the outside."""
    with h5py.File(place / "b.h5", "w") as file:
        file["d"] = h5py.ExternalLink(str(_hdf5(target)), "/d")
    _virtual(place / "a.h5", "b.h5")
    return str(place / "a.h5")


def virtual_pattern(place: Path, target: Path) -> str:
    """As many blocks as there are files; the library opens them when it is asked for the shape."""
    _hdf5(target).rename(target / "secret0.h5")
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    endless = h5py.h5s.UNLIMITED
    space = h5py.h5s.create_simple(VOXELS.shape, (endless, 3, 4))
    space.select_hyperslab((0, 0, 0), (endless, 1, 1), (2, 1, 1), (2, 3, 4))
    source = h5py.h5s.create_simple(VOXELS.shape)
    properties.set_virtual(space, str(target / "secret%b.h5").encode(), b"d", source)
    with h5py.File(place / "a.h5", "w", libver="latest") as file:
        whole = h5py.h5s.create_simple(VOXELS.shape, (endless, 3, 4))
        h5py.h5d.create(file.id, b"v", h5py.h5t.NATIVE_UINT16, whole, properties)
    return f"{place / 'a.h5'}:/v"


def external_storage(place: Path, target: Path) -> str:
    _stored_outside(place / "a.h5", _raw(target, "secret.raw"))
    return str(place / "a.h5")


def virtual_of_external_storage(place: Path, target: Path) -> str:
    _stored_outside(place / "b.h5", _raw(target, "secret.raw"))
    _virtual(place / "a.h5", "b.h5")
    return str(place / "a.h5")


def _hdf5(folder: Path) -> Path:
    with h5py.File(folder / "secret.h5", "w") as file:
        file["d"] = VOXELS
    return folder / "secret.h5"


def _linked(place: Path, link: object) -> str:
    with h5py.File(place / "a.h5", "w") as file:
        file["v"] = link
    return f"{place / 'a.h5'}:/v"


def _virtual(path: Path, source: str, name: str = "d") -> None:
    layout = h5py.VirtualLayout(VOXELS.shape, VOXELS.dtype)
    layout[...] = h5py.VirtualSource(source, name, VOXELS.shape)
    with h5py.File(path, "w") as file:
        file.create_virtual_dataset("v", layout)


def _stored_outside(path: Path, raw: str) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("d", VOXELS.shape, VOXELS.dtype, external=[(raw, 0, h5py.h5f.UNLIMITED)])


MAKERS: list[Maker] = [
    nrrd, nrrd_pattern, nrrd_list, metaimage, metaimage_pattern, metaimage_list, symbolic_link, folder_link,
    tiff_slice_link, ome_tiff, zarr_chunk_link, external_link, absolute_external_link, soft_link_to_external_link,
    external_link_to_virtual, virtual, virtual_of_virtual, virtual_through_link, virtual_pattern, external_storage,
    virtual_of_external_storage,
]  # fmt: skip


@pytest.mark.parametrize("maker", [*MAKERS, zarr_chunk_link_by_tensorstore])
def test_nothing_outside_is_read(maker: Maker, folders: tuple[Path, Path]) -> None:
    name = maker(*folders)
    with pytest.raises(NotAllowed, match=r"outside the allowed folders\. Move it below .*inside"):
        open_volume(name).read()


@pytest.mark.parametrize("maker", MAKERS)
def test_what_lies_inside_is_read(maker: Maker, folders: tuple[Path, Path]) -> None:
    target = folders[0] / "deeper"
    target.mkdir()
    with open_volume(maker(folders[0], target)) as volume:
        assert np.array_equal(volume.read(), VOXELS)


@pytest.mark.parametrize("maker", MAKERS)
def test_without_a_limit_a_file_may_name_any_other(
    maker: Maker, folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE)
    with open_volume(maker(*folders)) as volume:
        assert np.array_equal(volume.read(), VOXELS)


def test_prefixes_of_the_library_are_followed_and_checked(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, outside = folders
    _hdf5(outside)
    name = _linked(inside, h5py.ExternalLink("secret.h5", "/d"))
    monkeypatch.setenv("HDF5_EXT_PREFIX", str(outside))
    with pytest.raises(NotAllowed):
        open_volume(name)
    monkeypatch.delenv(VARIABLE)
    with open_volume(name) as volume:
        assert np.array_equal(volume.read(), VOXELS)


@pytest.mark.parametrize("name", ["a.zarr:/../outside/b.zarr", "a.zarr:/x/../../outside/b.zarr"])
def test_dataset_names_do_not_lead_upwards(name: str, folders: tuple[Path, Path]) -> None:
    inside, outside = folders
    _zarr(outside / "b.zarr")
    (inside / "a.zarr").mkdir()
    (inside / "a.zarr" / ".zgroup").write_text('{"zarr_format": 2}')
    with pytest.raises(NotAllowed, match="is outside of it"):
        open_volume(str(inside / name))


@pytest.mark.parametrize("path", ["../outside/b.zarr", "/etc", "0/../../../outside/b.zarr"])
def test_levels_of_ome_zarr_lie_in_its_folder(path: str, folders: tuple[Path, Path]) -> None:
    _zarr(folders[1] / "b.zarr")
    group = folders[0] / "a.zarr"
    group.mkdir()
    axes = [{"name": axis, "type": "space"} for axis in "zyx"]
    (group / ".zgroup").write_text('{"zarr_format": 2}')
    (group / ".zattrs").write_text(json.dumps({"multiscales": [{"axes": axes, "datasets": [{"path": path}]}]}))
    with pytest.raises(NotAllowed, match="is outside of it"):
        open_volume(group)


def test_chunk_keys_have_no_other_separator(tmp_path: Path) -> None:
    _zarr(tmp_path / "a.zarr")
    document = json.loads((tmp_path / "a.zarr" / ".zarray").read_text())
    (tmp_path / "a.zarr" / ".zarray").write_text(json.dumps({**document, "dimension_separator": "/../"}))
    with pytest.raises(Exception, match="the separator"):
        open_volume(tmp_path / "a.zarr")


def test_looking_around_in_a_file_stays_inside(folders: tuple[Path, Path]) -> None:
    with h5py.File(folders[0] / "a.h5", "w") as file:
        file["e"] = h5py.ExternalLink(str(_hdf5(folders[1])), "/")
        file["near"] = np.arange(3)
    with Hdf5Tree(folders[0] / "a.h5") as tree:
        assert list(tree.datasets()) == [("/near", (3,))]
        assert tree.array("/e/d") is None


def test_meshes_points_and_angles(folders: tuple[Path, Path]) -> None:
    inside, outside = folders
    for name in ("a.stl", "a.csv", "a.txt"):
        (outside / name).write_text("0,0,0,1\n")
        (inside / name).symlink_to(outside / name)
    for load in (load_mesh, load_points):
        with pytest.raises(NotAllowed):
            load(str(inside / ("a.stl" if load is load_mesh else "a.csv")))
    with pytest.raises(NotAllowed):
        angles_from_file(inside / "a.txt")


def test_a_file_that_is_swapped_while_it_is_opened(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """It is checked by its descriptor, after it is open."""
    inside, outside = folders
    for folder in folders:
        (folder / "a.raw").write_bytes(b"1")
    check_allowed(inside / "a.raw")
    (inside / "a.raw").unlink()
    (inside / "a.raw").symlink_to(outside / "a.raw")
    with pytest.raises(NotAllowed):
        open_local(inside / "a.raw")


def test_names_that_only_begin_alike_are_outside(folders: tuple[Path, Path]) -> None:
    similar = folders[0].with_name("inside2")
    similar.mkdir()
    with pytest.raises(NotAllowed):
        check_allowed(similar / "a.raw")


def test_the_variable_must_be_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/data")
    with pytest.raises(InvalidInput, match="Invalid JSON list of folders"):
        allowed_folders()
