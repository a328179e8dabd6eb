"""Segmentation: what is learnt of labels, samples that are turned as a whole, and from labels to objects."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pellucid.box import Box
from pellucid.cli.main import main
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.infer.loading import load_network
from pellucid.learn.quality.rand_error import adapted_rand_error
from pellucid.learn.segment.objective import SegmentObjective, SegmentTraining
from pellucid.learn.segment.options import SegmentOptions
from pellucid.learn.segment.samples import LabelledSamples
from pellucid.learn.segment.targets import REACHES, boundaries, boundary_loss, class_loss
from pellucid.learn.segment.training import SegmentRequest, plan_training, train_segmentation
from pellucid.learn.training.options import LearningControl, LearningOptions
from pellucid.settings import load, use
from pellucid.volume.volume import Volume, open_volume
from tests.infer.test_objects import cells

LEARNING = LearningOptions(steps=6, batch=2, epoch_steps=3, warmup=1)
CONTROL = LearningControl("cpu", threads=1)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with use(load(cache_folder=tmp_path_factory.getbasetemp() / "networks", threads=1)):
        yield


def test_boundaries_are_between_voxels_that_differ() -> None:
    labels = np.random.default_rng(0).integers(0, 3, (2, 5, 6, 11))
    target, known = (one.numpy() for one in boundaries(torch.from_numpy(labels), 0, None))
    for channel, reach in enumerate(REACHES):
        axis = channel % 3
        for place in np.ndindex(*labels.shape):
            before = list(place)
            before[1 + axis] -= reach
            if before[1 + axis] < 0:
                assert not known[place[0], channel, *place[1:]]
                continue
            here, there = labels[place], labels[tuple(before)]
            assert known[place[0], channel, *place[1:]] == (here != 0 and there != 0)
            assert target[place[0], channel, *place[1:]] == (here != there)


def test_voxels_of_the_boundary_label_are_boundaries() -> None:
    labels = torch.tensor([[[[1, 1, 5, 5, 1]]]])
    target, known = boundaries(labels, None, 5)
    assert target[0, 2, 0, 0].tolist() == [0, 0, 1, 1, 1] and known[0, 2, 0, 0].tolist() == [0, 1, 1, 1, 1]


def test_voxels_that_are_ignored_do_not_count() -> None:
    random = np.random.default_rng(0)
    labels = torch.from_numpy(random.integers(0, 3, (1, 3, 4, 5)))
    logits = torch.from_numpy(random.standard_normal((1, 3, 3, 4, 5)).astype(np.float32))
    probabilities = logits.softmax(1)
    expected = [
        -np.log(probabilities[0, labels[place], *place[1:]])
        for place in np.ndindex(*labels.shape)
        if labels[place] != 2
    ]
    assert float(class_loss(logits, labels, 2)) == pytest.approx(float(np.mean(expected)), rel=1e-5)
    assert float(class_loss(logits, torch.full_like(labels, 2), 2)) == 0
    many = torch.zeros(1, len(REACHES), 3, 4, 5)
    assert float(boundary_loss(many, labels, None, None)) == pytest.approx(np.log(2), rel=1e-5)
    assert float(boundary_loss(many, torch.zeros_like(labels), 0, None)) == 0


@pytest.mark.parametrize(
    ("patch", "neighbours", "isotropic"), [((8, 8, 8), 0, True), ((4, 8, 6), 0, False), ((1, 8, 8), 2, False)]
)
def test_labels_are_turned_with_their_voxels(patch: Any, neighbours: int, isotropic: bool) -> None:
    """A volume whose labels are its values: they stay that way, up to gain, shift and noise."""
    values = np.arange(12 * 12 * 12, dtype=np.float32).reshape(12, 12, 12)
    volume, labels = Volume.from_array(values), Volume.from_array(values.astype(np.int32))
    samples = LabelledSamples(volume, labels, volume.box, patch, neighbours, 0.0, 1.0, None, isotropic)
    seen = set()
    for number in range(12):
        voxels, found = samples.draw(number, np.random.default_rng(number))
        centre = voxels[neighbours]
        assert found.shape == centre.shape
        slope, shift = np.polyfit(found.ravel().astype(float), centre.ravel(), 1)
        assert np.abs(centre - slope * found - shift).max() < 4
        steps = [float(np.diff(found, axis=axis).ravel()[0]) if found.shape[axis] > 1 else 0 for axis in range(3)]
        seen.add(tuple(steps))
        if neighbours:
            assert np.allclose(abs(np.diff(voxels[:, 0], axis=0)).mean(), 144 * abs(slope), rtol=0.05)
    assert len(seen) >= 3


def test_patches_without_labels_are_drawn_again() -> None:
    labels = np.zeros((4, 40, 40), np.uint8)
    labels[:, :4, :4] = 1
    volume = Volume.from_array(np.zeros((4, 40, 40), np.float32))
    samples = LabelledSamples(volume, Volume.from_array(labels), volume.box, (4, 16, 16), 0, 0.0, 1.0, 0)
    drawn = [samples.draw(n, np.random.default_rng(n))[1].any() for n in range(20)]
    assert np.mean(drawn) > 0.4


def test_rand_error_is_that_of_all_pairs() -> None:
    random = np.random.default_rng(0)
    truth, found = random.integers(0, 4, 60), random.integers(0, 5, 60)
    kept = truth != 0
    true = [(i, j) for i in np.flatnonzero(kept) for j in np.flatnonzero(kept) if truth[i] == truth[j]]
    made = [(i, j) for i in np.flatnonzero(kept) for j in np.flatnonzero(kept) if found[i] == found[j]]
    both = set(true) & set(made)
    precision, recall = len(both) / len(made), len(both) / len(true)
    result = adapted_rand_error(truth, found)
    assert (result.precision, result.recall) == pytest.approx((precision, recall))
    assert result.error == pytest.approx(1 - 2 * precision * recall / (precision + recall))
    assert adapted_rand_error(truth, found, both=True).error != result.error
    assert adapted_rand_error(truth, 7 * truth + 1).error == 0


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Cells with dark boundaries and noise, and the number of the cell of every voxel."""
    truth, boundary = cells((32, 40, 40), 12)
    folder = tmp_path_factory.mktemp("labelled")
    noise = 0.2 * np.random.default_rng(0).standard_normal(truth.shape)
    np.save(folder / "a.npy", (100 * (1 - boundary + noise)).astype(np.float32))
    np.save(folder / "b.npy", truth.astype(np.uint16))
    return folder / "a.npy", folder / "b.npy"


def request_for(labelled: tuple[Path, Path], output: Path, **changes: Any) -> SegmentRequest:
    options = SegmentOptions(width=2, depth=1, patch=(8, 16, 16), learning=LEARNING)
    return SegmentRequest(str(labelled[0]), str(labelled[1]), output, None, replace(options, **changes))


@pytest.mark.parametrize("kind", ["2d", "2.5d", "3d"])
@pytest.mark.parametrize("target", ["boundaries", "classes"])
def test_every_kind_is_trained_and_loaded(kind: str, target: str, labelled: tuple[Path, Path], tmp_path: Path) -> None:
    changes = {"kind": kind, "target": target, "patch": (8, 16, 16) if kind == "3d" else (1, 16, 16)}
    reached = train_segmentation(request_for(labelled, tmp_path / "net", **changes), CONTROL)
    assert [point["step"] for point in reached.curve.validations] == [3, 6]
    network = load_network(tmp_path / "net")
    assert network.kind == kind.upper() and network.output_channels == (3 if target == "boundaries" else 13)
    assert network.ends_in_probability and network.fixed_window is None
    report = json.loads((tmp_path / "net" / "report.json").read_text())
    assert report["options"]["kind"] == kind and len(report["curve"]["losses"]) == 6
    assert (tmp_path / "net" / "report.png").stat().st_size > 3000
    assert not (tmp_path / "net.partial").exists()


def test_a_network_learns_boundaries(labelled: tuple[Path, Path], tmp_path: Path) -> None:
    learning = LearningOptions(90, 2, 45, rate=0.01, warmup=5, averaging=0.9)
    request = request_for(labelled, tmp_path / "net", width=4, patch=(8, 24, 24), learning=learning)
    curve = train_segmentation(request, CONTROL).curve
    labels = np.load(labelled[1])
    shares = [np.mean(np.diff(labels, axis=axis) != 0) for axis in range(3)]
    chance = -np.mean([p * np.log(p) + (1 - p) * np.log(1 - p) for p in shares])
    target = tmp_path / "b.zarr"
    assert main(["apply", str(labelled[0]), "--network", str(tmp_path / "net"), "-o", str(target), "--channel", "2",
                 "--no-check", "--quiet"]) == 0  # fmt: skip
    with open_volume(target) as volume:
        found = volume.read()[:, :, 1:].clip(1e-6, 1 - 1e-6)
    truth = np.diff(labels, axis=2) != 0
    entropy = -np.mean(np.where(truth, np.log(found), np.log(1 - found)))
    assert entropy < 0.8 * chance and curve.validations[-1]["error"] < curve.validations[0]["error"]


def test_the_command_goes_from_labels_to_objects(labelled: tuple[Path, Path], tmp_path: Path, capsys: Any) -> None:
    command = [
        "train", "segment", "--volume", str(labelled[0]), "--labels", str(labelled[1]), "-o", str(tmp_path / "net"),
        "--width", "2", "--patch", "8,16,16", "--steps", "4", "--batch", "1", "--epoch-steps", "2", "--threads", "1",
        "--device", "cpu", "--quiet",
    ]  # fmt: skip
    assert main([*command, "--time-limit", "0.000001"]) == 75
    assert main([*command, "--engine", "serial"]) == 0
    assert "held-out part: error" in capsys.readouterr().out
    assert main(["segment", str(labelled[0]), "--network", str(tmp_path / "net"), "-o", str(tmp_path / "o.n5"),
                 "--objects", "--no-check", "--quiet"]) == 0  # fmt: skip
    assert main(command) == 1
    assert "exists" in capsys.readouterr().err
    assert main([*command, "--overwrite"]) == 0


def test_a_part_is_held_out(labelled: tuple[Path, Path], tmp_path: Path) -> None:
    job = plan_training(request_for(labelled, tmp_path / "net"), "cpu")
    assert isinstance(job, SegmentTraining)
    with open_volume(job.volume) as volume, open_volume(job.labels) as labels:
        objective = SegmentObjective(volume, labels, job, "cpu")
        learnt = objective.samples.box
        places = objective._starts()
    assert learnt == Box((0, 0, 0), (24, 40, 40)) and all(start[0] >= 24 for start in places)
    assert volume.box.contains(learnt)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"kind": "4d"}, "Unknown kind '4d'"),
        ({"target": "edges"}, "Unknown target 'edges'"),
        ({"held_out": 0.9}, "0.9 held out"),
    ],
)
def test_bad_options_are_refused(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(InvalidInput, match=text):
        SegmentOptions(**changes)


def write(path: Path, voxels: Voxels) -> str:
    np.save(path, voxels)
    return str(path)


def test_labels_that_do_not_fit_are_refused(labelled: tuple[Path, Path], tmp_path: Path) -> None:
    request = request_for(labelled, tmp_path / "net")
    for labels, text in (
        (np.zeros((3, 4, 5), np.uint8), "and the labels"),
        (np.zeros((32, 40, 40), np.float32), "float32, not whole numbers"),
    ):
        with pytest.raises(InvalidInput, match=text):
            train_segmentation(replace(request, labels=write(tmp_path / "l.npy", labels)), CONTROL)
    classes = replace(request, options=replace(request.options, target="classes", ignored=0))
    same = write(tmp_path / "one.npy", np.ones((32, 40, 40), np.uint8))
    with pytest.raises(InvalidInput, match="1 classes"):
        train_segmentation(replace(classes, labels=same), CONTROL)
    with pytest.raises(InvalidInput, match="not enough to learn from"):
        train_segmentation(replace(request, box="0:8,:,:"), CONTROL)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["l.npy", "one.npy"]


def test_thick_slices_are_pooled_across_first(tmp_path: Path, labelled: tuple[Path, Path]) -> None:
    request = request_for(labelled, tmp_path / "net", depth=2)
    assert plan_training(request, "cpu").form.flat == 0
    from pellucid.conversion.convert import convert

    with Volume.from_array(np.load(labelled[0]), spacing=(4.0, 1.0, 1.0)) as volume:
        convert(volume, tmp_path / "thick.zarr").close()
    job = plan_training(replace(request, volume=str(tmp_path / "thick.zarr")), "cpu")
    assert job.form.flat == 2 and job.form.step == (1, 4, 4)
