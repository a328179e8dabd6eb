"""Settings of an image are chosen from few voxels where all would take too long."""

from pathlib import Path

import numpy as np
import pytest

from pellucid.formats.fingerprint import fingerprint
from pellucid.formats.flat.reader_writer import FlatReader
from pellucid.formats.location import Location
from pellucid.formats.neural_field.format import NeuralReader
from pellucid.rendering.first_view.volumes import automatic_scene
from pellucid.volume import subsample
from pellucid.volume.subsample import subsampled
from pellucid.volume.volume import Volume, open_volume
from tests.formats.neural_field.sample_fields import plain_field, whole_volume, write_volume


def test_of_a_large_array_every_other_voxel() -> None:
    array = np.random.default_rng(0).integers(0, 255, (200, 200, 100), dtype=np.uint8)
    seen = subsampled(Volume.from_array(array, spacing=(1.0, 2.0, 3.0)))
    assert np.array_equal(seen.read(), array[::2, ::2, ::2])
    assert seen.spacing == (2.0, 4.0, 6.0)


def test_of_a_large_file_every_other_plane_is_read_and_only_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subsample, "MIN_FILE_BYTES", 2**20)
    array = np.random.default_rng(0).integers(0, 255, (200, 200, 100), dtype=np.uint8)
    np.save(tmp_path / "large.npy", array)
    planes: list[int] = []
    read = FlatReader.read

    def counted(self: FlatReader, box, out, *, level=0, t=0, c=0):  # type: ignore[no-untyped-def]
        planes.extend(range(box.start[0], box.stop[0]))
        read(self, box, out, level=level, t=t, c=c)

    monkeypatch.setattr(FlatReader, "read", counted)
    with open_volume(tmp_path / "large.npy") as volume:
        seen = subsampled(volume)
        assert np.array_equal(seen.read(), array[::2, ::2, ::2])
        assert seen.spacing == (2.0, 2.0, 2.0)
        assert planes == list(range(0, 200, 2))
        automatic_scene(volume)  # Histogram, colours and camera are of the same voxels.
        assert len(planes) < 110


def test_of_a_neural_field_a_coarse_level(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_volume(tmp_path / "field.plf", whole_volume(plain_field(), (150, 40, 140)))
    decoded: list[int] = []
    read = NeuralReader.read

    def counted(self: NeuralReader, box, out, *, level=0, t=0, c=0):  # type: ignore[no-untyped-def]
        decoded.append(level)
        read(self, box, out, level=level, t=t, c=c)

    monkeypatch.setattr(NeuralReader, "read", counted)
    with open_volume(path) as volume:
        seen = subsampled(volume)
        assert seen.shape == (75, 20, 70)
        assert np.allclose(seen.spacing, np.multiply(volume.spacing, 2))
        scene = automatic_scene(volume)
        assert len(scene.volumes) == 1
    assert decoded
    assert 0 not in decoded, "the full resolution was not decoded"


def test_a_neural_field_is_not_opened_for_its_fingerprint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_volume(tmp_path / "field.plf", whole_volume(plain_field(), (5, 6, 7)))
    first = fingerprint(Location(str(path)))
    monkeypatch.setattr(NeuralReader, "__init__", lambda *_: pytest.fail("opened"))
    assert fingerprint(Location(str(path))) == first
    path.write_bytes(path.read_bytes() + b"x")
    assert fingerprint(Location(str(path))) != first
