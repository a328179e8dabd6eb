"""Users' PyTorch modules: loaded from files, exported, called in batches."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pellucid.box import Box
from pellucid.errors import InvalidInput, NotFound
from pellucid.neural.modules.evaluation import ModuleValues
from pellucid.neural.modules.exported import export_module
from pellucid.neural.modules.loading import LoadedModule, load_module

CPU = torch.device("cpu")
SHAPE = (5, 6, 7)
SOURCE = """
import torch
from neighbour import SCALE

class Ramp(torch.nn.Module):
    shape = (5, 6, 7)
    def __init__(self, scale=SCALE):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor(scale))
    def forward(self, points):
        return self.scale * (points[:, 2:] * 100 + points[:, 1:2] * 10 + points[:, :1])

class NeedsWidth(torch.nn.Module):
    def __init__(self, width): super().__init__()

class Extents(torch.nn.Module):
    def get_volume_extents(self): return [3, 4, 5]
    def forward(self, points): return points[:, 0]

def made(): return Ramp(3.0)
def plain(points): return points[:, 0]
def fails(): raise RuntimeError("no weights")
"""


class Ramp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, points: Tensor) -> Tensor:
        return self.scale * (points[:, 2:] * 100 + points[:, 1:2] * 10 + points[:, :1])


@pytest.fixture(autouse=True)
def own_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """What loading adds to the path is for the process of a model."""
    monkeypatch.setattr("sys.path", list(sys.path))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "neighbour.py").write_text("SCALE = 2.0\n")
    (tmp_path / "fields_of_mine.py").write_text(SOURCE)
    return tmp_path / "fields_of_mine.py"


def expected(scale: float) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
    z, y, x = (np.linspace(-1, 1, n, dtype=np.float32) for n in SHAPE)
    return np.asarray(scale * (100 * z[:, None, None] + 10 * y[:, None] + x), np.float32)


@pytest.mark.parametrize(("name", "scale"), [("Ramp", 2.0), ("made", 3.0)])
def test_values_are_those_at_the_voxels(file: Path, name: str, scale: float) -> None:
    module = load_module(file, name, CPU)
    values = ModuleValues(module, SHAPE, CPU, batch=16)
    assert module.shape == SHAPE and module.name == f"fields_of_mine.py:{name}"
    np.testing.assert_allclose(values.read(Box.whole(SHAPE)), expected(scale), atol=1e-4)
    part = Box((1, 2, 3), (4, 6, 7))
    np.testing.assert_allclose(values.read(part), expected(scale)[part.slices], atol=1e-4)


def test_a_function_of_points_and_stated_extents(file: Path) -> None:
    plain = load_module(file, "plain", CPU)
    assert plain.shape is None and plain.evaluate(torch.ones(3, 3)).tolist() == [1, 1, 1]
    assert load_module(file, "Extents", CPU).shape == (3, 4, 5)


def test_a_draft_is_exact_where_the_module_is_linear(file: Path) -> None:
    shape = (70, 40, 33)
    values, out = ModuleValues(load_module(file, "Ramp", CPU), shape, CPU, 4096), np.zeros(shape, np.float32)
    values.draft(out)
    np.testing.assert_allclose(out, values.read(Box.whole(shape)), atol=2e-4)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("NeedsWidth", "needs arguments: width"),
        ("fails", r"RuntimeError: no weights \(line 22 of fields_of_mine.py\)"),
        ("Missing", "has no 'Missing'.*It has: Ramp, NeedsWidth, Extents"),
        ("SCALE", "is not a module"),
        ("", "does not name a module"),
    ],
)
def test_what_cannot_be_loaded_says_why(file: Path, name: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        load_module(file, name, CPU)


def test_a_file_with_an_error_names_its_line(tmp_path: Path) -> None:
    (tmp_path / "broken_field.py").write_text("x = 1\nclass Model(:\n")
    with pytest.raises(InvalidInput, match=r"SyntaxError.*line 2 of broken_field.py"):
        load_module(tmp_path / "broken_field.py", "Model", CPU)
    with pytest.raises(NotFound):
        load_module(tmp_path / "absent.py", "Model", CPU)


def test_a_file_may_have_the_name_of_a_library(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("def field(points): return points[:, 0]\n")
    assert load_module(tmp_path / "numpy.py", "field", CPU).evaluate(torch.ones(2, 3)).tolist() == [1, 1]
    assert np.zeros(1).size == 1 and importlib.import_module("numpy") is np


def test_an_exported_module_needs_no_class(tmp_path: Path) -> None:
    path = tmp_path / "model.pt2"
    path.write_bytes(export_module(Ramp(), SHAPE))
    module = load_module(path, "", CPU)
    assert module.shape == SHAPE
    np.testing.assert_allclose(ModuleValues(module, SHAPE, CPU, 7).read(Box.whole(SHAPE)), expected(2.0), atol=1e-4)
    path.write_bytes(b"no program")
    with pytest.raises(InvalidInput, match="could not be read as an exported module"):
        load_module(path, "", CPU)


def test_the_batch_is_halved_until_memory_suffices() -> None:
    counts: list[int] = []

    def hungry(points: Tensor) -> Tensor:
        counts.append(len(points))
        if len(points) > 1000:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return points[:, 0]

    halved: list[int] = []
    values = ModuleValues(LoadedModule("m", hungry), (20, 20, 20), CPU, 5000, on_halved=halved.append)
    found = values.read(Box.whole((20, 20, 20)))
    assert halved == [2500, 1250, 625] and values.batch == 625 and max(counts[3:]) == 625
    np.testing.assert_allclose(found[3, 4], np.linspace(-1, 1, 20), atol=1e-6)


def test_too_little_memory_for_any_batch_is_an_error() -> None:
    def never(points: Tensor) -> Tensor:
        raise MemoryError

    with pytest.raises(InvalidInput, match="needs more memory than there is, even for 312 points"):
        ModuleValues(LoadedModule("m", never), (20, 20, 20), CPU, 5000).read(Box.whole((20, 20, 20)))


def test_a_module_that_returns_something_else_is_refused() -> None:
    three = ModuleValues(LoadedModule("m", lambda points: points), (4, 4, 4), CPU, 64)
    with pytest.raises(InvalidInput, match=r"m returned \(64, 3\) for 64 points"):
        three.read(Box.whole((4, 4, 4)))

    def wrong(points: Tensor) -> Tensor:
        return points @ torch.ones(2)

    with pytest.raises(InvalidInput, match="m failed at 64 points: RuntimeError"):
        ModuleValues(LoadedModule("m", wrong), (4, 4, 4), CPU, 64).read(Box.whole((4, 4, 4)))
