"""Writing in a folder where others may rename and link: a group folder without the sticky bit."""

import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

import pellucid
from pellucid.engines.engine import EngineOptions
from pellucid.engines.serial import SerialEngine
from pellucid.engines.task import BlockResult, Task
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.volume.blocks import Block
from tests.conversion.interrupted import StopsAfter, small_pieces

MEMORY_BYTES = 2**18
FORMATS = ["a.zarr", "a.n5", "a.h5", "a.tif", "a.nrrd", "a.nii", "a.mha", "a.mhd", "a.npy", "tiffs/"]


class Exchanged(SerialEngine):
    """An engine during whose work somebody puts a copy of the growing output, all of it links, in its place."""

    def __init__(self, partial: Path, precious: Path) -> None:
        super().__init__(EngineOptions(1, MEMORY_BYTES))
        self.partial, self.precious = partial, precious

    def run(self, task: Task, blocks: Sequence[Block], cancel: threading.Event) -> Iterator[BlockResult]:
        for done in super().run(task, blocks, cancel):
            if self.partial.exists() and not self.stolen.exists():
                self.partial.rename(self.stolen)
                self._leave_links()
            yield done

    @property
    def stolen(self) -> Path:
        return self.partial.with_name("stolen")

    def _leave_links(self) -> None:
        for base, _, files in os.walk(self.stolen):
            place = self.partial / Path(base).relative_to(self.stolen)
            place.mkdir()
            for name in files:
                (place / name).symlink_to(self.precious)


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    folder = tmp_path / "group"
    folder.mkdir()
    folder.chmod(0o2770)
    return folder


@pytest.fixture
def voxels() -> Voxels:
    return np.random.default_rng(3).integers(0, 250, (64, 16, 16), np.uint8)


@pytest.mark.parametrize("name", FORMATS)
def test_an_output_is_not_written_into_what_another_user_put_in_its_place(
    tmp_path: Path, shared: Path, voxels: Voxels, name: str
) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"mine")
    target = shared / name
    engine = Exchanged(shared / f"{target.name}.partial", precious)
    slash = "/" if name.endswith("/") else ""
    with pellucid.convert(voxels, f"{target}{slash}", engine=engine, **small_pieces(name)) as volume:
        np.testing.assert_array_equal(volume.read(), voxels)
    assert engine.stolen.exists()
    assert precious.read_bytes() == b"mine"


@pytest.mark.parametrize("name", ["a.zarr", "a.npy", "a.h5"])
def test_interrupted_work_in_a_shared_folder_is_continued(
    tmp_path: Path, shared: Path, voxels: Voxels, name: str
) -> None:
    source = tmp_path / "source.npy"
    np.save(source, voxels)
    first = StopsAfter(2, memory_bytes=MEMORY_BYTES)
    with pytest.raises(KeyboardInterrupt):
        pellucid.convert(source, shared / name, engine=first, **small_pieces(name))
    # Another process has other descriptors: hold some, as it might.
    held = [os.open(tmp_path, os.O_RDONLY) for _ in range(3)]
    try:
        second = StopsAfter(-1, memory_bytes=MEMORY_BYTES)
        with pellucid.convert(source, shared / name, engine=second, **small_pieces(name)) as volume:
            np.testing.assert_array_equal(volume.read(), voxels)
    finally:
        for descriptor in held:
            os.close(descriptor)
    whole = StopsAfter(-1, memory_bytes=MEMORY_BYTES)
    pellucid.convert(source, tmp_path / name, engine=whole, **small_pieces(name)).close()
    assert first.finished + second.finished == whole.finished
    assert [path.name for path in shared.iterdir()] == [name]


def test_several_processes_write_into_a_shared_folder(tmp_path: Path, shared: Path, voxels: Voxels) -> None:
    np.save(tmp_path / "source.npy", voxels)
    with pellucid.convert(
        tmp_path / "source.npy", shared / "a.zarr", engine="processes", **small_pieces("a.zarr")
    ) as volume:
        np.testing.assert_array_equal(volume.read(), voxels)


def test_a_link_that_another_user_made_is_not_followed(
    tmp_path: Path, shared: Path, voxels: Voxels, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shared / "a.npy").symlink_to(tmp_path / "not-there")
    if os.geteuid() == 0:
        os.chown(shared / "a.npy", 12345, -1, follow_symlinks=False)
    else:
        other = os.geteuid() + 1
        monkeypatch.setattr(os, "geteuid", lambda: other)
    with pytest.raises(InvalidInput, match="is a link that another user made"):
        pellucid.convert(voxels, shared / "a.npy")
    assert not (tmp_path / "not-there").exists()
