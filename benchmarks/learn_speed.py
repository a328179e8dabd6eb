"""How fast does the 2.5D denoising network run on a GPU, from chunks to chunks, and how long does preset spring8 train?

    python -m benchmarks.learn_speed [--quick] [--json FILE] [--parts FOLDER] [--part network|volume|training]

The network of the presets: 11 slices, 64 to 256 channels, 0.31 million multiply-adds per pixel, random weights.
"network" runs it on one slice that is on the device. "volume" goes from a Zarr volume of 16 bits to another one, twice:
the network is compiled during the first run. "training" makes steps of the preset on random slices of 2216²; with
--steps fewer than the preset has, and the time of all of them is what these took, and the rest at the speed of the
second half of them, in which nothing is compiled. Each part is a process of its own.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.entry_points import with_entry_points
from benchmarks.stage_times import StageTimes
from benchmarks.table import TARGET, Options, Row, report, unavailable
from pellucid.device import devices

PARTS = ("network", "volume", "training")
EDGE, SLICES = 2216, 200
VOLUME = 2048
SCRATCH_BYTES = 40 * 10**9


def main() -> None:
    parser = argparse.ArgumentParser(description="The speed of denoising on a GPU.")
    parser.add_argument("--quick", action="store_true", help="a smaller volume, fewer steps")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows as JSON")
    parser.add_argument("--part", choices=("all", *PARTS, "table"), default="all")
    parser.add_argument("--parts", type=Path, metavar="FOLDER", help="where parts are kept (default: nowhere)")
    parser.add_argument("--scratch", type=Path, metavar="FOLDER", help="where volumes are written (default: /dev/shm)")
    parser.add_argument("--steps", type=int, metavar="N", help="of the training (default: all of the preset)")
    parser.add_argument("--slices", type=int, metavar="N", help="of the volume (default: as many as an edge has)")
    parser.add_argument("--once", action="store_true", help="one run of the volume, with compiling")
    parser.add_argument("--run", choices=PARTS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        parts = given.parts or Path(folder)
        parts.mkdir(parents=True, exist_ok=True)
        if given.run:
            with_entry_points(Path(folder) / "site")
            found = WORK[given.run](given)
            (parts / f"{given.run}.json").write_text(json.dumps(found) + "\n")
            return
        for part in [part for part in PARTS if given.part in ("all", part)]:
            command = [sys.executable, "-m", "benchmarks.learn_speed", "--run", part, "--parts", str(parts)]
            command += ["--quick"] if given.quick else []
            command += ["--steps", str(given.steps)] if given.steps else []
            command += ["--once"] if given.once else []
            command += ["--slices", str(given.slices)] if given.slices else []
            command += ["--scratch", str(given.scratch)] if given.scratch else []
            ended = subprocess.run(command, check=False)
            shown = (parts / f"{part}.json").read_text() if ended.returncode == 0 else f"failed ({ended.returncode})"
            print(part, shown, flush=True)
        if given.part in ("all", "table"):
            size = f"slices of {EDGE}², volume of {VOLUME}³ uint16"
            report("learn_speed", table(parts), size, Options(given.quick, given.json))


def network_of(folder: Path) -> Any:
    """The folder of a network with random weights."""
    import torch

    from pellucid.learn.networks.network_folder import NetworkDescription, write_network
    from pellucid.learn.networks.raw_values import RawValues
    from pellucid.learn.networks.unet import UNet, UNetForm

    form = UNetForm(channels=11, width=64, residual=5, is_normalised=False)
    network = UNet(form)
    with torch.no_grad():
        network.head[-1].weight.normal_(0, 0.01)
    folder.mkdir(parents=True)
    description = NetworkDescription("speed", "random weights", 2, 11, 1, form.step)
    example = 1000 + 100 * np.random.default_rng(0).random((11, 32, 32), np.float32)
    return write_network(RawValues(network, 1000.0, 100.0), description, folder, example)


def measure_network(given: argparse.Namespace) -> dict[str, float]:
    """On tensors that are on the device."""
    import torch

    from pellucid.infer.runtime import RuntimeRequest
    from pellucid.learn.networks.torch_entry import open_torch

    with tempfile.TemporaryDirectory() as folder:
        network = network_of(Path(folder) / "net")
        runtime = open_torch(RuntimeRequest(network.model, "cuda"))
    if runtime is None:
        raise RuntimeError("needs a CUDA device")
    edge = 512 if given.quick else EDGE
    tensor = torch.randn(1, 11, edge, edge, device="cuda")
    runtime.compute([tensor])
    found: dict[str, float] = {}
    for name, is_compiled in (("eager", False), ("compiled", True)):
        start = time.perf_counter()
        seconds = _seconds(lambda chosen=is_compiled: runtime.compute([tensor], is_compiled=chosen))
        found |= {f"{name} M voxels/s": edge**2 / seconds / 1e6, f"{name} first s": time.perf_counter() - start}
    found["GB"] = torch.cuda.max_memory_allocated() / 2**30
    return found


def _seconds(work: Any) -> float:
    """The mean of some runs, after two others."""
    import torch

    for _ in range(2):
        work()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(20):
        work()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / 20


def measure_volume(given: argparse.Namespace) -> dict[str, float]:
    """From chunks to chunks, twice. The memory of the network is measured before."""
    from pellucid.engines.engine import EngineOptions, make_engine
    from pellucid.infer.apply import OutputValues, RunControl, apply_network
    from pellucid.infer.job import InferenceOptions

    place = Path(tempfile.mkdtemp(dir=given.scratch or _large_folder()))
    try:
        edge = 256 if given.quick else VOLUME
        device = "cuda" if _has_cuda() else "cpu"
        network = place / "net"
        network_of(network)
        depth = (given.slices or edge) if _has_cuda() else 4
        sources = {
            "one slice s": _written(place / "one.zarr", (1, edge, edge)),
            "first s": _written(place / "in.zarr", (depth, edge, edge)),
        }
        if not given.once:
            sources["whole s"] = sources["first s"]
        engine = make_engine("local", EngineOptions(4, 48 * 2**30))
        values = OutputValues(None, "uint16", (0.0, 2000.0))
        options = InferenceOptions(device=device, codec="lz4", chunk=(32, 128, 128))
        found: dict[str, float] = {}
        for run, source in sources.items():
            shutil.rmtree(place / "out.zarr", ignore_errors=True)
            start, times = time.perf_counter(), StageTimes()
            with times.of(_stages()):
                volume, report = apply_network(
                    source, place / "out.zarr", network, options, values=values,
                    control=RunControl(engine, is_checked=False),
                )  # fmt: skip
            volume.close()
            found[run] = time.perf_counter() - start
            print(f"{run} {found[run]:.1f}; all threads: {times.text}", flush=True)
        print(*report.sentences, sep="\n", flush=True)
        voxels = float(depth * edge**2)
        return {**found, "M voxels/s": voxels / found[list(sources)[-1]] / 1e6, "voxels": voxels}
    finally:
        shutil.rmtree(place)


def _stages() -> dict[str, tuple[Any, str]]:
    """Of a block: what its thread does one after the other. Its turn on the GPU includes waiting for that of others."""
    from pellucid.infer.prediction import Predictor
    from pellucid.infer.task import NetworkTask
    from pellucid.learn.networks.device_regions import DeviceRegions
    from pellucid.learn.networks.runtime import TorchRuntime

    return {
        "blocks": (NetworkTask, "write"),
        "reading": (Predictor, "_read"),
        "pinned memory": (TorchRuntime, "host_array"),
        "device": (DeviceRegions, "run"),
        "copying there": (DeviceRegions, "_upload"),
        "computing": (DeviceRegions, "_computed"),
        "copying back": (DeviceRegions, "_download"),
    }


def _large_folder() -> Path | None:
    """In memory, where there is room for both volumes."""
    memory = Path("/dev/shm")
    return memory if memory.is_dir() and shutil.disk_usage(memory).free > SCRATCH_BYTES else None


def _has_cuda() -> bool:
    return any(device.is_cuda for device in devices())


def _written(path: Path, shape: tuple[int, int, int]) -> Path:
    """A volume of noise of 16 bits, whose slices repeat."""
    from contextlib import closing

    from pellucid.box import Box
    from pellucid.formats.location import Location
    from pellucid.formats.protocol import Layout, Level
    from pellucid.formats.registry import open_writer

    layout = Layout((Level(shape, (64, 64, 64)),), np.dtype(np.uint16), codec="lz4")
    count, edge, _ = shape
    slab = (1000 + 100 * np.random.default_rng(0).standard_normal((64, edge, edge), np.float32)).astype(np.uint16)
    with closing(open_writer(Location.parse(path), layout)) as writer:
        depth = writer.grains[0][0]
        slab = np.concatenate([slab] * -(-depth // 64)) if min(depth, count) > 64 else slab
        for z in range(0, count, len(slab)):
            writer.write(Box((z, 0, 0), (min(count, z + len(slab)), edge, edge)), slab[: count - z])
        writer.finish()
    return path


def measure_training(given: argparse.Namespace) -> dict[str, float]:
    """All steps of the preset, on slices that are in memory: waves with noise."""
    import torch

    from pellucid.box import Box
    from pellucid.learn.denoise.objective import DenoiseObjective, DenoiseTraining
    from pellucid.learn.denoise.options import preset
    from pellucid.learn.denoise.slice_sets import SliceSets
    from pellucid.learn.networks.unet import UNetForm
    from pellucid.learn.training.loop import train
    from pellucid.learn.training.options import LearningControl
    from pellucid.learn.training.state_folder import TrainingFolder
    from pellucid.volume.volume import Volume

    options = preset("spring8").with_learning(steps=given.steps or (20 if given.quick else None))
    edge, slices = (128, 40) if given.quick else (EDGE, (60 if given.steps else SLICES + 20))
    y, x = np.meshgrid(np.arange(edge), np.arange(edge), indexing="ij")
    waves = (np.sin(y / 9) * np.sin(x / 13)).astype(np.float32)
    random = np.random.default_rng(0)
    tile = random.standard_normal((options.sets, 8, edge, edge), np.float32)
    repeated = [
        np.concatenate([waves + np.roll(one, 37 * n, 2) for n in range(-(-slices // 8))])[:slices] for one in tile
    ]
    box = Box.whole((slices, edge, edge))
    mean = np.mean(repeated, axis=0)
    sets = SliceSets(tuple((Volume.from_array(one), box) for one in repeated), (Volume.from_array(mean), box))
    form = UNetForm(channels=11, width=64, residual=5, is_normalised=False)
    request = DenoiseTraining((), None, form, options.patch, (slices - 20, slices), 0.0, 1.0, options.learning)
    torch.manual_seed(0)
    device = "cuda" if _has_cuda() else "cpu"
    objective = DenoiseObjective(sets, request, device)
    for part in objective.parts.values():
        part.to(device)
    with tempfile.TemporaryDirectory() as folder:
        clock = StepClock(objective.losses, options.learning)
        objective.losses = clock.losses  # type: ignore[method-assign]
        control = LearningControl(device, loaders=max(2, (os.cpu_count() or 2) * 3 // 4))
        reached, _ = train(objective, options.learning, TrainingFolder(Path(folder)), control, device=device)
        clock.end()
    last, whole = reached.curve.validations[-1], preset("spring8").learning.steps
    return {
        "steps": float(reached.curve.step), "GB": max(reached.device_bytes, clock.early_bytes) / 2**30,
        "GB of the second half": reached.device_bytes / 2**30, "seconds": clock.seconds,
        "steps per s": clock.rate, "minutes": (clock.seconds + (whole - reached.curve.step) / clock.rate) / 60,
        "error": last["error"], "error before": last["error_before"],
    }  # fmt: skip


class StepClock:
    """When steps begin. The first half of them is not a part of the speed: it has the compiling in it. early_bytes:
    the device memory of the first half, in which algorithms for convolutions are tried."""

    def __init__(self, losses: Any, learning: Any) -> None:
        self._losses, self._begins = losses, [time.perf_counter()]
        self._parts, self._half = learning.accumulation, learning.accumulation * learning.steps // 2
        self._calls, self.early_bytes = 0, 0

    def losses(self, batch: Any) -> Any:
        """Called for every part of a batch."""
        if self._calls % self._parts == 0:
            self._begins.append(time.perf_counter())
        if self._calls == self._half and _has_cuda():
            import torch

            self.early_bytes = torch.cuda.max_memory_allocated()
            torch.cuda.reset_peak_memory_stats()
        self._calls += 1
        return self._losses(batch)

    def end(self) -> None:
        self._begins.append(time.perf_counter())

    @property
    def seconds(self) -> float:
        return self._begins[-1] - self._begins[0]

    @property
    def rate(self) -> float:
        """Steps per second of the second half, validations and images included."""
        later = self._begins[len(self._begins) // 2 :]
        return (len(later) - 1) / (later[-1] - later[0])


WORK = {"network": measure_network, "volume": measure_volume, "training": measure_training}


def table(parts: Path) -> list[Row]:
    from pellucid.learn.denoise.options import preset

    found = {part: json.loads(path.read_text()) for part in PARTS if (path := parts / f"{part}.json").exists()}
    rows: list[Row] = [unavailable(part, "-", "this part has not run") for part in PARTS if part not in found]

    def row(case: str, metric: str, unit: str, part: str, name: str) -> None:
        if name in found.get(part, {}):
            rows.append(Row(case, metric, unit, found[part][name], "-", None, None))

    row("one slice, eager", "speed", "M voxels/s", "network", "eager M voxels/s")
    row("one slice, compiled", f"speed ({TARGET}: 400)", "M voxels/s", "network", "compiled M voxels/s")
    row("one slice, compiled", "time of 22 runs, compiling", "s", "network", "compiled first s")
    row("chunks to chunks", f"speed ({TARGET}: 200)", "M voxels/s", "volume", "M voxels/s")
    goal = f"time ({TARGET}: 60)" if found.get("volume", {}).get("voxels") == VOLUME**3 else "time, fewer slices"
    row("chunks to chunks", goal, "s", "volume", "whole s")
    row("chunks to chunks, first run, with compiling", goal, "s", "volume", "first s")
    row("one slice, measuring memory", "time", "s", "volume", "one slice s")
    is_whole = found.get("training", {}).get("steps") == preset("spring8").learning.steps
    goal = f"time ({TARGET}: 8)" if is_whole else f"time of all steps, by the speed of some ({TARGET}: 8)"
    row("preset spring8, trained", goal, "min", "training", "minutes")
    row("preset spring8, trained", "steps per second", "", "training", "steps per s")
    row("preset spring8, trained", f"device memory ({TARGET}: 30)", "GB", "training", "GB")
    row("preset spring8, trained", "device memory, second half of the steps", "GB", "training", "GB of the second half")
    row("preset spring8, trained", "steps", "", "training", "steps")
    row("preset spring8, held-out error", "mean squared error", "", "training", "error")
    row("preset spring8, before", "mean squared error", "", "training", "error before")
    return rows


if __name__ == "__main__":
    main()
