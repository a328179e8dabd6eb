"""What every writable format must do. To add a format: one row in FORMATS.

Here: the table, and the suite that tests/formats/test_contract.py runs on every row of it.
Not here: what only one format does (tests/formats/test_NAME.py).
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pellucid.box import Box, Shape
from pellucid.errors import Incomplete, InvalidInput, OutputExists, PellucidError, UnsupportedType
from pellucid.formats import registry
from pellucid.formats.location import Location
from pellucid.formats.protocol import VOXEL_TYPES, Layout, Level, Reader, Spacing, Voxels, Writer

SHAPE = (17, 31, 23)
CHUNK = (8, 16, 8)
SPACING = (2.5, 0.3, 0.1)


@dataclass(frozen=True)
class Case:
    """A format and what it promises.

    output: an example name; {shape} and {dtype} are filled in. is_recognised: also under a name that says nothing.
    tells_unfinished: whether a reader refuses an output that was never finished. keeps_existing: whether a writer
    refuses to begin where something is; those that grow in place in a bucket begin anew.
    """

    output: str
    dtypes: tuple[str, ...] = VOXEL_TYPES
    codec: str | None = None
    has_spacing: bool = True
    has_levels: bool = False
    is_recognised: bool = True
    tells_unfinished: bool = True
    is_one_file: bool = True
    keeps_existing: bool = True

    def location(self, folder: Path, shape: Shape = SHAPE, dtype: str = "uint8") -> Location:
        name = self.output.format(shape="x".join(str(length) for length in reversed(shape)), dtype=dtype)
        return Location.parse(f"{folder}/{name}")

    def __str__(self) -> str:
        return f"{self.output}-{self.codec}" if self.codec else self.output


_NO_HALF = tuple(name for name in VOXEL_TYPES if name != "float16")
_CHUNKS = Case("", has_levels=True, is_one_file=False, tells_unfinished=False, keeps_existing=False)

FORMATS = (
    replace(_CHUNKS, output="scan.zarr"),
    replace(_CHUNKS, output="scan.zarr2"),
    replace(_CHUNKS, output="scan.n5", dtypes=_NO_HALF),
    Case("scan.h5", has_levels=True, tells_unfinished=False),
    Case("scan.tif"),
    Case("scan.tiff"),
    Case("slices/", is_one_file=False),
    Case("slices/", codec="gzip", is_one_file=False),
    Case("slices/", codec="zstd", is_one_file=False),
    Case("scan.nc", _NO_HALF),
    Case("scan.nrrd", _NO_HALF),
    Case("scan.nrrd", _NO_HALF, codec="gzip"),
    Case("scan.nhdr", _NO_HALF, is_one_file=False),
    Case("scan.nii", _NO_HALF),
    Case("scan.nii.gz", _NO_HALF, is_recognised=False),
    Case("scan.mha", _NO_HALF),
    Case("scan.mhd", _NO_HALF, is_one_file=False),
    Case("scan.npy", has_spacing=False),
    Case("scan_{shape}_{dtype}_le.raw", has_spacing=False, is_recognised=False, tells_unfinished=False),
    Case("scan_{shape}_{dtype}_be.raw", has_spacing=False, is_recognised=False, tells_unfinished=False),
)


def every(property_: Callable[[Case], object] = lambda case: True) -> pytest.MarkDecorator:
    """Run a test on every format that has a property."""
    return pytest.mark.parametrize("case", [case for case in FORMATS if property_(case)], ids=str)


def numbers(shape: Shape, dtype: str, seed: int = 0) -> Voxels:
    """Every bit pattern is possible, except that floats are numbers, infinities and one kind of nan."""
    voxels: Voxels = np.random.default_rng(seed).integers(0, 256, (*shape, np.dtype(dtype).itemsize), np.uint8)
    voxels = voxels.view(dtype)[..., 0].copy()
    if voxels.dtype.kind == "f":
        voxels[np.isnan(voxels)] = np.nan
    return voxels


def layout_of(case: Case, voxels: Voxels, spacing: Spacing = SPACING, unit: str = "um") -> Layout:
    level = Level(shape_of(voxels), CHUNK, spacing)
    return Layout((level,), voxels.dtype, unit, codec=case.codec)


def shape_of(voxels: Voxels) -> Shape:
    z, y, x = voxels.shape
    return (z, y, x)


def write_boxes(writer: Writer, voxels: Voxels, level: int = 0, seed: int = 0) -> None:
    """Fill an output in random order from four threads."""
    boxes = list(Box.whole(shape_of(voxels)).tiles(writer.grains[level]))
    np.random.default_rng(seed).shuffle(boxes)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda box: writer.write(box, voxels[box.slices], level=level), boxes))


def write(case: Case, folder: Path, voxels: Voxels, **layout: Any) -> Location:
    location = case.location(folder, shape_of(voxels), voxels.dtype.name)
    writer = registry.open_writer(location, replace(layout_of(case, voxels), **layout))
    write_boxes(writer, voxels)
    writer.finish()
    writer.close()
    return location


def read(reader: Reader, box: Box | None = None, level: int = 0) -> Voxels:
    box = box or Box.whole(reader.header.levels[level].shape)
    out: Voxels = np.full(box.shape, 77, reader.header.dtype)
    reader.read(box, out, level=level)
    return out


def read_all(location: Location) -> Voxels:
    reader = registry.open_reader(location)
    try:
        return read(reader)
    finally:
        reader.close()


def random_boxes(shape: Shape, count: int, seed: int = 1) -> Iterator[Box]:
    random = np.random.default_rng(seed)
    for _ in range(count):
        corners = [sorted(random.choice(length + 1, 2, replace=False)) for length in shape]
        (z0, z1), (y0, y1), (x0, x1) = ((int(a), int(b)) for a, b in corners)
        yield Box((z0, y0, x0), (z1, y1, x1))


def same_bits(a: Voxels, b: Voxels) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


class VoxelContract:
    """What is written is what is read."""

    @pytest.mark.parametrize(("case", "dtype"), [(case, dtype) for case in FORMATS for dtype in case.dtypes], ids=str)
    def test_every_type_survives_bit_for_bit(self, case: Case, dtype: str, tmp_path: Path) -> None:
        voxels = numbers((3, 5, 7), dtype)
        assert same_bits(read_all(write(case, tmp_path, voxels)), voxels)

    @pytest.mark.parametrize("shape", [(1, 1, 1), (1, 5, 7), (5, 1, 7), SHAPE, (1, 2, 3001), (300, 2, 1)])
    @every()
    def test_every_shape_survives(self, case: Case, shape: Shape, tmp_path: Path) -> None:
        voxels = numbers(shape, "int16")
        assert same_bits(read_all(write(case, tmp_path, voxels)), voxels)

    @every()
    def test_any_box_is_a_slice_of_the_array(self, case: Case, tmp_path: Path) -> None:
        voxels = numbers(SHAPE, "float32")
        reader = registry.open_reader(write(case, tmp_path, voxels))
        for box in random_boxes(SHAPE, 20):
            assert same_bits(read(reader, box), voxels[box.slices]), box
        reader.close()

    @every()
    def test_out_may_have_any_strides(self, case: Case, tmp_path: Path) -> None:
        voxels = numbers(SHAPE, "int16")
        reader = registry.open_reader(write(case, tmp_path, voxels))
        box = Box((2, 3, 4), (13, 21, 19))
        backing: Voxels = np.full((15 * 2, 18, 11 * 3), 7, np.int16)
        out = backing[::2, :, ::3].transpose(2, 1, 0)
        reader.read(box, out)
        np.testing.assert_array_equal(out, voxels[box.slices])
        assert (backing[1::2] == 7).all(), "wrote outside of out"
        reader.close()

    @every()
    def test_header_is_stable(self, case: Case, tmp_path: Path) -> None:
        location = write(case, tmp_path, numbers(SHAPE, "int32"))
        first, second = registry.open_reader(location), registry.open_reader(location)
        assert first.header == second.header
        assert first.header.dtype == np.dtype("int32")
        assert first.header.dtype.isnative
        assert first.header.levels[0].shape == SHAPE
        assert all(0 < c <= n for c, n in zip(first.header.levels[0].chunk, SHAPE, strict=True))
        assert (first.header.times, first.header.channels) == (1, 1)
        first.close()
        second.close()

    @pytest.mark.parametrize("unit", ["mm", "um", ""])
    @every(lambda case: case.has_spacing)
    def test_spacing_and_unit_survive(self, case: Case, unit: str, tmp_path: Path) -> None:
        location = write(case, tmp_path, numbers((2, 5, 7), "uint8"), unit=unit)
        reader = registry.open_reader(location)
        assert reader.header.levels[0].spacing == pytest.approx(SPACING, rel=1e-12)
        assert reader.header.unit == unit
        reader.close()

    @every(lambda case: case.has_spacing)
    def test_spacing_survives_for_types_with_another_header(self, case: Case, tmp_path: Path) -> None:
        reader = registry.open_reader(write(case, tmp_path, numbers((2, 5, 7), "int32")))
        assert reader.header.levels[0].spacing == pytest.approx(SPACING, rel=1e-12)
        assert reader.header.unit == "um"
        reader.close()

    @every()
    def test_reader_serves_several_threads(self, case: Case, tmp_path: Path) -> None:
        voxels = numbers(SHAPE, "uint8")
        reader = registry.open_reader(write(case, tmp_path, voxels))
        boxes = list(random_boxes(SHAPE, 40))
        with ThreadPoolExecutor(8) as pool:
            for box, found in zip(boxes, pool.map(lambda box: read(reader, box), boxes), strict=True):
                assert same_bits(found, voxels[box.slices]), box
        reader.close()

    @every()
    def test_what_was_written_can_be_read_back_before_the_end(self, case: Case, tmp_path: Path) -> None:
        voxels = numbers(SHAPE, "uint8")
        writer = registry.open_writer(case.location(tmp_path), layout_of(case, voxels))
        write_boxes(writer, voxels)
        out: Voxels = np.zeros((4, 5, 6), np.uint8)
        writer.read(Box((1, 2, 3), (5, 7, 9)), out)
        assert same_bits(out, voxels[1:5, 2:7, 3:9])
        writer.close()

    @every()
    def test_resume_keeps_what_was_written(self, case: Case, tmp_path: Path) -> None:
        voxels, location = numbers(SHAPE, "uint8"), case.location(tmp_path)
        for part in (0, 1):
            writer = registry.open_writer(location, layout_of(case, voxels), resume=part == 1)
            for number, box in enumerate(Box.whole(SHAPE).tiles(writer.grains[0])):
                if number % 2 == part:
                    writer.write(box, voxels[box.slices])
            if part == 1:
                writer.finish()
            writer.close()
        assert same_bits(read_all(location), voxels)

    @every()
    def test_resume_after_the_end_loses_nothing(self, case: Case, tmp_path: Path) -> None:
        voxels = numbers(SHAPE, "uint8")
        location = write(case, tmp_path, voxels)
        writer = registry.open_writer(location, layout_of(case, voxels), resume=True)
        writer.finish()
        writer.close()
        assert same_bits(read_all(location), voxels)

    @every()
    def test_resume_of_nothing_begins(self, case: Case, tmp_path: Path) -> None:
        voxels, location = numbers(SHAPE, "uint8"), case.location(tmp_path)
        writer = registry.open_writer(location, layout_of(case, voxels), resume=True)
        write_boxes(writer, voxels)
        writer.finish()
        writer.close()
        assert same_bits(read_all(location), voxels)

    @every()
    def test_shareable_output_takes_a_second_writer(self, case: Case, tmp_path: Path) -> None:
        voxels, location = numbers(SHAPE, "uint8"), case.location(tmp_path)
        first = registry.open_writer(location, layout_of(case, voxels))
        second = registry.open_writer(location, layout_of(case, voxels), resume=True) if first.is_shareable else first
        for number, box in enumerate(Box.whole(SHAPE).tiles(first.grains[0])):
            (first, second)[number % 2].write(box, voxels[box.slices])
        if second is not first:
            second.close()
        first.finish()
        first.close()
        assert same_bits(read_all(location), voxels)

    @every(lambda case: case.has_levels)
    def test_levels_survive(self, case: Case, tmp_path: Path) -> None:
        full = numbers(SHAPE, "uint16")
        half = full[1::2, 1::2, 1::2].copy()
        levels = tuple(Level(shape_of(one), CHUNK, (step, step, step)) for one, step in ((full, 0.5), (half, 1.0)))
        location = case.location(tmp_path)
        writer = registry.open_writer(location, Layout(levels, full.dtype, "um", codec=case.codec))
        for level, voxels in enumerate((full, half)):
            write_boxes(writer, voxels, level)
        writer.finish()
        writer.close()
        reader = registry.open_reader(location)
        assert [(level.shape, level.spacing) for level in reader.header.levels] == [
            (level.shape, level.spacing) for level in levels
        ]
        assert same_bits(read(reader, level=0), full)
        assert same_bits(read(reader, level=1), half)
        reader.close()


class RefusalContract:
    """What cannot be is refused in words, and nothing is left behind or lost."""

    @every(lambda case: not case.has_levels)
    def test_several_levels_are_refused_where_there_is_room_for_one(self, case: Case, tmp_path: Path) -> None:
        layout = layout_of(case, numbers(SHAPE, "uint8"))
        with pytest.raises(PellucidError, match="level"):
            registry.open_writer(case.location(tmp_path), replace(layout, levels=layout.levels * 2))
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("dtype", ["float16", "complex64", "bool"])
    @every()
    def test_unsupported_type_is_refused_before_anything_is_created(
        self, case: Case, dtype: str, tmp_path: Path
    ) -> None:
        if dtype in case.dtypes:
            return
        layout = replace(layout_of(case, numbers(SHAPE, "uint8")), dtype=np.dtype(dtype))
        reply = f"does not support voxels of type {dtype}.*--dtype.*float32"
        if dtype == "complex64":  # No type of voxels holds these: they have to be made real first.
            reply = r"the values are complex \(complex64\), and voxels must be real numbers.*np\.abs"
        with pytest.raises(UnsupportedType, match=reply):
            registry.open_writer(case.location(tmp_path), layout)
        assert list(tmp_path.iterdir()) == []

    @every()
    def test_unknown_codec_is_refused_before_anything_is_created(self, case: Case, tmp_path: Path) -> None:
        with pytest.raises(PellucidError, match=r"codec|compressed"):
            registry.open_writer(
                case.location(tmp_path), replace(layout_of(case, numbers(SHAPE, "uint8")), codec="shrink")
            )
        assert list(tmp_path.iterdir()) == []

    @every(lambda case: case.output != "scan.zarr")
    def test_shards_are_refused_where_there_are_none(self, case: Case, tmp_path: Path) -> None:
        layout = replace(layout_of(case, numbers(SHAPE, "uint8")), shard=(16, 32, 16))
        with pytest.raises(InvalidInput, match=r"does not support shards .*\. Leave out --shard"):
            registry.open_writer(case.location(tmp_path), layout)
        assert list(tmp_path.iterdir()) == []

    @every(lambda case: case.keeps_existing)
    def test_existing_output_is_not_replaced(self, case: Case, tmp_path: Path) -> None:
        voxels = numbers(SHAPE, "uint8")
        location = write(case, tmp_path, voxels)
        with pytest.raises(OutputExists, match="already exists"):
            registry.open_writer(location, layout_of(case, voxels))
        assert same_bits(read_all(location), voxels)

    @every(lambda case: case.tells_unfinished)
    def test_unfinished_output_is_refused(self, case: Case, tmp_path: Path) -> None:
        voxels, location = numbers(SHAPE, "uint8"), case.location(tmp_path)
        writer = registry.open_writer(location, layout_of(case, voxels))
        write_boxes(writer, voxels)
        writer.close()
        if location.local.exists():
            with pytest.raises(Incomplete, match="is incomplete"):
                registry.open_reader(location)

    @every(lambda case: case.is_recognised)
    def test_content_is_recognised_under_a_name_that_says_nothing(self, case: Case, tmp_path: Path) -> None:
        voxels = numbers(SHAPE, "uint8")
        location = write(case, tmp_path, voxels)
        renamed = location.local.rename(tmp_path / "something")
        assert same_bits(read_all(Location(str(renamed))), voxels)

    @every(lambda case: case.is_one_file)
    def test_file_cut_short_is_an_error(self, case: Case, tmp_path: Path) -> None:
        location = write(case, tmp_path, numbers(SHAPE, "uint8"))
        size = location.local.stat().st_size
        for length in (size * 2 // 3, 40):
            with location.local.open("r+b") as file:
                file.truncate(length)
            with pytest.raises(PellucidError, match=r"truncated|corrupted"):
                read_all(location)

    @every(lambda case: case.is_one_file)
    def test_damaged_header_is_told_in_words(self, case: Case, tmp_path: Path) -> None:
        """Nothing but a PellucidError leaves a reader, whatever the first bytes are."""
        location = write(case, tmp_path, numbers((3, 5, 7), "int32"))
        good, random = location.local.read_bytes(), np.random.default_rng(2)
        for _ in range(40):
            bad = bytearray(good)
            for position in random.integers(0, min(len(good), 600), 2):
                bad[position : position + 3] = random.integers(0, 256, random.integers(0, 5), np.uint8).tobytes()
            location.local.write_bytes(bad)
            with suppress(PellucidError):
                reader = registry.open_reader(location)
                reader.read(Box((0, 0, 0), (1, 1, 1)), np.empty((1, 1, 1), reader.header.dtype))
                reader.close()

    @every(lambda case: case.is_one_file)
    def test_empty_file_is_an_error(self, case: Case, tmp_path: Path) -> None:
        location = case.location(tmp_path)
        location.local.write_bytes(b"")
        with pytest.raises(PellucidError, match="is empty"):
            registry.open_reader(location)
