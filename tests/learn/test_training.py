"""The training loop: the same result whatever interrupts it, and whatever shares it."""

import multiprocessing
import signal
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pellucid.engines.engine import EngineOptions, make_engine
from pellucid.engines.serial import SerialEngine
from pellucid.engines.task import BlockResult, TaskContext
from pellucid.errors import InvalidInput
from pellucid.jobs.resources import Resources
from pellucid.learn.training.averaging import AveragedNetwork
from pellucid.learn.training.batches import Batches
from pellucid.learn.training.curve import read_curve
from pellucid.learn.training.devices import to_channels_last
from pellucid.learn.training.event_files import EventFile, crc32c
from pellucid.learn.training.loop import TrainingLoop, convolutions_for
from pellucid.learn.training.objective import Batch
from pellucid.learn.training.options import LearningControl, LearningOptions
from pellucid.learn.training.replicas import Replicas
from pellucid.learn.training.running import run_training, train_on, training_device
from pellucid.learn.training.state_folder import TrainingFolder
from pellucid.learn.training.uploads import uploaded
from pellucid.neural import checkpoints
from tests.learn.small_training import OPTIONS, SmallJob, SmallObjective, Waves

CONTROL = LearningControl("cpu", threads=1)


@pytest.fixture(autouse=True)
def _saved_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "PERIOD_S", 0.0)
    monkeypatch.setattr(checkpoints, "MAX_SAVING_SHARE", 1e9)


def trained(folder: Path, job: SmallJob | None = None, control: LearningControl = CONTROL) -> dict[str, Any]:
    """What is exported, by name; nothing where the training is not complete."""
    reached = run_training(job or SmallJob(), folder / "training", folder / "out", control)
    if not reached.is_complete:
        return {}
    with np.load(folder / "out" / "weights.npz") as file:
        return {name: file[name] for name in file.files}


def assert_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one.keys() == other.keys() and one
    for name, array in one.items():
        np.testing.assert_array_equal(array, other[name], err_msg=name)


def curve_of(folder: Path) -> Any:
    curve = TrainingFolder(folder / "training").curve
    assert curve is not None
    return curve.losses, curve.validations


@pytest.mark.parametrize("optimiser", ["adam", "sgd"])
@pytest.mark.parametrize("die_at", [1, 17])
def test_a_killed_training_continues_bit_by_bit(tmp_path: Path, optimiser: str, die_at: int) -> None:
    job = SmallJob(replace(OPTIONS, optimiser=optimiser, seed=7))
    whole = trained(tmp_path / "whole", job)
    process = multiprocessing.get_context("fork").Process(
        target=trained, args=(tmp_path / "cut", replace(job, die_at=die_at))
    )
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert not (tmp_path / "cut" / "out").exists()
    assert_same(trained(tmp_path / "cut", job), whole)
    assert curve_of(tmp_path / "cut") == curve_of(tmp_path / "whole")


class AdversarialObjective(SmallObjective):
    """Two parts, the second of which learns from what the first one made. sizes: samples computed at a time."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.parts = {
            "network": torch.nn.Sequential(torch.nn.Conv2d(2, 8, 1), torch.nn.ReLU(), torch.nn.Conv2d(8, 1, 1)),
            "judge": torch.nn.Conv2d(1, 1, 3),
        }
        self.sizes: list[int] = []

    def losses(self, batch: Batch) -> Iterator[tuple[str, torch.Tensor]]:
        points, truth = batch
        self.sizes.append(len(points))
        made, judge = self.parts["network"](points), self.parts["judge"]
        yield "network", torch.nn.functional.mse_loss(made, truth) - 0.1 * judge(made).mean()
        yield "judge", (judge(made.detach()) - judge(truth)).square().mean()


@pytest.mark.parametrize("parts", [2, 3, 6])
def test_a_batch_in_parts_teaches_the_same(parts: int) -> None:
    found = {}
    for accumulation in (1, parts):
        objective = AdversarialObjective()
        options = LearningOptions(steps=5, batch=6, epoch_steps=5, warmup=1, rate=0.02, accumulation=accumulation)
        loop = TrainingLoop(objective, options, "cpu", Replicas())
        batches = Batches(objective.samples, options, Replicas())
        losses = [{k: float(v) for k, v in loop.step(batches.make(step)).items()} for step in range(5)]
        assert set(objective.sizes) == {6 // accumulation}
        found[accumulation] = (
            losses,
            [one.detach().clone() for part in objective.parts.values() for one in part.parameters()],
        )
    assert found[1][0][0] != found[1][0][4]
    for one, other in zip(found[1][0], found[parts][0], strict=True):
        assert one == pytest.approx(other, rel=1e-4)
    for one, other in zip(found[1][1], found[parts][1], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_a_batch_that_cannot_be_divided_is_refused() -> None:
    with pytest.raises(InvalidInput, match="A batch of 4 cannot be divided into 3 parts"):
        LearningOptions(batch=4, accumulation=3)


@pytest.mark.parametrize(
    ("device", "edge", "is_tried"), [("cuda", 512, True), ("cuda:1", 2216, False), ("cpu", 64, False)]
)
def test_algorithms_are_tried_for_small_batches_only(device: str, edge: int, is_tried: bool) -> None:
    """With large ones, what is tried takes more memory than the training."""
    batch = (torch.empty(1).expand(1, 11, edge, edge),)
    with convolutions_for(batch, device):
        assert torch.backends.cudnn.benchmark == is_tried
    assert not torch.backends.cudnn.benchmark


def test_a_time_limit_pauses_and_the_next_run_continues(tmp_path: Path) -> None:
    whole, runs = trained(tmp_path / "whole"), 0
    limited = replace(CONTROL, time_limit_s=1e-9)
    while not (found := trained(tmp_path / "cut", control=limited)):
        runs += 1
        assert (tmp_path / "cut" / "training" / "state.json").read_text().startswith('{"state": "paused"')
    assert runs == OPTIONS.steps - 1
    assert_same(found, whole)


def test_a_requested_stop_keeps_the_network(tmp_path: Path) -> None:
    folder = TrainingFolder(tmp_path / "training")
    folder.path.mkdir()
    with pytest.raises(InvalidInput, match="The training is not running"):
        folder.request_stop()
    folder.write_state("running")
    assert folder.can_stop
    folder.request_stop()
    assert not folder.can_stop
    assert trained(tmp_path)
    (losses, _), curve = curve_of(tmp_path), folder.curve
    assert [point["step"] for point in losses] == [1]
    assert curve is not None and curve.steps == OPTIONS.steps


def test_a_checkpoint_of_another_network_is_not_used(tmp_path: Path) -> None:
    trained(tmp_path)
    loop = TrainingLoop(SmallObjective(), OPTIONS, "cpu", Replicas())
    arrays = dict(checkpoints.load_arrays(tmp_path / "training" / "checkpoint.npz") or {})
    assert loop.restore(arrays)
    assert not loop.restore({**arrays, "part/network/0.weight": np.zeros((3, 3), np.float32)})
    assert not loop.restore({name: array for name, array in arrays.items() if not name.startswith("average/")})


def test_seeds_change_the_result_and_nothing_else_does(tmp_path: Path) -> None:
    first = trained(tmp_path / "a")
    assert_same(trained(tmp_path / "b", control=replace(CONTROL, loaders=5)), first)
    other = trained(tmp_path / "c", SmallJob(replace(OPTIONS, seed=1)))
    assert not np.array_equal(other["0.weight"], first["0.weight"])


def test_any_engine_gives_the_same(tmp_path: Path) -> None:
    engine = make_engine("processes", EngineOptions(1, 2**31))
    train_on(engine, SmallJob(), tmp_path / "training", tmp_path / "out", CONTROL)
    with np.load(tmp_path / "out" / "weights.npz") as file:
        assert_same({name: file[name] for name in file.files}, trained(tmp_path / "here"))


class GpuWorker(SerialEngine):
    """An engine whose worker has a GPU; the CPU stands for it."""

    def capacity(self) -> Resources:
        return replace(super().capacity(), gpus=1)

    def run(self, task: Any, blocks: Any, cancel: Any) -> Any:
        (block,) = blocks
        self.gpus = task.needs(block).gpus
        with task.open(TaskContext("cpu", 1, 2**30)) as work:
            yield BlockResult(block.index, work(block))


@pytest.mark.parametrize(("device", "gpus"), [("auto", 1), ("cuda", 1), ("cpu", 0)])
def test_a_worker_with_a_gpu_trains_on_it(device: str, gpus: int, tmp_path: Path) -> None:
    """Also where the program that starts it has none."""
    engine, control = GpuWorker(EngineOptions(1, 2**31)), replace(CONTROL, device=device)
    assert training_device(engine, control) == ("cuda" if gpus else "cpu")
    train_on(engine, SmallJob(), tmp_path / "training", tmp_path / "out", control)
    assert engine.gpus == gpus
    with np.load(tmp_path / "out" / "weights.npz") as file:
        assert_same({name: file[name] for name in file.files}, trained(tmp_path / "here"))


def test_two_processes_train_the_same_network(tmp_path: Path) -> None:
    """Without batch statistics, which differ, the gradients of two halves of a batch have the mean of the whole."""
    together = trained(tmp_path / "two", control=replace(CONTROL, gpus=2))
    alone = trained(tmp_path / "one")
    for name in ("3.weight", "3.bias"):
        np.testing.assert_allclose(together[name], alone[name], atol=0.02)
    (losses, _), (expected, _) = curve_of(tmp_path / "two"), curve_of(tmp_path / "one")
    assert len(losses) == len(expected) == OPTIONS.steps


def test_replicas_share_a_batch() -> None:
    whole = Batches(Waves(), OPTIONS, Replicas()).make(3)
    halves = [Batches(Waves(), OPTIONS, Replicas(rank, 2)).make(3) for rank in range(2)]
    for number, tensor in enumerate(whole):
        assert torch.equal(tensor[0::2], halves[0][number]) and torch.equal(tensor[1::2], halves[1][number])
    with pytest.raises(InvalidInput, match="cannot be divided among 3 GPUs"):
        TrainingLoop(SmallObjective(), OPTIONS, "cpu", Replicas(0, 3))


def test_batches_come_in_order_from_any_step() -> None:
    batches = Batches(Waves(), OPTIONS, Replicas())
    with batches.from_step(12, loaders=3) as made:
        found = list(made)
    assert len(found) == OPTIONS.steps - 12
    for step, batch in enumerate(found, start=12):
        assert torch.equal(batch[0], batches.make(step)[0])


def test_losses_that_are_not_finite_end_it(tmp_path: Path) -> None:
    from pellucid.learn.training.loop import train

    with pytest.raises(InvalidInput, match="diverged"):
        train(SmallObjective(diverge_at=4), OPTIONS, TrainingFolder(tmp_path), CONTROL)


def test_averages_are_those_of_the_formula() -> None:
    network = torch.nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        network.weight.fill_(0.0)
    average, expected = AveragedNetwork(network, 0.5), 0.0
    for step in range(6):
        with torch.no_grad():
            network.weight.fill_(float(step))
        average.update(step)
        decay = min(0.5, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * step
    assert float(average.network.weight) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"steps": 0}, "Invalid steps: 0"),
        ({"rate": float("nan")}, "Invalid rate: nan"),
        ({"averaging": 1.0}, "Invalid averaging: 1.0"),
        ({"optimiser": "adagrad"}, "Unknown optimiser 'adagrad'"),
    ],
)
def test_bad_options_are_refused(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(InvalidInput, match=text):
        LearningOptions(**changes)


def test_event_files_have_what_was_added(tmp_path: Path) -> None:
    file = EventFile(tmp_path, 5)
    file.add_numbers(7, {"loss": 0.25, "validation/error": -1.5})
    file.add_images(7, {"after": np.full((2, 3), 9, np.uint8)})
    file.close()
    (path,) = tmp_path.iterdir()
    assert path.name.startswith("events.out.tfevents.")
    version, start, numbers, images = [fields_of(event) for event in records_of(path.read_bytes())]
    assert version[3] == [b"brain.Event:2"]
    assert start[2] == [5] and fields_of(start[7][0]) == {1: [1]}
    values = [fields_of(value) for value in fields_of(numbers[5][0])[1]]
    assert numbers[2] == [7] and [value[1] for value in values] == [[b"loss"], [b"validation/error"]]
    assert [struct.unpack("<f", value[2][0]) for value in values] == [(0.25,), (-1.5,)]
    image = fields_of(fields_of(fields_of(images[5][0])[1][0])[4][0])
    assert (image[1], image[2], image[3]) == ([2], [3], [1]) and image[4][0].startswith(b"\x89PNG")


def records_of(content: bytes) -> list[bytes]:
    """The records of a file in TensorFlow's format, with their checksums checked."""
    found, at = [], 0
    while at < len(content):
        (length,) = struct.unpack("<Q", content[at : at + 8])
        record = content[at + 12 : at + 12 + length]
        for part, place in ((content[at : at + 8], at + 8), (record, at + 12 + length)):
            (masked,) = struct.unpack("<I", content[place : place + 4])
            rotated = (masked - 0xA282EAD8) & 0xFFFFFFFF
            assert (rotated >> 17 | rotated << 15) & 0xFFFFFFFF == crc32c(part)
        found.append(record)
        at += 16 + length
    return found


def fields_of(message: bytes) -> dict[int, list[Any]]:
    """The fields of a protocol buffer, by number."""
    found: dict[int, list[Any]] = {}
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        tag = varint()
        length = {0: 0, 1: 8, 5: 4}.get(tag & 7)
        if length == 0:
            found.setdefault(tag >> 3, []).append(varint())
            continue
        length = varint() if length is None else length
        found.setdefault(tag >> 3, []).append(message[at : at + length])
        at += length
    return found


def test_a_curve_that_is_being_written_is_none(tmp_path: Path) -> None:
    (tmp_path / "curve.json").write_text('{"steps": 3, "losses"')
    assert read_curve(tmp_path / "curve.json") is None
    assert read_curve(tmp_path / "absent.json") is None


def test_channels_last_changes_the_order_in_memory_alone() -> None:
    network = torch.nn.Sequential(torch.nn.Conv3d(2, 4, 3), torch.nn.Conv3d(4, 3, 3))
    points = torch.rand(1, 2, 8, 8, 8)
    expected = network(points)
    to_channels_last(network)
    assert network[1].weight.stride() == (108, 1, 36, 12, 4)
    assert torch.allclose(network(to_channels_last(points)), expected, atol=1e-5)
    assert to_channels_last(torch.rand(3, 4)).shape == (3, 4)


def test_restored_moments_lie_in_memory_as_their_weights_do() -> None:
    """A fused optimiser refuses others."""

    def loop() -> TrainingLoop:
        objective = SmallObjective()
        objective.parts["network"] = torch.nn.Sequential(torch.nn.Conv2d(2, 4, 3, padding=1), torch.nn.Conv2d(4, 1, 1))
        made = TrainingLoop(objective, OPTIONS, "cpu", Replicas())
        to_channels_last(objective.parts["network"])
        return made

    first, second = loop(), loop()
    first.step(Batches(Waves(), OPTIONS, Replicas()).make(0))
    assert second.restore(first.arrays())
    weight = second.objective.parts["network"][0].weight
    moment = second._optimisers["network"].state[weight]["exp_avg"]
    assert moment.stride() == weight.stride() == (18, 1, 6, 2)
    of_first = first._optimisers["network"].state[first.objective.parts["network"][0].weight]
    assert torch.equal(moment, of_first["exp_avg"]) and moment.abs().max() > 0


def test_batches_reach_the_device_in_order() -> None:
    batches = [(torch.full((2,), float(n)), torch.tensor([n])) for n in range(4)]
    assert [int(two[0]) for _, two in uploaded(iter(batches), "cpu")] == [0, 1, 2, 3]
