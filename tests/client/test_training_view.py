"""A training in a viewer: its preview beside the volume, its grids, then the field itself."""

from pathlib import Path

import numpy as np
import pytest

from pellucid.client.training_view import TrainingView
from pellucid.client.viewer import Viewer
from pellucid.neural.compression import CompressionOptions, compress
from pellucid.neural.training_watch import TrainingSnapshot, preview_shape, watching
from pellucid.volume.sample_volume import sample
from pellucid.volume.volume import open_volume

OPTIONS = CompressionOptions(size=9000, steps=200, batch=256, device="cpu", ghost=2)


@pytest.mark.parametrize("bricks", [None, (1, 1, 2)])
def test_a_training_is_shown_and_then_what_came_of_it(
    viewer: Viewer, tmp_path: Path, bricks: tuple[int, int, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pellucid.neural.training_watch.PERIOD_S", 0.0)
    monkeypatch.setattr("pellucid.neural.training_watch.MAX_SHARE", 1e9)
    np.save(tmp_path / "scan.npy", sample(24))
    taken: list[TrainingSnapshot] = []
    options = CompressionOptions(**{**vars(OPTIONS), "bricks": bricks})
    with open_volume(tmp_path / "scan.npy") as volume:
        shape = preview_shape(volume.shape)
        with TrainingView(viewer, volume, shape) as view:

            def show(snapshot: TrainingSnapshot) -> None:
                view.show(snapshot)
                taken.append(snapshot)

            with watching(show):
                compress(tmp_path / "scan.npy", tmp_path / "scan.plf", options)
            check_snapshots(taken, shape)
            preview = viewer.retrieve_volume()
            assert preview.shape == shape and np.isfinite(preview).all()
            view.finish(tmp_path / "scan.plf")
    assert viewer.scene.volumes[0].source.endswith("scan.plf")
    other = viewer._connection.ask("GET", "/api/scene")["other"]
    assert other["volumes"][0]["source"].endswith("scan.npy")
    viewer.compare(False)


def check_snapshots(taken: list[TrainingSnapshot], shape: tuple[int, int, int]) -> None:
    assert len(taken) >= 4 and all(len(one.grids) == 16 for one in taken)
    covered = np.zeros(shape, int)
    for one in taken:
        stop = [a + n for a, n in zip(one.start, one.values.shape, strict=True)]
        covered[tuple(slice(a, b) for a, b in zip(one.start, stop, strict=True))] += 1
    assert (covered > 0).all()
    assert taken[-1].psnr > taken[0].psnr
    corners = np.array(taken[0].grids)
    # Each covers about the volume, or about its half where it is that of a brick, ghost cells included.
    assert (np.abs(corners).max(axis=(0, 1)) < 1.6).all()
