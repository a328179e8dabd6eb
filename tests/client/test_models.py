"""PyTorch models that a viewer draws: from a module in Python to voxels that are drawn."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from torch import Tensor, nn

from pellucid.client.viewer import Viewer
from pellucid.errors import InvalidInput, PellucidError
from pellucid.formats.protocol import Voxels
from tests.waiting import TIMEOUT_S, wait_until

SHAPE = (20, 40, 36)
SOURCE = """
import time
import torch

class Bowl(torch.nn.Module):
    shape = (20, 40, 36)
    def forward(self, points):
        return (points ** 2).sum(dim=1)

class Hungry(Bowl):
    def forward(self, points):
        if len(points) > 3000:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return super().forward(points)

class Slow(Bowl):
    shape = (64, 64, 64)
    def forward(self, points):
        time.sleep(0.05)
        return super().forward(points)

class Crashing(Bowl):
    def forward(self, points):
        import os
        os.abort()

class Late(Bowl):
    shape = (80, 80, 80)
    calls = 0
    def forward(self, points):
        self.calls += 1
        return super().forward(points)[: 7 if self.calls > 40 else None]
"""


class Bowl(nn.Module):
    def forward(self, points: Tensor) -> Tensor:
        return (points**2).sum(dim=1)


@pytest.fixture
def model(tmp_path: Path) -> Callable[[str], str]:
    (tmp_path / "bowls.py").write_text(SOURCE)
    return lambda name: f"{tmp_path / 'bowls.py'}:{name}"


def bowl(shape: tuple[int, int, int]) -> Voxels:
    z, y, x = (np.linspace(-1, 1, n, dtype=np.float32) ** 2 for n in shape)
    return np.asarray(z[:, None, None] + y[:, None] + x)


def test_a_module_is_exported_and_drawn(viewer: Viewer) -> None:
    field = viewer.render_field(Bowl(), shape=SHAPE, spacing=(2.0, 1.0, 1.0))
    field.wait(TIMEOUT_S)
    assert field.layer == 0 and len(viewer.scene.volumes) == 1 and field.progress == 1.0
    np.testing.assert_allclose(viewer.retrieve_volume(), bowl(SHAPE), atol=1e-5)
    pixels = viewer.screenshot(64, 64)
    assert pixels[..., :3].max() > pixels[0, 0, :3].max()


def test_a_class_in_a_file_beside_another_layer(viewer: Viewer, model: Callable[[str], str]) -> None:
    field = viewer.render_field(model("Bowl"), how="add", batch=999)
    field.set_batch(5000)
    field.wait(TIMEOUT_S)
    assert field.layer == 1
    np.testing.assert_allclose(viewer.retrieve_volume(layer=1), bowl(SHAPE), atol=1e-5)


def test_memory_that_does_not_suffice_halves_the_batch(viewer: Viewer, model: Callable[[str], str]) -> None:
    field = viewer.render_field(model("Hungry"), batch=8192)
    field.wait(TIMEOUT_S)
    np.testing.assert_allclose(viewer.retrieve_volume(), bowl(SHAPE), atol=1e-5)


def test_what_cannot_be_drawn_says_why(viewer: Viewer, model: Callable[[str], str]) -> None:
    before = viewer.scene
    with pytest.raises(InvalidInput, match=r"bowls.py has no 'Cup'.*It has: Bowl, Hungry"):
        viewer.render_field(model("Cup"))
    with pytest.raises(InvalidInput, match="is not a PyTorch module"):
        viewer.render_field(np.zeros(3))
    with pytest.raises(PellucidError, match="while evaluating a model"):
        viewer.render_field(model("Crashing"))
    assert viewer.scene == before
    field = viewer.render_field(model("Bowl"))  # By another process.
    field.wait(TIMEOUT_S)


def test_an_error_while_it_is_evaluated_leaves_what_is_there(viewer: Viewer, model: Callable[[str], str]) -> None:
    field = viewer.render_field(model("Late"), batch=1024)
    with pytest.raises(PellucidError, match=r"returned \(7,\) for 1,024 points"):
        field.wait(TIMEOUT_S)


def test_a_field_is_stopped(viewer: Viewer, model: Callable[[str], str]) -> None:
    field = viewer.render_field(model("Slow"), batch=1024)
    with pytest.raises(InvalidInput, match="Another model is being evaluated"):
        viewer.render_field(model("Bowl"))
    field.stop()
    wait_until(lambda: not field.is_running)
    drafted = viewer.retrieve_volume()  # What was not evaluated lies between a few values that were.
    np.testing.assert_allclose(drafted, bowl((64, 64, 64)), atol=0.01)
