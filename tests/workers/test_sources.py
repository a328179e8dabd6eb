"""What a Worker reads: its queries and its renderers open a file once."""

import socket
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pellucid.formats.location import Location
from pellucid.formats.protocol import Reader
from pellucid.formats.registry import open_reader
from pellucid.rendering.first_view.volumes import automatic_scene
from pellucid.rendering.labels import Labels
from pellucid.rendering.scene import SliceLayer
from pellucid.volume import open_files
from pellucid.volume.sample_volume import sample
from pellucid.workers.channel import MessageChannel
from pellucid.workers.main import WorkerMain


def test_queries_and_renderers_of_a_worker_open_a_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def noted(location: Location) -> Reader:
        opened.append(str(location))
        return open_reader(location)

    monkeypatch.setattr(open_files, "open_reader", noted)
    source = str(tmp_path / "steps.npy")
    steps = np.stack([(sample(16) >> 8).astype(np.uint8), np.full((16, 16, 16), 7, np.uint8)])
    np.save(source, steps)
    here, there = socket.socketpair()
    with here, there:
        worker = WorkerMain(MessageChannel(here), "cpu")
        scene = automatic_scene(worker.sources.volume(source))
        labels = SliceLayer.across(source, "z", 3.0, labels=Labels())
        scene = replace(scene, volumes=(replace(scene.volumes[0], source=source),), slices=(labels,))
        for time in (0, 1):
            worker.drawing.renderers.of(scene).render(replace(scene, time=float(time)), 8, 8)
            np.testing.assert_array_equal(worker.sources.volume(source, time).read(), steps[time])
    assert opened == [source]
