"""Converting: right voxels whatever the way, and nothing lost."""

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from scipy.io import netcdf_file

import pellucid
from pellucid import progress
from pellucid.box import Box
from pellucid.engines.engine import EngineOptions, make_engine
from pellucid.engines.partial_output import PartialOutput
from pellucid.errors import Cancelled, DiskFull, InvalidInput, NotEnoughMemory, OutputExists, PellucidError
from pellucid.formats.location import Location
from pellucid.formats.protocol import Voxels
from pellucid.volume.levels import reduce_voxels
from tests.conversion.interrupted import StopsAfter, small_pieces

ROOT = Path(__file__).parents[2]
LITTLE_MEMORY = 400_000


@pytest.fixture
def voxels() -> Voxels:
    z, y, x = np.meshgrid(*(np.arange(n) for n in (40, 50, 60)), indexing="ij")
    smooth = 3000 * np.sin(z / 9) * np.cos(y / 7) + 100 * x
    return (smooth + np.random.default_rng(0).integers(0, 50, smooth.shape) + 4000).astype(np.uint16)


@pytest.fixture
def source(tmp_path: Path, voxels: Voxels) -> Path:
    np.save(tmp_path / "source.npy", voxels)
    return tmp_path / "source.npy"


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_nan_that_becomes_a_number_is_reported(dtype: str, tmp_path: Path) -> None:
    voxels = np.random.default_rng(0).random((40, 50, 60), np.float32)
    voxels[[0, 1, 39], 3, [4, 5, 59]] = np.nan
    np.save(tmp_path / "a.npy", voxels)
    changed: dict[str, Any] = {"dtype": dtype, "value_range": (0.0, 1.0)}
    notes: list[str] = []
    with progress.use(progress.Callbacks(lambda update: None, notes.append)):
        pellucid.convert(tmp_path / "a.npy", tmp_path / "b.zarr", levels=2, **changed).close()
        pellucid.convert(tmp_path / "a.npy", tmp_path / "kept.zarr").close()
        without = Box((2, 0, 0), (39, 50, 60))
        pellucid.convert(voxels, tmp_path / "c.zarr", box=without, **changed).close()
    text = [note for note in notes if "NaN" in note]
    assert text == ["3 voxels were NaN (not a number); they now have the lowest value of the range."]


@pytest.mark.parametrize("name", ["a.zarr", "a.zarr2", "a.n5", "a.h5", "a.tif", "a.nrrd", "a.nii", "a.mha", "slices/"])
def test_there_and_back(source: Path, voxels: Voxels, name: str, tmp_path: Path) -> None:
    target = f"{tmp_path}/{name}"
    with pellucid.convert(source, target) as there, pellucid.convert(target, tmp_path / "back.npy") as back:
        assert (there.read() == voxels).all()
        assert (back.read() == voxels).all()
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.parametrize("engine", ["serial", "local", "processes"])
def test_neither_engine_nor_memory_changes_a_voxel(source: Path, voxels: Voxels, engine: str, tmp_path: Path) -> None:
    little = make_engine(engine, EngineOptions(2, 2 * LITTLE_MEMORY))
    with pellucid.convert(source, tmp_path / "a.zarr", engine=little, levels=3, **small_pieces("a.zarr")) as volume:
        expected = voxels
        for level in range(3):
            assert (volume.at_level(level).read() == expected).all()
            expected = reduce_voxels(expected, (2, 2, 2), "mean")


@pytest.mark.parametrize("name", ["a.zarr", "a.n5", "a.h5", "a.zarr2"])
def test_a_pyramid_has_all_levels_with_their_spacing(source: Path, voxels: Voxels, name: str, tmp_path: Path) -> None:
    volume = pellucid.Volume.from_array(voxels.repeat(3, axis=2), spacing=(2.0, 2.0, 2.0), unit="um")
    with pellucid.pyramid(volume, tmp_path / name, reduce="max") as written:
        assert [level.shape for level in written.levels] == [(40, 50, 180), (20, 25, 90), (10, 13, 45)]
        assert written.at_level(2).spacing == (8.0, 8.0, 8.0)
        assert written.unit == "um"
        coarse = reduce_voxels(reduce_voxels(volume.read(), (2, 2, 2), "max"), (2, 2, 2), "max")
        assert (written.at_level(2).read() == coarse).all()


def test_part_level_and_type(source: Path, voxels: Voxels, tmp_path: Path) -> None:
    box = Box((3, 5, 7), (30, 41, 50))
    requests: dict[str, Any] = {"box": box, "dtype": "uint8", "value_range": (0, 10_000)}
    with pellucid.convert(source, tmp_path / "a.zarr", **requests, **small_pieces("a.zarr")) as volume:
        scaled = np.clip(np.rint(voxels[box.slices].astype(np.float32) * (255 / 10_000)), 0, 255)
        assert (volume.read() == scaled.astype(np.uint8)).all()
    with pellucid.pyramid(source, tmp_path / "b.zarr", levels=2) as levels:
        half = levels.at_level(1).read()
    with pellucid.convert(tmp_path / "b.zarr", tmp_path / "c.npy", level=1) as volume:
        assert (volume.read() == half).all()


def test_an_automatic_range_is_the_data_s_own(source: Path, voxels: Voxels, tmp_path: Path) -> None:
    with pellucid.convert(source, tmp_path / "a.npy", dtype="uint8", value_range="auto") as volume:
        converted = volume.read()
    assert converted[voxels == voxels.max()].tolist() == [255] * (voxels == voxels.max()).sum()
    assert converted[voxels == voxels.min()].max() == 0


def test_an_output_that_exists_is_kept_unless_told_otherwise(source: Path, voxels: Voxels, tmp_path: Path) -> None:
    pellucid.convert(source, tmp_path / "a.zarr", box=Box((0, 0, 0), (4, 4, 4))).close()
    with pytest.raises(OutputExists, match="--overwrite"):
        pellucid.convert(source, tmp_path / "a.zarr")
    with pytest.raises(KeyboardInterrupt):
        engine = StopsAfter(1, memory_bytes=LITTLE_MEMORY)
        pellucid.convert(source, tmp_path / "a.zarr", overwrite=True, engine=engine, **small_pieces("a.zarr"))
    assert pellucid.open(tmp_path / "a.zarr").shape == (4, 4, 4)
    with pellucid.convert(source, tmp_path / "a.zarr", overwrite=True) as volume:
        assert (volume.read() == voxels).all()


@pytest.mark.parametrize("name", ["a.zarr", "a.n5", "a.h5", "a.tif", "slices/", "a.nii.gz"])
def test_interrupted_it_continues(source: Path, voxels: Voxels, name: str, tmp_path: Path) -> None:
    target = f"{tmp_path}/{name}"
    engine = StopsAfter(3, memory_bytes=LITTLE_MEMORY)
    with pytest.raises(KeyboardInterrupt):
        pellucid.convert(source, target, engine=engine, **small_pieces(target))
    assert not Path(target).exists()
    rest = StopsAfter(-1, memory_bytes=LITTLE_MEMORY)
    whole = StopsAfter(-1, memory_bytes=LITTLE_MEMORY)
    with pellucid.convert(source, target, engine=rest, **small_pieces(target)) as volume:
        assert (volume.read() == voxels).all()
    pellucid.convert(source, target, engine=whole, overwrite=True, **small_pieces(target)).close()
    assert rest.finished == whole.finished - 3


@pytest.mark.parametrize("name", ["a.zarr", "a.h5", "a.n5"])
def test_killed_it_continues(source: Path, voxels: Voxels, name: str, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "tests.conversion.interrupted",
        str(source),
        str(tmp_path / name),
        str(LITTLE_MEMORY),
        "7",
    ]
    ended = subprocess.run(command, cwd=ROOT, env={"PYTHONPATH": "src"}, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert not (tmp_path / name).exists()
    rest = StopsAfter(-1, memory_bytes=LITTLE_MEMORY)
    with pellucid.convert(source, tmp_path / name, engine=rest, levels=2, **small_pieces(name)) as volume:
        assert (volume.read() == voxels).all()
        assert (volume.at_level(1).read() == reduce_voxels(voxels, (2, 2, 2), "mean")).all()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "source.npy"])


def test_a_changed_source_starts_afresh(source: Path, voxels: Voxels, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        pellucid.convert(
            source, tmp_path / "a.zarr", engine=StopsAfter(3, memory_bytes=LITTLE_MEMORY), **small_pieces("a.zarr")
        )
    np.save(source, voxels[::-1])
    with pellucid.convert(
        source, tmp_path / "a.zarr", engine=StopsAfter(-1, memory_bytes=LITTLE_MEMORY), **small_pieces("a.zarr")
    ) as volume:
        assert (volume.read() == voxels[::-1]).all()


def test_cancelling_leaves_no_output(source: Path, tmp_path: Path) -> None:
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Cancelled, match="continue where it stopped"):
        pellucid.convert(source, tmp_path / "a.zarr", cancel=cancel, **small_pieces("a.zarr"))
    assert not (tmp_path / "a.zarr").exists()


def test_folders_with_anything_else_in_them_are_not_replaced(source: Path, voxels: Voxels, tmp_path: Path) -> None:
    for name in ("slices/", "a.zarr", "b.npy"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "thesis.txt").write_text("do not lose")
        with pytest.raises(InvalidInput, match=r"also contains 'thesis.txt'.*would be lost"):
            pellucid.convert(source, f"{tmp_path}/{name}", overwrite=True)
        assert (folder / "thesis.txt").read_text() == "do not lose"
    (tmp_path / "c.zarr.partial").mkdir()
    (tmp_path / "c.zarr.partial" / "mine").touch()
    with pytest.raises(InvalidInput, match="not created by Pellucid"):
        pellucid.convert(source, tmp_path / "c.zarr")


def test_slices_of_other_programs_are_not_replaced(source: Path, tmp_path: Path) -> None:
    target = f"{tmp_path}/raws/"
    pellucid.convert(source, target).close()
    pellucid.convert(source, target, overwrite=True).close()  # Our own are.
    (tmp_path / "raws" / "raw_0001.tif").write_bytes(b"measured")
    with pytest.raises(InvalidInput, match=r"also contains 'raw_0001.tif'.*would be lost"):
        pellucid.convert(source, target, overwrite=True)
    assert (tmp_path / "raws" / "raw_0001.tif").read_bytes() == b"measured"


def test_other_datasets_of_a_file_are_not_lost(source: Path, voxels: Voxels, tmp_path: Path) -> None:
    pellucid.convert(source, tmp_path / "own.h5", levels=2).close()
    with pellucid.convert(source, tmp_path / "own.h5", overwrite=True) as volume:  # A volume and its levels are.
        assert len(volume.levels) == 1
    with h5py.File(tmp_path / "two.h5", "w") as file:
        file["data"], file["scan/theta"] = voxels, np.arange(3.0)
    before = (tmp_path / "two.h5").read_bytes()
    with pytest.raises(InvalidInput, match=r"also contains '/scan/theta'.*would be lost"):
        pellucid.convert(source, tmp_path / "two.h5", overwrite=True)
    assert (tmp_path / "two.h5").read_bytes() == before
    (tmp_path / "text.h5").write_text("no HDF5")
    with pellucid.convert(source, tmp_path / "text.h5", overwrite=True) as volume:
        assert (volume.read() == voxels).all()


def test_other_volumes_of_a_netcdf_file_are_not_lost(source: Path, voxels: Voxels, tmp_path: Path) -> None:
    pellucid.convert(source, tmp_path / "own.nc", dtype="float64").close()
    pellucid.convert(source, tmp_path / "own.nc", dtype="float64", overwrite=True).close()
    with netcdf_file(tmp_path / "two.nc", "w") as file:
        for axis, length in zip("zyx", voxels.shape, strict=True):
            file.createDimension(axis, length)
        for name in ("volume", "mask"):
            file.createVariable(name, "f8", ("z", "y", "x"))[:] = voxels
    with pytest.raises(InvalidInput, match=r"also contains '/mask'.*would be lost"):
        pellucid.convert(source, tmp_path / "two.nc", dtype="float64", overwrite=True)


def test_source_and_target_do_not_lie_in_each_other(source: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="lies inside"):
        pellucid.convert(source, f"{tmp_path}/", overwrite=True)
    pellucid.convert(source, f"{tmp_path}/slices/").close()
    with pytest.raises(InvalidInput, match="lies inside"):
        pellucid.convert(f"{tmp_path}/slices", tmp_path / "slices" / "new.tif")
    (tmp_path / "link.npy").symlink_to(source)
    with pytest.raises(InvalidInput, match="same file"):
        pellucid.convert(source, tmp_path / "link.npy", overwrite=True)


def test_a_link_is_followed_and_a_file_makes_way_for_a_folder(source: Path, voxels: Voxels, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    (tmp_path / "out.npy").symlink_to(tmp_path / "scratch" / "far.npy")
    pellucid.convert(source, tmp_path / "out.npy").close()
    assert (tmp_path / "out.npy").is_symlink()
    assert (np.load(tmp_path / "scratch" / "far.npy") == voxels).all()
    (tmp_path / "f.zarr").write_text("a file")
    with pellucid.convert(source, tmp_path / "f.zarr", overwrite=True) as volume:
        assert (volume.read() == voxels).all()


def test_a_dataset_of_a_file_with_more_in_it_is_not_replaced(source: Path, tmp_path: Path) -> None:
    pellucid.convert(source, tmp_path / "a.h5").close()
    with pytest.raises(InvalidInput, match="may contain more than /new"):
        pellucid.convert(source, f"{tmp_path}/a.h5:/new", overwrite=True)


def test_refusals_name_the_output_as_the_user_did(source: Path, tmp_path: Path) -> None:
    with pytest.raises(PellucidError) as refusal:
        pellucid.convert(source, tmp_path / "plain.raw")
    assert "partial" not in str(refusal.value)
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.parametrize(
    ("requested", "reply"),
    [
        ({"box": "0:1,:,:"}, "a pellucid.Box"),
        ({"chunk": 8}, "three whole numbers"),
        ({"chunk": (0, 8, 8)}, "three whole numbers"),
        ({"levels": 0}, "a number from 1"),
        ({"levels": "many"}, "a number from 1"),
        ({"value_range": (1, 2, 3)}, r"\(low, high\)"),
        ({"memory": "1GiB"}, "Valid options: box, level"),
    ],
)
def test_wishes_are_checked(source: Path, tmp_path: Path, requested: dict[str, Any], reply: str) -> None:
    with pytest.raises(InvalidInput, match=reply):
        pellucid.convert(source, tmp_path / "a.npy", **requested)


def test_arrays_types_and_engines_in_the_words_people_use(voxels: Voxels, tmp_path: Path) -> None:
    requests: dict[str, Any] = {"dtype": np.uint8, "value_range": (0, 65535), "engine": "serial"}
    with pellucid.convert(voxels, tmp_path / "a.npy", **requests) as volume:
        assert volume.dtype == np.uint8
    with pellucid.convert(voxels, tmp_path / "b.zarr", shard=(20, 25, 30)) as volume:
        assert volume.chunk == (4, 1, 2)


def test_an_output_has_nothing_to_choose(source: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="option 'level' does not apply"):
        pellucid.convert(source, f"{tmp_path}/a.zarr:level=2")
    with pytest.raises(InvalidInput, match="not a valid output"):
        pellucid.convert(source, "/")


def test_two_at_once_are_kept_apart(source: Path, tmp_path: Path) -> None:
    with (
        PartialOutput(Location.parse(tmp_path / "a.zarr"), overwrite=False),
        pytest.raises(InvalidInput, match="being written by another process"),
    ):
        pellucid.convert(source, tmp_path / "a.zarr")


def test_what_cannot_be_is_refused_before_anything_is_written(source: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="same file"):
        pellucid.convert(source, source, overwrite=True)
    with pytest.raises(NotEnoughMemory, match="smaller output chunks"):
        pellucid.convert(source, tmp_path / "a.zarr", engine=make_engine("serial", EngineOptions(1, 1000)))
    with pytest.raises(InvalidInput, match="inside"):
        pellucid.convert(source, tmp_path / "a.zarr", box=Box((0, 0, 0), (99, 9, 9)))
    assert not (tmp_path / "a.zarr").exists()


@pytest.mark.parametrize("name", ["a.zarr", "a.h5", "a.n5", "a.npy", "slices/"])
def test_a_full_disk_says_so_and_work_goes_on_when_there_is_room(
    source: Path, voxels: Voxels, name: str, small_disk: "SmallDisk"
) -> None:
    before = source.read_bytes()
    engine = make_engine("serial", EngineOptions(1, LITTLE_MEMORY))
    with pytest.raises(DiskFull, match=r"disk is full.*untouched.*continues"):
        pellucid.convert(source, f"{small_disk.path}/{name}", engine=engine, codec="none", **small_pieces(name))
    assert source.read_bytes() == before
    assert not (small_disk.path / name).exists()
    small_disk.enlarge()
    with pellucid.convert(
        source, f"{small_disk.path}/{name}", engine=engine, codec="none", **small_pieces(name)
    ) as volume:
        assert (volume.read() == voxels).all()


def test_memory_stays_within_the_budget_for_a_volume_four_times_as_large(tmp_path: Path) -> None:
    budget = 96 * 2**20
    planes = np.lib.format.open_memmap(tmp_path / "large.npy", "w+", np.uint16, (192, 1024, 1024))
    for z in range(192):
        planes[z] = np.arange(1024 * 1024, dtype=np.uint32).reshape(1024, 1024) // (z + 7)
    del planes
    files = (str(tmp_path / "large.npy"), str(tmp_path / "a.zarr"))
    command = [sys.executable, "-m", "tests.conversion.measured", *files, str(budget)]
    measured = subprocess.run(command, cwd=ROOT, env={"PYTHONPATH": "src"}, check=True, capture_output=True, text=True)
    before, peak = map(int, measured.stdout.split())
    assert peak - before < 1.25 * budget
    with pellucid.open(tmp_path / "a.zarr") as volume:
        assert len(volume.levels) == 5
        assert (volume[100, :, :] == np.load(tmp_path / "large.npy", mmap_mode="r")[100]).all()


class SmallDisk:
    """A file system of 160 KiB, then of 16 MiB."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._mount("size=160k")

    def enlarge(self) -> None:
        self._mount("remount,size=16m")

    def _mount(self, options: str) -> None:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.path)]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("needs the right to mount a file system")


@pytest.fixture
def small_disk(tmp_path: Path) -> "Iterator[SmallDisk]":
    (tmp_path / "disk").mkdir()
    yield SmallDisk(tmp_path / "disk")
    subprocess.run(["umount", tmp_path / "disk"], capture_output=True, check=False)
