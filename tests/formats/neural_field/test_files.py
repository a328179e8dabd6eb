"""Files of neural fields: whole, and damaged in every way that could be thought of."""

import json
import struct
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pellucid
from pellucid.box import Box
from pellucid.cli.main import main
from pellucid.errors import Corrupted, InvalidInput, NotWritable, PellucidError, Truncated
from pellucid.formats.location import Location
from pellucid.formats.neural_field.container import VERSION, FileSections, write_file
from pellucid.formats.neural_field.neural_volume import NeuralVolume, PlacedField
from pellucid.formats.orientation import Orientation
from pellucid.formats.registry import open_writer
from tests.formats.neural_field.sample_fields import mixed_field, plain_field, steps, whole_volume, write_volume

SHAPE = (7, 8, 9)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_volume(tmp_path / "a.plf", whole_volume(mixed_field(low=-5, high=20), SHAPE))


def header_of(path: Path) -> dict[str, Any]:
    length = struct.unpack_from("<I", path.read_bytes(), 12)[0]
    return dict(json.loads(path.read_bytes()[20 : 20 + length]))


def with_header(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """A copy whose header says something else, with right checksums."""
    header, sections = header_of(path), FileSections(path)
    parts = {name: sections.read(name) for name in header.pop("sections")}
    sections.close()
    change(header)
    changed = path.with_name("changed.plf")
    write_file(changed, header, parts)
    return changed


def test_a_file_opens_like_any_volume(path: Path) -> None:
    expected = whole_volume(mixed_field(low=-5, high=20), SHAPE).values(Box.whole(SHAPE))
    with pellucid.open(str(path)) as volume:
        assert (volume.shape, volume.dtype.name) == (SHAPE, "float32")
        np.testing.assert_allclose(volume.read(), expected, atol=1e-4)
        np.testing.assert_allclose(volume[2:5, 1:, 3:4], expected[2:5, 1:, 3:4], atol=1e-4)


def test_everything_about_the_volume_is_kept(tmp_path: Path) -> None:
    shape = (70, 40, 90)
    fields = (
        PlacedField(Box((0, 0, 0), (40, 40, 90)), mixed_field(1)),
        PlacedField(Box((30, 0, 0), shape), plain_field(2, low=3, high=9)),
    )
    orientation = Orientation(origin=(1.0, 2.0, 3.0))
    volume = NeuralVolume(shape, np.dtype("uint16"), fields, (1.5, 2.0, 0.5), "um", orientation, {"psnr": 40.0})
    with pellucid.open(str(write_volume(tmp_path / "a.plf", volume))) as opened:
        assert (opened.spacing, opened.unit, opened.orientation) == ((1.5, 2.0, 0.5), "um", orientation)
        assert [level.shape for level in opened.levels] == [shape, (35, 20, 45)]
        box = Box((28, 0, 5), (44, 9, 9))
        expected = np.rint(np.clip(volume.values(box), 0, None))
        assert np.abs(opened.read(box).astype(int) - expected).max() <= 1


def test_info(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(path)]) == 0
    text = capsys.readouterr().out
    count = mixed_field().parameter_count
    ratio = 4 * 7 * 8 * 9 / path.stat().st_size
    for part in ("neural", f"mixed, {count} parameters", f"{ratio:.4g} : 1", "psnr 41.25"):
        assert part in text
    assert main(["info", str(path), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["parameters"], facts["quality"], facts["max_error"]) == (count, {"psnr": 41.25}, None)
    assert facts["compression_ratio"] == pytest.approx(ratio)


def test_info_with_a_residual(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth = np.random.default_rng(0).normal(size=SHAPE).astype(np.float32)
    volume = whole_volume(plain_field(), SHAPE)
    assert main(["info", str(write_volume(tmp_path / "a.plf", volume, truth, bound=0.25))]) == 0
    text = capsys.readouterr().out
    assert "max error   0.25" in text
    assert "of which the residual is" in text


def test_a_neural_field_is_not_written_as_voxels(tmp_path: Path) -> None:
    with pytest.raises(NotWritable, match="neural is read-only"):
        open_writer(Location(str(tmp_path / "a.plf")), None)  # type: ignore[arg-type]


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        write_file(tmp_path / "a.plf", {"quality": float("nan")}, {})
    assert list(tmp_path.iterdir()) == []


def test_truncated_files(path: Path) -> None:
    """Anywhere: inside the first bytes, the header, the sections and before their last byte."""
    content = path.read_bytes()
    cut = path.with_name("cut.plf")
    for length in [*range(1, 24), *range(24, len(content), 97), len(content) - 1]:
        cut.write_bytes(content[:length])
        with pytest.raises(PellucidError):
            pellucid.open(f"{cut}:format=neural")
    cut.write_bytes(content[:-1])
    with pytest.raises(Truncated, match="is truncated: expected"):
        pellucid.open(str(cut))


def test_every_flipped_byte_is_found(path: Path) -> None:
    content, bent = path.read_bytes(), path.with_name("bent.plf")
    table = header_of(path)["sections"]
    start = -(-(20 + struct.unpack_from("<I", content, 12)[0]) // 64) * 64
    used = [(0, 20 + struct.unpack_from("<I", content, 12)[0])]
    used += [(start + position, start + position + length) for position, length, _ in table.values()]
    for low, high in used:
        for at in range(low, high, 7):
            bent.write_bytes(content[:at] + bytes([content[at] ^ 0x41]) + content[at + 1 :])
            with pytest.raises(PellucidError):
                pellucid.open(f"{bent}:format=neural")


def test_another_version_is_named(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:8] + struct.pack("<I", VERSION + 1) + content[12:])
    with pytest.raises(InvalidInput, match=r"has version 2 of the format.* Update Pellucid"):
        pellucid.open(str(path))


HUGE = 1 << 40
FAULTS: list[Callable[[dict[str, Any]], object]] = [
    lambda header: header.update(shape=[HUGE, HUGE, HUGE]),
    lambda header: header.update(shape=[0, 8, 9]),
    lambda header: header.update(shape=[7, 8]),
    lambda header: header.update(shape=[10**400, 8, 9]),
    lambda header: header.update(dtype="object"),
    lambda header: header.update(dtype="float33"),
    lambda header: header.update(fields=[]),
    lambda header: header.update(fields=header["fields"] * 5000),
    lambda header: header.update(fields=header["fields"] * 2),
    lambda header: header.update(residual={"bound": 0, "tolerance": 0, "brick": 8}),
    lambda header: header.update(residual={"bound": 1, "tolerance": 0, "brick": HUGE}),
    lambda header: header["fields"][0].update(stop=[7, 8, 10]),
    lambda header: header["fields"][0].update(start=[-1, 0, 0]),
    lambda header: header["fields"][0].update(start=[7, 0, 0]),
    lambda header: header["fields"][0].update(value_range=[0, 1e300]),
    lambda header: header["fields"][0].update(layers=[]),
    lambda header: header["fields"][0].update(layers=[[10, 8], [8, 2]]),
    lambda header: header["fields"][0].update(layers=[[10, HUGE], [HUGE, 1]]),
    lambda header: header["fields"][0].update(layers=[[10, 4096], [4096, 1]]),
    lambda header: header["fields"][0].update(activation="exp"),
    lambda header: header["fields"][0].update(fourier=-1),
    lambda header: header["fields"][0].update(fourier=HUGE),
    lambda header: header["fields"][0]["grids"].pop(),
    lambda header: header["fields"][0].update(grids=[[3, 1 << 13, 1 << 13, 1]]),
    lambda header: header["fields"][0]["grids"].append([0, HUGE, HUGE, HUGE]),
    lambda header: header["fields"][0]["grids"].append([-1, -1, 1, 1]),
    lambda header: header["fields"][0]["hash_levels"][0].update(rows=HUGE),
    lambda header: header["fields"][0]["hash_levels"][0].update(resolution=0),
    lambda header: header["fields"][0]["hash_levels"][0].update(resolution=HUGE),
    lambda header: header.pop("shape"),
    lambda header: header.update(more=1),
    lambda header: header.update(fields={}),
    lambda header: header.update(differences=[[True, True]]),
    lambda header: header.update(differences=[[2]]),
    lambda header: header.update(differences=[[False]] * 70_000),
]


@pytest.mark.parametrize("number", range(len(FAULTS)))
def test_hostile_headers_are_refused(path: Path, number: int) -> None:
    with pytest.raises(PellucidError):
        pellucid.open(str(with_header(path, FAULTS[number])))


def test_a_step_that_is_not_there_or_too_far(path: Path) -> None:
    """Of a series whose sections are missing, or whose steps are all differences."""
    changed = with_header(path, lambda header: header.update(differences=[[True]] * 100))
    for t, message in ((1, "its section 'step1/field0' is missing"), (100, "too many steps are differences")):
        with pellucid.open(f"{changed}:t={t}") as volume, pytest.raises(Corrupted, match=message):
            volume.read()
    with pellucid.open(f"{changed}:t=0") as volume:
        assert volume.read().shape == SHAPE


def test_a_spacing_that_is_not_positive_is_taken_to_be_unknown(path: Path) -> None:
    with pellucid.open(str(with_header(path, lambda header: header.update(spacing=[0, 1, 1])))) as volume:
        assert volume.spacing == (1.0, 1.0, 1.0)


def test_odd_quality_and_orientation_are_left_out(path: Path) -> None:
    odd = {"psnr": "high", "ssim": 10**400, "mse": True, "max": 1}
    changed = with_header(path, lambda header: header.update(quality=odd, orientation=[1, 2]))
    with pellucid.open(str(changed)) as volume:
        assert volume.orientation is None
    changed = with_header(path, lambda header: header.update(quality=[]))
    pellucid.open(str(changed)).close()


def test_an_unknown_entry_of_the_table_of_sections(path: Path) -> None:
    content = path.read_bytes()
    tables: list[Any] = [
        {"field0": [0, 1 << 60, 0]},
        {"field0": [-1, 1, 0]},
        {"field0": [True, 1, 0]},
        {"field0": 3},
        [],
        {},
    ]
    for table in tables:
        text = json.dumps({**header_of(path), "sections": table}).encode()
        changed = path.with_name("changed.plf")
        fixed = struct.pack("<8sIII", content[:8], VERSION, len(text), zlib.crc32(text))
        changed.write_bytes((fixed + text).ljust(4096, b"\0"))
        with pytest.raises(PellucidError):
            pellucid.open(str(changed))


def test_nested_json_is_refused(path: Path) -> None:
    for text in (b"[" * 200_000, b'{"a":' * 100_000, b"[]", b"\xff", b"1" * 10_000):
        fixed = struct.pack("<8sIII", path.read_bytes()[:8], VERSION, len(text), zlib.crc32(text))
        nested = path.with_name("nested.plf")
        nested.write_bytes(fixed + text)
        with pytest.raises(Corrupted):
            pellucid.open(str(nested))


def test_a_header_that_claims_gigabytes(path: Path) -> None:
    path.write_bytes(struct.pack("<8sIII", path.read_bytes()[:8], VERSION, 1 << 31, 0))
    with pytest.raises(Corrupted, match="its header claims"):
        pellucid.open(str(path))


@pytest.mark.parametrize("part", ["differences", "sections", "fields"])
def test_a_header_of_many_entries_is_refused_at_once(path: Path, part: str) -> None:
    """Each would take some microseconds to check, and 64 MB hold ten million."""
    header = header_of(path) | {"sections": {}}
    many = {
        "differences": [[True] * 300] * 3000,
        "sections": {f"{n:x}": [0, 0, 0] for n in range(600_000)},
        "fields": [header["fields"][0] | {"grids": [[1, 2, 2, 2]] * 200_000}],
    }
    text = json.dumps({**header, part: many[part]}, separators=(",", ":")).encode()
    fixed = struct.pack("<8sIII", path.read_bytes()[:8], VERSION, len(text), zlib.crc32(text))
    changed = path.with_name("changed.plf")
    changed.write_bytes(fixed + text + bytes(4096))
    with pytest.raises(Corrupted, match=r"more (entries|sections) than"):
        pellucid.open(str(changed))


def test_transforms_beyond_measure_are_refused(tmp_path: Path) -> None:
    field = plain_field()
    for value in (np.nan, np.inf, 1e20):
        field.grids[0].transform[0, 0] = value
        write_volume(tmp_path / "a.plf", whole_volume(field, SHAPE))
        with pytest.raises(Corrupted, match="a transform or a frequency is invalid"):
            pellucid.open(str(tmp_path / "a.plf"))


def test_parameters_that_overflow_are_read_without_a_crash(tmp_path: Path) -> None:
    field = plain_field()
    for weights in field.decoder.weights:
        weights[...] = weights * np.float32(1e6)
    volume = whole_volume(replace(field, value_range=(-1e38, 1e38)), SHAPE, "uint8")
    with pellucid.open(str(write_volume(tmp_path / "a.plf", volume))) as opened:
        assert set(np.unique(opened.read())) <= {0, 255}


def test_steps_count_as_many_as_arrays() -> None:
    assert len(steps(mixed_field()).weights) == 2
