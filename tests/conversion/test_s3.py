"""Converting to and from an object store, which has no rename: what is unfinished must not open."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pellucid
from pellucid.box import Shape
from pellucid.errors import PellucidError
from pellucid.volume.levels import reduce_voxels
from tests.conversion.interrupted import StopsAfter
from tests.s3_server import S3Server

LITTLE_MEMORY = 400_000


@pytest.mark.parametrize(("name", "shard"), [("out.zarr", (16, 16, 16)), ("out.n5", None)])
def test_interrupted_it_does_not_open_and_then_continues(
    s3: S3Server, tmp_path: Path, name: str, shard: Shape | None
) -> None:
    small: dict[str, Any] = {"chunk": (16, 16, 16), "levels": 2, "shard": shard}
    voxels = np.random.default_rng(0).integers(0, 2000, (40, 50, 60), dtype=np.uint16)
    np.save(tmp_path / "source.npy", voxels)
    target = s3.url(f"converted/{name}")
    first = StopsAfter(3, memory_bytes=LITTLE_MEMORY)
    with pytest.raises(KeyboardInterrupt):
        pellucid.convert(tmp_path / "source.npy", target, engine=first, **small)
    with pytest.raises(PellucidError):
        pellucid.open(target)
    rest = StopsAfter(-1, memory_bytes=LITTLE_MEMORY)
    with pellucid.convert(tmp_path / "source.npy", target, engine=rest, **small) as volume:
        assert (volume.read() == voxels).all()
        assert (volume.at_level(1).read() == reduce_voxels(voxels, (2, 2, 2), "mean")).all()
    with pellucid.convert(target, tmp_path / "back.npy") as back:
        assert (back.read() == voxels).all()
    whole = StopsAfter(-1, memory_bytes=LITTLE_MEMORY)
    pellucid.convert(tmp_path / "source.npy", s3.url(f"again/{name}"), engine=whole, **small).close()
    assert rest.finished == whole.finished - 3
