"""From a file to a file: right voxels, resumed, reported, refused early."""

import io
import itertools
import json
import os
import subprocess
import sys
from dataclasses import replace
from math import prod
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import ndimage

from pellucid.box import Box
from pellucid.cli.main import main
from pellucid.engines.budget import largest_need
from pellucid.engines.engine import EngineOptions, make_engine
from pellucid.engines.serial import SerialEngine
from pellucid.engines.task import BlockResult, TaskContext
from pellucid.errors import InvalidInput, NotEnoughMemory, OutputExists
from pellucid.formats.protocol import Voxels
from pellucid.infer import memory_probe
from pellucid.infer.apply import OutputValues, RunControl, apply_network, segment
from pellucid.infer.job import InferenceOptions, NetworkFile
from pellucid.infer.loading import load_network
from pellucid.infer.memory import MemoryModel, NetworkCost, network_cost
from pellucid.infer.memory_probe import MAX_WINDOW_S
from pellucid.infer.network_files.network import NetworkForm
from pellucid.infer.network_files.transforms import ValueTransform
from pellucid.jobs.resources import Resources
from pellucid.settings import load, use
from pellucid.volume.volume import Volume, open_volume
from tests.conversion.interrupted import StopsAfter
from tests.infer.small_networks import convolution, super_resolution, unet
from tests.shared_data import shared

KERNEL = np.random.default_rng(0).standard_normal((3, 3, 3)).astype(np.float32)
CHUNKS = InferenceOptions(chunk=(16, 16, 16))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One for all tests here: the memory of a network is measured once."""
    folder = tmp_path_factory.getbasetemp() / "networks"
    with use(load(cache_folder=folder)):
        yield


@pytest.fixture
def voxels() -> Voxels:
    return np.random.default_rng(0).integers(0, 255, (40, 50, 45)).astype(np.uint8)


@pytest.fixture
def source(tmp_path: Path, voxels: Voxels) -> Path:
    np.save(tmp_path / "a.npy", voxels)
    return tmp_path / "a.npy"


@pytest.fixture
def network(tmp_path: Path) -> Path:
    return convolution(tmp_path / "net.onnx", KERNEL[None, None])


@pytest.fixture
def expected(voxels: Voxels) -> Voxels:
    return np.asarray(ndimage.correlate(voxels.astype(np.float32), KERNEL, mode="constant"))


def assert_close(found: Voxels, expected: Voxels) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("name", ["out.zarr", "out.n5", "out.h5"])
def test_values_are_those_of_the_whole_volume(
    name: str, source: Path, network: Path, expected: Voxels, tmp_path: Path
) -> None:
    options = InferenceOptions(chunk=(16, 16, 16), window=(20, 24, 50))
    volume, report = apply_network(source, tmp_path / name, network, options)
    with volume:
        assert_close(volume.read(), expected)
        assert volume.dtype == np.float32
    (one,) = report.networks
    assert (one.window, one.halo, one.is_exact) == ((20, 24, 45), (1, 1, 1), True)
    assert one.factor > 1.05
    assert one.deviation is not None and one.deviation.maximum < 1e-3 * one.deviation.span
    assert any("covers the receptive field" in sentence for sentence in report.sentences)
    assert any("ONNX Runtime" in sentence and "(CPU)" in sentence for sentence in report.sentences)


def test_nothing_is_checked_where_nothing_is_computed_twice(source: Path, network: Path, tmp_path: Path) -> None:
    volume, report = apply_network(source, tmp_path / "out.zarr", network)
    volume.close()
    assert [(one.factor, one.deviation) for one in report.networks] == [(1.0, None)]


def test_an_interrupted_job_continues(source: Path, network: Path, expected: Voxels, tmp_path: Path) -> None:
    options = InferenceOptions(chunk=(16, 16, 16), window=(18, 18, 18))
    engine = StopsAfter(3, memory_bytes=2**30)
    control = RunControl(engine, is_checked=False)
    with pytest.raises(KeyboardInterrupt):
        apply_network(source, tmp_path / "out.n5", network, options, control=control)
    assert not (tmp_path / "out.n5").exists()
    rest = StopsAfter(-1, memory_bytes=2**30)
    volume, _ = apply_network(source, tmp_path / "out.n5", network, options, control=RunControl(rest))
    with volume:
        assert_close(volume.read(), expected)
    assert rest.finished > 3
    whole = StopsAfter(-1, memory_bytes=2**30)
    apply_network(source, tmp_path / "b.n5", network, options, control=RunControl(whole))[0].close()
    assert rest.finished == whole.finished - 3


def test_it_continues_with_the_same_windows_when_there_is_less_memory(
    source: Path, network: Path, expected: Voxels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pellucid.infer.job.network_cost", lambda *_, **__: NetworkCost(MemoryModel(0, 100.0)))
    options, target, large, small = InferenceOptions(chunk=(16, 16, 16)), tmp_path / "out.n5", 5_000_000, 2_000_000
    with pytest.raises(KeyboardInterrupt):
        apply_network(source, target, network, options, control=RunControl(StopsAfter(2, memory_bytes=large)))
    rest = StopsAfter(-1, memory_bytes=2 * large)
    volume, report = apply_network(source, target, network, options, control=RunControl(rest, is_checked=False))
    with volume:
        assert_close(volume.read(), expected)
    whole = StopsAfter(-1, memory_bytes=large)
    _, same = apply_network(source, tmp_path / "b.n5", network, options, control=RunControl(whole, is_checked=False))
    assert report.networks[0].window == same.networks[0].window != (40, 50, 45)
    assert rest.finished == whole.finished - 2 > 0
    with pytest.raises(KeyboardInterrupt):
        apply_network(
            source, tmp_path / "c.n5", network, options, control=RunControl(StopsAfter(2, memory_bytes=large))
        )
    rest = StopsAfter(-1, memory_bytes=small)  # Too little for those windows: all blocks are done again.
    volume, report = apply_network(source, tmp_path / "c.n5", network, options, control=RunControl(rest))
    with volume:
        assert_close(volume.read(), expected)
    assert prod(report.networks[0].window) < prod(same.networks[0].window)


def test_another_network_under_the_same_name_begins_anew(source: Path, network: Path, tmp_path: Path) -> None:
    options = InferenceOptions(chunk=(16, 16, 16), window=(18, 18, 18))
    with pytest.raises(KeyboardInterrupt):
        apply_network(
            source, tmp_path / "o.n5", network, options, control=RunControl(StopsAfter(3, memory_bytes=2**30))
        )
    convolution(network, np.ones((1, 1, 3, 3, 3)))
    volume, _ = apply_network(source, tmp_path / "o.n5", network, options)
    with volume:
        expected = ndimage.correlate(np.load(source).astype(np.float32), np.ones((3, 3, 3)), mode="constant")
        assert_close(volume.read(), expected)


def test_a_halo_that_is_too_small_is_blended_and_computed_once(source: Path, voxels: Voxels, tmp_path: Path) -> None:
    network = unet(tmp_path / "net.onnx")
    form = NetworkForm(halo=(8, 8, 8), preprocess=(ValueTransform.parse("scale_linear:gain=0.01"),))
    options = InferenceOptions(chunk=(16, 16, 16), window=(28, 28, 28))
    volumes = []
    for name in ("small.n5", "large.zarr"):  # Blocks of different sizes.
        made, report = apply_network(source, tmp_path / name, NetworkFile(network, form), options)
        volumes.append(made.read())
        made.close()
    np.testing.assert_allclose(volumes[0], volumes[1], rtol=1e-4, atol=1e-5)
    (one,) = report.networks
    assert not one.is_exact and "blended; receptive radius (16, 16, 16)" in " ".join(report.sentences)
    exact, _ = apply_network(source, tmp_path / "exact.zarr", NetworkFile(network, replace(form, halo=None)))
    with exact:
        difference = np.abs(volumes[0] - exact.read())
        assert 0 < difference.max() < 0.5 * np.ptp(exact.read())
        assert np.median(difference) < 0.01 * np.ptp(exact.read())


def test_labels_and_their_levels(source: Path, network: Path, expected: Voxels, tmp_path: Path) -> None:
    volume, _ = segment(source, tmp_path / "out.zarr", network, InferenceOptions(levels=2), threshold=10.0)
    with volume:
        assert volume.dtype == np.uint8 and len(volume.levels) == 2
        certain = np.abs(expected - 10) > 0.05
        np.testing.assert_array_equal(volume.read()[certain], (expected > 10)[certain])
        assert set(np.unique(volume.at_level(1).read())) <= {0, 1}


def test_labels_of_several_classes_are_the_largest(source: Path, tmp_path: Path) -> None:
    kernel = np.zeros((3, 1, 1, 1, 1))
    kernel[:, 0, 0, 0, 0] = (-1.0, 0.0, 1.0)
    path = convolution(tmp_path / "net.onnx", kernel)
    form = NetworkForm(preprocess=(ValueTransform.parse("scale_linear:offset=-100"),))
    volume, _ = segment(source, tmp_path / "out.zarr", NetworkFile(path, form))
    with volume:
        grey = np.load(source).astype(int) - 100
        np.testing.assert_array_equal(volume.read(), np.where(grey > 0, 2, 0) + (grey == 0) * 0)


class GpuWorkers(SerialEngine):
    """An engine whose workers have a GPU each; the CPU stands for it."""

    def capacity(self) -> Resources:
        return replace(super().capacity(), gpus=1)

    def run(self, task: Any, blocks: Any, cancel: Any) -> Any:
        self.needs = largest_need(task, blocks)
        with task.open(TaskContext("cpu", 1, 2**30)) as work:
            yield from (BlockResult(block.index, work(block)) for block in blocks)


@pytest.mark.parametrize(("device", "gpus"), [("auto", 1), ("cuda", 1), ("cpu", 0)])
def test_workers_with_gpus_compute_on_them(
    device: str, gpus: int, source: Path, network: Path, expected: Voxels, tmp_path: Path
) -> None:
    """Also where the program that starts it has none."""
    engine = GpuWorkers(EngineOptions(1, 2**30))
    options = InferenceOptions(chunk=(16, 16, 16), device=device)
    volume, _ = apply_network(source, tmp_path / "out.n5", network, options, control=RunControl(engine))
    with volume:
        assert_close(volume.read(), expected)
    assert engine.needs.gpus == gpus


def test_a_box_is_a_volume_of_its_own(source: Path, network: Path, tmp_path: Path, voxels: Voxels) -> None:
    box = Box((3, 5, 7), (20, 40, 44))
    volume, _ = apply_network(source, tmp_path / "out.zarr", network, InferenceOptions(box=box))
    with volume:
        part = voxels[box.slices].astype(np.float32)
        assert_close(volume.read(), ndimage.correlate(part, KERNEL, mode="constant"))


def test_statistics_are_those_of_the_whole_volume(source: Path, voxels: Voxels, tmp_path: Path) -> None:
    path = convolution(tmp_path / "net.onnx", np.ones((1, 1, 1, 1, 1)))
    for name, expected in (
        ("zero_mean_unit_variance", (voxels - voxels.mean()) / voxels.std()),
        ("scale_range", voxels / 254.0),
    ):
        form = NetworkForm(preprocess=(ValueTransform.parse(name),))
        options = InferenceOptions(window=(16, 16, 16), chunk=(16, 16, 16))
        volume, _ = apply_network(source, tmp_path / f"{name}.zarr", NetworkFile(path, form), options)
        with volume:
            np.testing.assert_allclose(volume.read(), expected, rtol=1e-3, atol=1e-4)


def test_a_chain_stores_no_intermediate_volume(source: Path, network: Path, voxels: Voxels, tmp_path: Path) -> None:
    fine = super_resolution(tmp_path / "fine.onnx", np.ones((1, 1, 1)))
    np.save(source, voxels)
    options = InferenceOptions(after=(NetworkFile(fine),), chunk=(16, 16, 16))
    volume, report = apply_network(source, tmp_path / "out.zarr", network, options)
    with volume:
        doubled = np.repeat(voxels, 2, axis=0).astype(np.float32)
        assert_close(volume.read(), ndimage.correlate(doubled, KERNEL, mode="constant"))
        assert volume.spacing == (0.5, 1.0, 1.0)
    assert [Path(one.path).name for one in report.networks] == ["fine.onnx", "net.onnx"]
    assert not (tmp_path / "out.zarr.partial").exists()


def test_a_chain_may_store_its_intermediate_volume(source: Path, network: Path, voxels: Voxels, tmp_path: Path) -> None:
    fine, middle = super_resolution(tmp_path / "fine.onnx", np.ones((1, 1, 1))), tmp_path / "middle.zarr"
    options = InferenceOptions(after=(NetworkFile(fine),), intermediate=middle, chunk=(16, 16, 16))
    volume, report = apply_network(source, tmp_path / "out.zarr", network, options)
    doubled = np.repeat(voxels, 2, axis=0).astype(np.float32)
    with volume, open_volume(middle) as stored:
        assert (stored.read() == doubled).all() and stored.spacing == volume.spacing == (0.5, 1.0, 1.0)
        assert_close(volume.read(), ndimage.correlate(doubled, KERNEL, mode="constant"))
    assert [Path(one.path).name for one in report.networks] == ["fine.onnx", "net.onnx"]
    again, report = apply_network(source, tmp_path / "again.zarr", network, options)  # As after an interruption.
    again.close()
    assert [Path(one.path).name for one in report.networks] == ["net.onnx"]
    np.save(source, voxels + 1)
    with pytest.raises(OutputExists, match=r"middle\.zarr already exists"):
        apply_network(source, tmp_path / "other.zarr", network, options)
    with pytest.raises(InvalidInput, match="needs a chain of networks"):
        apply_network(source, tmp_path / "other.zarr", network, replace(options, after=()))


def test_what_does_not_fit_is_refused_before_it_runs(source: Path, network: Path, tmp_path: Path) -> None:
    engine = make_engine("serial", EngineOptions(1, 100_000))
    with pytest.raises(NotEnoughMemory, match=r"Raise the memory budget \(--memory\), or pass a smaller --halo"):
        apply_network(source, tmp_path / "out.zarr", network, control=RunControl(engine))
    assert list(tmp_path.glob("out*")) == []


def test_the_cost_of_a_network_is_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = load_network(unet(tmp_path / "net.onnx"))
    assert network_cost(network, voxels=1000).speeds.points == ()
    cost = network_cost(network)
    assert 20 < cost.memory.bytes_per_voxel < 2000  # Seven channels in float32, and what comes in and goes out.
    sizes, taken = zip(*cost.speeds.points, strict=True)
    assert sizes[0] == 32**3 and list(sizes) == sorted(sizes) and min(taken) > 0
    assert all(size * before <= MAX_WINDOW_S for size, before in zip(sizes[1:], taken, strict=False))
    monkeypatch.setattr(subprocess, "run", None)
    assert network_cost(network) == network_cost(network, voxels=1000) == cost


def test_windows_that_would_take_long_are_not_run_for_their_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = [{"in": [1, 1, edge]} for edge in (10, 20, 1000)]
    request = {
        "model": os.devnull, "shapes": shapes, "timed": [], "types": {"in": "float32"}, "device": "cpu",
        "voxels": [10, 20, 1000], "max_timed_bytes": 0,
    }  # fmt: skip
    ran: list[int] = []
    runtime = SimpleNamespace(run=lambda inputs: ran.append(inputs["in"].size))
    clock = itertools.count()
    monkeypatch.setattr("pellucid.infer.memory_probe.open_runtime", lambda _: runtime)
    monkeypatch.setattr("pellucid.infer.memory_probe.time.process_time", lambda: float(next(clock)))
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(request)))
    memory_probe.main()
    assert ran == [10, 20]  # A second for 20: 1000 would take 50.


def test_the_memory_of_the_program_that_measures_does_not_count() -> None:
    held = np.ones(2**29, np.uint8)
    command = [sys.executable, "-P", "-c", "from pellucid.infer.memory_probe import peak_bytes; print(peak_bytes())"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert held[-1] and 2**20 < int(printed) < 2**28


def test_statistics_of_the_window_are_a_warning(tmp_path: Path) -> None:
    network = load_network(unet(tmp_path / "net.onnx", normalised=True))
    (warning,) = network.warnings
    assert "InstanceNormalization" in warning and "depends on the size of the window" in warning


def test_the_type_and_range_of_values(source: Path, network: Path, expected: Voxels, tmp_path: Path) -> None:
    values = OutputValues(dtype="uint8", value_range=(-1000.0, 1000.0))
    volume, _ = apply_network(source, tmp_path / "out.zarr", network, values=values)
    with volume:
        scaled = np.clip((expected + 1000) / 2000 * 255, 0, 255)
        np.testing.assert_allclose(volume.read(), scaled, atol=0.51)
    with pytest.raises(InvalidInput, match=r"net.onnx has no channel 4. Choose one from 0 to 0"):
        apply_network(source, tmp_path / "b.zarr", network, values=OutputValues(channel=4))


def test_commands(source: Path, network: Path, expected: Voxels, tmp_path: Path, capsys: Any) -> None:
    words = [str(source), "--network", str(network), "--quiet", "--no-check"]
    assert main(["apply", *words, "-o", str(tmp_path / "a.zarr"), "--window", "20"]) == 0
    printed = capsys.readouterr().out
    assert "net.onnx: 3D, on ONNX Runtime" in printed and "with a halo of (1, 1, 1) voxels" in printed
    with open_volume(tmp_path / "a.zarr") as volume:
        assert_close(volume.read(), expected)
    assert main(["segment", *words, "-o", str(tmp_path / "b.zarr"), "--threshold", "5", "--box", "0:9,:,:"]) == 0
    with open_volume(tmp_path / "b.zarr") as volume:
        assert volume.shape == (9, 50, 45)
    assert main(["segment", *words, "-o", str(tmp_path / "b.zarr")]) == 1
    assert "already exists" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["apply", "segment"])
def test_the_help_says_what_a_box_needs(command: str, capsys: Any) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert "sees nothing around it, so add a margin of the halo" in " ".join(capsys.readouterr().out.split())


def test_a_box_with_a_margin_has_the_values_of_the_whole(
    source: Path, network: Path, expected: Voxels, tmp_path: Path
) -> None:
    box = Box((5, 6, 7), (15, 18, 20))
    volume, report = apply_network(source, tmp_path / "out.zarr", network, InferenceOptions(box=box))
    with volume:
        off = np.abs(volume.read() - expected[box.slices])
    assert report.networks[0].halo == (1, 1, 1)
    assert off.max() > 100
    assert off[1:-1, 1:-1, 1:-1].max() < 1e-2


def test_the_trained_network_reproduces_its_published_output(tmp_path: Path) -> None:
    path = shared("networks/unet2d_nuclei.onnx")
    published = np.load(shared("networks/unet2d_nuclei_test.npz"))
    form = NetworkForm(
        preprocess=(ValueTransform.parse("zero_mean_unit_variance"),), postprocess=(ValueTransform.parse("sigmoid"),)
    )
    image = Volume.from_array(published["input"][0])
    options = InferenceOptions(window=(1, 320, 512))
    control = RunControl(is_checked=False)
    volume, report = apply_network(image, tmp_path / "out.zarr", NetworkFile(path, form), options, control=control)
    with volume:
        np.testing.assert_allclose(volume.read(), published["output"][0], atol=1e-5)
    assert report.networks[0].is_exact
    report.write(tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text())["networks"][0]["halo"] == [0, 58, 58]
