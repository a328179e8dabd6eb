"""Neuroglancer's precomputed volumes, as tensorstore writes them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorstore

from pellucid.box import Box
from pellucid.errors import Corrupted, NotFound, NotWritable, UnknownCodec
from pellucid.formats import registry
from pellucid.formats.chunked import precomputed
from pellucid.formats.location import Location
from pellucid.formats.protocol import Voxels
from tests.formats.chunk_stores import HALF, SHAPE, layout, open_at, ramp, read


def put_scale(path: Path, voxels: Voxels, resolution: list[int], **form: Any) -> None:
    """Add one scale of (c, z, y, x) voxels."""
    scale = {
        "size": voxels.shape[:0:-1],
        "resolution": resolution,
        "encoding": "raw",
        "chunk_size": [16, 16, 8],
        **form,
    }
    kind = "segmentation" if scale["encoding"] == "compressed_segmentation" else "image"
    spec = {
        "driver": "neuroglancer_precomputed",
        "kvstore": f"file://{path}/",
        "multiscale_metadata": {"type": kind, "data_type": voxels.dtype.name, "num_channels": voxels.shape[0]},
        "scale_metadata": scale,
    }
    tensorstore.open(spec, create=True).result().T.write(voxels).result()


def test_all_scales_are_levels(tmp_path: Path) -> None:
    full = ramp((1, *SHAPE))
    put_scale(tmp_path, full, [4, 8, 40])
    put_scale(tmp_path, full[:, ::2, ::2, ::2], [8, 16, 80])
    reader = open_at(tmp_path)
    assert [(level.shape, level.chunk) for level in reader.header.levels] == [(SHAPE, (8, 16, 16)), (HALF, (8, 15, 13))]
    assert [level.spacing for level in reader.header.levels] == [(40.0, 8.0, 4.0), (80.0, 16.0, 8.0)]
    assert (reader.header.unit, reader.header.dtype, reader.header.codec) == ("nm", np.dtype("uint16"), "raw")
    np.testing.assert_array_equal(read(reader), full[0])
    np.testing.assert_array_equal(read(reader, level=1), full[0, ::2, ::2, ::2])
    out = np.empty((3, 4, 5), np.uint16)
    reader.read(Box((2, 3, 4), (5, 7, 9)), out)
    np.testing.assert_array_equal(out, full[0, 2:5, 3:7, 4:9])


def test_channels(tmp_path: Path) -> None:
    voxels = ramp((3, *SHAPE), "uint8")
    put_scale(tmp_path, voxels, [4, 4, 4])
    reader = open_at(tmp_path)
    assert reader.header.channels == 3
    np.testing.assert_array_equal(read(reader, c=2), voxels[2])


def test_an_offset_does_not_move_the_first_voxel(tmp_path: Path) -> None:
    put_scale(tmp_path, ramp((1, *SHAPE)), [4, 4, 4])
    scaled = json.loads((tmp_path / "info").read_text())
    key = scaled["scales"][0]["key"]
    other = tmp_path / "other"
    form = {"voxel_offset": [100, 200, 300], "size": SHAPE[::-1], "resolution": [4, 4, 4], "encoding": "raw"}
    spec = {
        "driver": "neuroglancer_precomputed",
        "kvstore": f"file://{other}/",
        "multiscale_metadata": {"type": "image", "data_type": "uint16", "num_channels": 1},
        "scale_metadata": {**form, "chunk_size": [16, 16, 8]},
    }
    store = tensorstore.open(spec, create=True).result()
    assert store.origin == (100, 200, 300, 0), key
    store.T.write(ramp((1, *SHAPE))).result()
    np.testing.assert_array_equal(read(open_at(other)), ramp())


def test_compressed_segmentation_of_64_bits(tmp_path: Path) -> None:
    labels = ramp((1, *SHAPE), "uint64") // 7 + 2**40
    put_scale(
        tmp_path, labels, [4, 4, 4],
        encoding="compressed_segmentation", compressed_segmentation_block_size=[8, 8, 8],
    )  # fmt: skip
    reader = open_at(tmp_path)
    assert (reader.header.dtype, reader.header.codec) == (np.dtype("uint64"), "compressed_segmentation")
    np.testing.assert_array_equal(read(reader), labels[0])


@pytest.mark.parametrize("form", [{"encoding": "png"}, {"encoding": "jpeg", "jpeg_quality": 100}], ids=["png", "jpeg"])
def test_pictures_as_encoding(form: dict[str, Any], tmp_path: Path) -> None:
    z, y, x = np.indices(SHAPE)
    smooth = (z + y + x + 40).astype(np.uint8)[None]
    put_scale(tmp_path, smooth, [4, 4, 4], **form)
    difference = read(open_at(tmp_path)).astype(int) - smooth[0]
    assert np.abs(difference).max() <= (0 if form["encoding"] == "png" else 3)


def test_shards(tmp_path: Path) -> None:
    form = {
        "@type": "neuroglancer_uint64_sharded_v1", "preshift_bits": 1, "minishard_bits": 1, "shard_bits": 1,
        "hash": "identity", "minishard_index_encoding": "gzip", "data_encoding": "gzip",
    }  # fmt: skip
    put_scale(tmp_path, ramp((1, *SHAPE)), [4, 4, 4], sharding=form)
    np.testing.assert_array_equal(read(open_at(tmp_path)), ramp())


def test_missing_chunks_are_zero(tmp_path: Path) -> None:
    put_scale(tmp_path, ramp((1, *SHAPE)), [4, 4, 4])
    next(path for path in tmp_path.rglob("0-16_0-16_0-8*")).unlink()
    found = read(open_at(tmp_path))
    assert not found[:8, :16, :16].any()
    np.testing.assert_array_equal(found[8:], ramp()[8:])


def test_a_chunk_cut_short_is_damaged(tmp_path: Path) -> None:
    put_scale(tmp_path, ramp((1, *SHAPE)), [4, 4, 4])
    chunk = next(path for path in tmp_path.rglob("0-16_0-16_0-8*"))
    chunk.write_bytes(chunk.read_bytes()[:-7])
    with pytest.raises(Corrupted, match=r"is corrupted: .*Copy it again"):
        read(open_at(tmp_path))


@pytest.mark.parametrize(
    ("text", "why"), [("{", "not JSON"), ('{"scales": []}', "no scales"), ("{}", "scales are not")]
)
def test_a_broken_info_is_damaged(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "info").write_text(text)
    with pytest.raises(Corrupted, match=why):
        open_at(tmp_path)


def test_unknown_encoding_is_named(tmp_path: Path) -> None:
    put_scale(tmp_path, ramp((1, *SHAPE)), [4, 4, 4])
    document = json.loads((tmp_path / "info").read_text())
    document["scales"][0]["encoding"] = "shrink"
    (tmp_path / "info").write_text(json.dumps(document))
    with pytest.raises(UnknownCodec, match=r"codec 'shrink'.*Use one of: .*raw"):
        open_at(tmp_path)


def test_nothing_there_and_nothing_written(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="does not exist"):
        precomputed.open_reader(Location.parse(tmp_path))
    with pytest.raises(NotWritable, match=r"precomputed is read-only.*Use a writable format: .*zarr"):
        registry.open_writer(Location.parse(tmp_path / "a.precomputed"), layout())
    with pytest.raises(NotWritable, match="read-only"):
        precomputed.open_writer(Location.parse(tmp_path / "a.precomputed"), layout())
