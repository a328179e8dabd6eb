"""Training that was interrupted continues where it was, and gives what it would have given."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

import pellucid as pl
from pellucid import progress
from pellucid.cli.main import INTERRUPTED, main
from pellucid.errors import InvalidInput
from pellucid.neural import checkpoints
from pellucid.neural.checkpoints import fits, load_arrays, save_arrays
from pellucid.neural.compression import CompressionOptions, compress
from pellucid.neural.cuda_training import CudaTrainer
from pellucid.neural.models import make_network
from pellucid.neural.samples import VolumeSamples
from pellucid.neural.training import Training, TrainingOptions

OPTIONS = CompressionOptions(size=6000, steps=201, batch=64, device="cpu")


def ball(shape: tuple[int, int, int] = (12, 13, 14)) -> Any:
    z, y, x = np.meshgrid(*(np.linspace(-1, 1, n) for n in shape), indexing="ij")
    return np.exp(-3 * (x**2 + y**2 + z**2)).astype(np.float32)


@pytest.fixture(autouse=True)
def _saved_every_50_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "PERIOD_S", 0.0)
    monkeypatch.setattr(checkpoints, "MAX_SAVING_SHARE", 1e9)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    np.save(tmp_path / "a.npy", ball())
    return tmp_path / "a.npy"


class Recorder:
    """Progress of trainings as (name, done); interrupts once a training called ``name`` has done so many steps."""

    def __init__(self, name: str = "", at: int = 0) -> None:
        self.seen: list[tuple[str, int]] = []
        self._name, self._at = name, at

    def __call__(self, update: progress.Update) -> None:
        self.seen.append((update.name, update.done))
        if update.name == self._name and update.done >= self._at and not update.is_stopped:
            raise KeyboardInterrupt

    def first_step(self, name: str = "Training") -> int:
        return min(done for seen, done in self.seen if seen == name and done)


@pytest.fixture
def run(source: Path) -> Iterator[Callable[..., Recorder]]:
    def run(path: Path, options: CompressionOptions, name: str = "", at: int = 0) -> Recorder:
        recorder = Recorder(name, at)
        with progress.use(progress.Callbacks(recorder, interval_s=0.0)):
            if name:
                with pytest.raises(KeyboardInterrupt):
                    compress(source, path, options)
            else:
                compress(source, path, options)
        return recorder

    yield run


def read(path: Path | str) -> Any:
    with pl.open(path) as volume:
        return volume.read()


def test_a_resumed_training_gives_the_same_field(run: Callable[..., Recorder], tmp_path: Path) -> None:
    run(tmp_path / "whole.plf", OPTIONS)
    path = tmp_path / "cut.plf"
    run(path, OPTIONS, "Training", 101)
    assert not path.exists()
    assert (tmp_path / "cut.plf.partial" / "models" / "brick0.training.npz").exists()
    assert run(path, OPTIONS).first_step() == 151
    assert not (tmp_path / "cut.plf.partial").exists()
    assert np.array_equal(read(path), read(tmp_path / "whole.plf"))


def test_other_options_begin_anew(run: Callable[..., Recorder], source: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.plf"
    run(path, OPTIONS, "Training", 101)
    assert run(path, replace(OPTIONS, seed=1), "Training", 101).first_step() == 1
    np.save(source, ball() * 2)
    assert run(path, replace(OPTIONS, seed=1)).first_step() == 1
    assert read(path).max() > 1.5


def test_a_damaged_checkpoint_is_ignored(run: Callable[..., Recorder], tmp_path: Path) -> None:
    path = tmp_path / "a.plf"
    checkpoint = tmp_path / "a.plf.partial" / "models" / "brick0.training.npz"
    run(path, OPTIONS, "Training", 101)
    content = checkpoint.read_bytes()
    for damaged in (content[:-100], content[:300] + b"?" * 200 + content[500:], b""):
        checkpoint.write_bytes(damaged)
        assert run(path, OPTIONS, "Training", 51).first_step() == 1
    arrays = dict(load_arrays(checkpoint) or {})
    save_arrays(checkpoint, {**arrays, "network/weights.0": np.zeros((3, 3), np.float32)})
    assert run(path, OPTIONS).first_step() == 1


def test_finished_bricks_are_kept(run: Callable[..., Recorder], tmp_path: Path) -> None:
    options = replace(OPTIONS, size=12_000, bricks=(1, 1, 2), ghost=1, steps=60)
    path = tmp_path / "a.plf"
    run(path, options, "Training brick 2 of 2", 1)
    again = run(path, options)
    assert {name for name, _ in again.seen} == {"Training bricks", "Training brick 2 of 2"}
    assert again.seen[0] == ("Training bricks", 1)
    run(tmp_path / "whole.plf", options)
    assert np.array_equal(read(path), read(tmp_path / "whole.plf"))


def test_finished_time_steps_are_kept(run: Callable[..., Recorder], source: Path, tmp_path: Path) -> None:
    np.save(source, np.stack([ball(), 0.9 * ball(), 0.8 * ball()]))
    options = replace(OPTIONS, steps=60, model="pyramid")
    path = tmp_path / "a.plf"
    run(path, options, "Training step 3 of 3", 1)
    assert {name for name, _ in run(path, options).seen} == {"Training step 3 of 3"}
    run(tmp_path / "whole.plf", options)
    for t in range(3):
        assert np.array_equal(read(f"{path}:t={t}"), read(f"{tmp_path / 'whole.plf'}:t={t}"))


def test_a_search_continues(run: Callable[..., Recorder], tmp_path: Path) -> None:
    options = replace(OPTIONS, size=16_384, psnr=15.0, steps=60)
    path = tmp_path / "a.plf"
    run(path, options, "Training", 1)
    sizes = {folder.name for folder in (tmp_path / "a.plf.partial" / "models").iterdir()}
    assert sizes == {"16384"}
    run(path, options)
    assert path.exists()


def test_refused_work_leaves_nothing(source: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="differ by"):
        compress(source, tmp_path / "a.plf", replace(OPTIONS, steps=1, max_error=1e-9))
    assert sorted(tmp_path.iterdir()) == [source]


def test_the_command_says_how_to_continue(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pellucid.neural.fitting.train", interrupted)
    assert main(["compress", str(source), "-o", str(tmp_path / "a.plf"), "--size", "6kB"]) == INTERRUPTED
    assert "Run the same command again to continue." in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == [source]


class StillStream:
    def wait_stream(self, other: object) -> None: ...

    def synchronize(self) -> None: ...


class StillTrainer(CudaTrainer):
    """What a trainer on a GPU keeps, on the CPU: nothing is launched."""

    def _compile(self, at_voxels: bool) -> None: ...

    def _launch(self, name: str, blocks: int | tuple[int, int], threads: int, *arguments: Any, shared: int = 0) -> None:
        self.launched = name


def still_trainer(model: str = "adaptive", seed: int = 0) -> StillTrainer:
    samples = VolumeSamples(torch.from_numpy(ball()), (0.0, 1.0))
    network = make_network(model, 1 << 15, (12, 13, 14), seed=seed)
    return StillTrainer(network, samples, TrainingOptions(batch=128, rounding=0.1), at_voxels=True)


def test_the_state_of_a_training_on_a_gpu_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "Stream", lambda device: StillStream())
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: StillStream())
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: nullcontext())
    first, second = still_trainer(), still_trainer(seed=1)
    for number, tensor in enumerate(first._saved().values()):
        if tensor.dtype != torch.uint8:
            tensor.copy_((torch.arange(tensor.numel()) % 100 + number).reshape(tensor.shape))
    first._start_rounding()
    save_arrays(tmp_path / "a.npz", first.arrays(Training(250, 2.5, [0.1]), 2.5))
    arrays = load_arrays(tmp_path / "a.npz") or {}
    assert arrays["progress"].tolist() == [250, 2.5]
    assert second.restore(arrays)
    assert second.rounding_steps == first.rounding_steps
    assert second.launched == "pack", "cells follow from nodes"
    for name, tensor in second._saved().items():
        assert torch.equal(tensor, first._saved()[name]), name
    grids = arrays["cuda/grids"].copy()
    grids[48] ^= 1  # The first number after a transform.
    damaged = [{**arrays, "cuda/grids": grids}, {**arrays, "rounding_steps": np.zeros(3)}, {}]
    damaged += [{name: array for name, array in arrays.items() if name != left_out} for left_out in arrays]
    assert not any(still_trainer().restore(one) for one in damaged)
    assert not still_trainer("pyramid").restore(arrays)


def test_arrays_that_do_not_fit() -> None:
    like = {"a": np.zeros((2, 3), np.float32)}
    assert fits({"a": np.ones((2, 3), np.float32)}, like)
    for other in ({}, {"a": np.ones((2, 3))}, {"a": np.full((2, 3), np.nan, np.float32)}, {"b": like["a"]}):
        assert not fits(other, like)
