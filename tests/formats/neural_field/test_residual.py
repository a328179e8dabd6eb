"""Residuals keep their bound at every voxel, and are read brick by brick."""

from contextlib import closing
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pellucid
from pellucid.box import Box
from pellucid.errors import Corrupted
from pellucid.formats.neural_field import residual as residual_module
from pellucid.formats.neural_field.container import FileSections, write_file
from pellucid.formats.neural_field.field import Floats
from pellucid.formats.neural_field.format import NeuralReader
from pellucid.formats.neural_field.residual import (
    brick_boxes,
    coded_brick,
    coding_bound,
    decoded_brick,
    replaces_field,
    section_name,
)
from pellucid.formats.neural_field.stored_volume import to_sections
from tests.formats.neural_field.sample_fields import plain_field, steps, whole_volume, write_volume

SHAPE = (11, 20, 17)


@given(
    st.integers(0, 2**32 - 1),
    st.tuples(*[st.integers(1, 20)] * 3),
    st.floats(-5, 3),
    st.sampled_from(["noise", "smooth", "spikes"]),
)
@settings(max_examples=40, deadline=None)
def test_the_bound_holds_at_every_voxel(seed: int, shape: tuple[int, int, int], exponent: float, kind: str) -> None:
    random, bound = np.random.default_rng(seed), 10.0**exponent
    values = random.normal(size=shape).astype(np.float32)
    if kind == "smooth":
        values = np.cumsum(values, axis=2, dtype=np.float32)
    if kind == "spikes":
        values[random.random(shape) < 0.9] = 0
    found = decoded_brick(coded_brick(values, bound), shape)
    assert np.abs(found.astype(np.float64) - values).max() <= bound


def test_a_brick_within_the_bound_takes_no_bytes() -> None:
    values = np.full((3, 3, 3), 0.5, np.float32)
    assert coded_brick(values, 0.5) == b""
    assert coded_brick(values, 0.4) != b""
    assert not decoded_brick(b"", (3, 3, 3)).any()


@given(st.integers(0, 2**32 - 1), st.floats(-2, 0.5), st.floats(0, 2))
@settings(max_examples=20, deadline=None)
def test_voxels_replace_a_field_that_only_adds_noise(seed: int, exponent: float, noise: float) -> None:
    """The bound holds either way, in no more bytes than without the voxels."""
    random, bound = np.random.default_rng(seed), 10.0**exponent
    voxels = np.rint(4 * random.normal(size=(16, 18, 17))).astype(np.float32)
    field = (noise * random.normal(size=voxels.shape)).astype(np.float32)
    data = coded_brick(voxels - field, bound, voxels)
    found = decoded_brick(data, voxels.shape) + (0 if replaces_field(data) else field)
    assert np.abs(found.astype(np.float64) - voxels).max() <= bound * (1 + 1e-5) + 1e-5
    assert len(data) <= len(coded_brick(voxels - field, bound))


def test_a_file_with_bricks_that_replace_its_field(tmp_path: Path) -> None:
    """Its voxels are within the bound, read whole or in parts, and as what is added to the field's values."""
    random = np.random.default_rng(3)
    volume = whole_volume(plain_field(3), (20, 17, 13))
    values = volume.values(Box.whole(volume.shape))
    truth = (0.05 * random.normal(size=volume.shape)).astype(np.float32)
    truth[:8] = values[:8] + 0.3 * truth[:8]
    path = write_volume(tmp_path / "a.plf", volume, truth, bound=0.01, are_voxels_coded=True)
    with closing(NeuralReader(path)) as reader:
        whole = np.empty(volume.shape, np.float32)
        reader.read(Box.whole(volume.shape), whole)
        assert np.abs(whole - truth).max() <= 0.01 + 1e-5
        fields, residual = reader.neural_at(0)
        assert residual is not None
        box = Box((5, 3, 2), (19, 12, 11))
        part = np.empty(box.shape, np.float32)
        reader.read(box, part)
        assert np.array_equal(part, whole[box.slices])
        assert np.allclose(fields.values(box) + residual(box), part, atol=1e-5)
    kinds = {replaces_field(FileSections(path).read(section_name(one))) for one in brick_boxes(volume.shape, 8)}
    assert kinds == {False, True}


@pytest.mark.parametrize(("scale", "bound"), [(1e30, 1e28), (1e19, 1e17), (1e20, 1.0), (1.0, 1e-30)])
def test_values_beyond_64_bits_are_kept_without_the_wavelet_coder(scale: float, bound: float) -> None:
    values = (np.random.default_rng(0).normal(size=(8, 9, 10)) * scale).astype(np.float32)
    found = decoded_brick(coded_brick(values, bound), values.shape)
    assert np.abs(found.astype(np.float64) - values).max() <= bound


def test_several_threads_decode_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).normal(size=(8, 8, 8)).astype(np.float32)
    data, both_are_open, found = coded_brick(values, 0.1), Barrier(2), list[Floats]()
    make_filter = residual_module._filter

    def wait_and_make(bound: float) -> dict[str, Any]:
        both_are_open.wait(timeout=60)
        return make_filter(bound)

    monkeypatch.setattr(residual_module, "_filter", wait_and_make)
    threads = [Thread(target=lambda: found.append(decoded_brick(data, values.shape))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [float(np.abs(one - values).max()) <= 0.1 for one in found] == [True, True]


def test_a_file_keeps_its_bound(tmp_path: Path) -> None:
    truth = np.random.default_rng(3).normal(size=SHAPE).astype(np.float32)
    path = write_volume(tmp_path / "a.plf", whole_volume(plain_field(), SHAPE), truth, bound=0.2)
    with pellucid.open(str(path)) as volume:
        assert np.abs(volume.read() - truth).max() <= 0.2 + 1e-5
        box = Box((5, 7, 1), (11, 16, 10))
        np.testing.assert_allclose(volume.read(box), volume.read()[box.slices], atol=1e-6)


@pytest.mark.parametrize(("bound", "most"), [(0.3, 0), (1.0, 1), (2.7, 2)])
def test_whole_numbers_keep_their_bound_when_rounded(tmp_path: Path, bound: float, most: int) -> None:
    truth = np.random.default_rng(3).integers(0, 99, SHAPE).astype(np.float32)
    volume = whole_volume(plain_field(high=100), SHAPE, "uint8")
    path = write_volume(tmp_path / "a.plf", volume, truth, coding_bound(bound, volume.dtype))
    with pellucid.open(str(path)) as opened:
        assert np.abs(opened.read().astype(int) - truth).max() == most


def test_a_part_is_decoded_without_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    truth = np.random.default_rng(3).normal(size=SHAPE).astype(np.float32)
    path = write_volume(tmp_path / "a.plf", whole_volume(plain_field(), SHAPE), truth)
    decoded: list[tuple[int, ...]] = []
    decode = residual_module.decoded_brick

    def counted(data: bytes, shape: tuple[int, ...]) -> Floats:
        decoded.append(shape)
        return decode(data, shape)

    monkeypatch.setattr(residual_module, "decoded_brick", counted)
    with pellucid.open(str(path)) as volume:
        volume.read(Box((9, 0, 0), (10, 3, 9)))
    assert decoded == [(3, 8, 8), (3, 8, 8)]


def rewritten(path: Path, name: str, data: bytes) -> Path:
    """A file with a residual, of which one brick has other bytes, and their right checksum."""
    volume = whole_volume(plain_field(), SHAPE)
    header, sections = to_sections(volume, (steps(volume.fields[0].field),))
    header["residual"] = {"bound": 0.1, "tolerance": 0.0, "brick": 8}
    sections |= {section_name(box): b"" for box in brick_boxes(SHAPE, 8)}
    write_file(path, header, {**sections, name: data})
    return path


WAVELETS = coded_brick(np.random.default_rng(0).normal(size=(8, 8, 8)).astype(np.float32), 0.1)
DAMAGED = [
    b"\0",
    b"\0abc",
    b"\0" + b"\0\0\xc0\x7f" * 512,
    b"\1",
    b"\1short",
    b"\7" * 40,
    WAVELETS[:-1],
    WAVELETS[:30],
    WAVELETS + b"\0",
    WAVELETS[:4] + b"\xff\xff\xff\x7f" + WAVELETS[8:],
    WAVELETS[:20] + b"\x81" + WAVELETS[21:],
    WAVELETS[:37] + b"\xff" * 9 + WAVELETS[46:],
]


@pytest.mark.parametrize("data", DAMAGED)
def test_damaged_bricks_are_refused(tmp_path: Path, data: bytes) -> None:
    path = rewritten(tmp_path / "a.plf", "residual/0,0,0", data)
    with pellucid.open(str(path)) as volume:
        volume.read(Box((8, 0, 0), (11, 8, 8)))
        with pytest.raises(Corrupted, match="residual"):
            volume.read(Box((0, 0, 0), (1, 1, 1)))


def test_any_bits_of_wavelets_decode_to_a_brick() -> None:
    """What a checksum does not find, because it was made to match."""
    random = np.random.default_rng(1)
    for _ in range(50):
        bent = bytearray(WAVELETS)
        for at in random.integers(46, len(bent), 5):
            bent[at] ^= int(random.integers(1, 256))
        assert decoded_brick(bytes(bent), (8, 8, 8)).shape == (8, 8, 8)


def test_a_missing_brick_is_named(tmp_path: Path) -> None:
    volume = whole_volume(plain_field(), SHAPE)
    header, sections = to_sections(volume, (steps(volume.fields[0].field),))
    header["residual"] = {"bound": 0.1, "tolerance": 0.0, "brick": 8}
    write_file(tmp_path / "a.plf", header, sections)
    with (
        pellucid.open(str(tmp_path / "a.plf")) as opened,
        pytest.raises(Corrupted, match="'residual/0,0,0' is missing"),
    ):
        opened.read(Box((0, 0, 0), (1, 1, 1)))


def test_bytes_of_residuals_are_counted(tmp_path: Path) -> None:
    path = rewritten(tmp_path / "a.plf", "residual/0,0,0", b"\0" * 2049)
    sections = FileSections(path)
    assert sections.size_of("residual/") == 2049
    sections.close()
