"""How fast do windows of a network go through a volume, how far is the result from the whole, and how does MONAI do it?

    python -m benchmarks.infer [--quick] [--json FILE] [--parts FOLDER]

The same 3D U-Net (two poolings, receptive radius 27, random weights) on the same volume, array to array. MONAI's
windows of 96³ with Gaussian blending run its usual PyTorch, and our ONNX Runtime, which leaves the windows as the only
difference. Each runs in a process of its own, so that its memory is its own. The deviation is that from the result of
the whole volume at once. From chunks to chunks, the peak memory is that of a volume and of one four times as large.
What is measured stays in the folder of parts, so that an interrupted run continues.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from benchmarks.memory import peak_bytes
from benchmarks.small_unet import to_onnx, to_torch
from benchmarks.table import TARGET, Options, Row, report, shorter, unavailable
from pellucid.conversion.convert import convert
from pellucid.engines.engine import EngineOptions, make_engine
from pellucid.formats.protocol import Voxels
from pellucid.infer.apply import RunControl, apply_network
from pellucid.infer.loading import load_network
from pellucid.infer.memory import network_cost
from pellucid.infer.network_files.network import NetworkForm
from pellucid.infer.planning import plan_windows
from pellucid.infer.prediction import Predictor
from pellucid.infer.runtime import RuntimeRequest, open_runtime
from pellucid.infer.sources import VolumeSource
from pellucid.infer.statistics import ValueStatistics
from pellucid.infer.trimming.trimmed_runtime import open_network
from pellucid.volume.volume import Volume

Case = Callable[[], tuple[Voxels, float]]
"""Runs, and returns the result and the factor computed."""
TARGET_RATIO = 2.5
ROI = (96, 96, 96)
OURS = {"ours, 2 GiB": (2**31, None), "ours, 512 MiB": (2**29, None), "ours, 512 MiB, halo 16": (2**29, (16, 16, 16))}
"""Memory of the network, and the halo; None for that of the receptive field."""
MONAI = {
    "MONAI, overlap 0.25, PyTorch": (0.25, True),
    "MONAI, overlap 0.25, ONNX Runtime": (0.25, False),
    "MONAI, overlap 0.5, ONNX Runtime": (0.5, False),
}
FILES = {"files, small": 96, "files, four times": 384}
"""Slices of a volume that is read from a file and written to one."""
FILE_EDGE = 160
FULL, QUICK = (250, 250, 250), (104, 104, 104)


@dataclass(frozen=True)
class Measured:
    """What a process printed. cpu_s: of all its threads; other programs on the machine change it less than the time.
    peak_mib: beyond the volume's array. median, maximum: deviation, of the span."""

    seconds: float
    peak_mib: float
    factor: float
    median: float
    maximum: float
    cpu_s: float = 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description="Windows of networks, beside MONAI.")
    parser.add_argument("--quick", action="store_true", help="a smaller volume")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows as JSON")
    parser.add_argument("--parts", type=Path, metavar="FOLDER", help="where parts are kept (default: nowhere)")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case:
        measure(given.case, given.folder)
        return
    shape = QUICK if given.quick else FULL
    with tempfile.TemporaryDirectory() as folder:
        parts = given.parts or Path(folder)
        parts.mkdir(parents=True, exist_ok=True)
        rows = compare(parts, shape)
    report("infer", rows, f"{'×'.join(map(str, shape))} float32, one run each", Options(given.quick, given.json))


def compare(folder: Path, shape: tuple[int, int, int]) -> list[Row]:
    np.save(folder / "volume.npy", np.random.default_rng(0).random(shape, np.float32))
    to_onnx(folder / "net.onnx")
    for slices in FILES.values():
        voxels = np.random.default_rng(0).random((slices, FILE_EDGE, FILE_EDGE), np.float32)
        convert(Volume.from_array(voxels), folder / f"in{slices}.zarr", overwrite=True).close()
    found = {case: run_case(case, folder) for case in ("whole", *OURS, *FILES, *MONAI)}
    rows = [row for ours in OURS for peer in MONAI for row in rows_of(ours, peer, found)]
    return [*rows, *rows_of_files(found)]


def run_case(case: str, folder: Path) -> Measured | str:
    """The measurement, or why there is none."""
    kept = folder / f"{case.replace('/', ' ')}.json"
    if kept.exists():
        return Measured(**json.loads(kept.read_text()))
    command = [sys.executable, "-m", "benchmarks.infer", "--case", case, "--folder", str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        return ended.stderr.strip().splitlines()[-1]
    print(f"{case}: {ended.stdout.strip()}", flush=True)
    kept.write_text(ended.stdout)
    return Measured(**json.loads(ended.stdout))


def rows_of(ours: str, peer: str, found: dict[str, Measured | str]) -> list[Row]:
    one, other = found[ours], found[peer]
    if isinstance(one, str):
        return [unavailable(ours, peer, one)]
    if isinstance(other, str):
        return [Row(ours, "time", "s", one.seconds, "-", None, None), unavailable(ours, peer, other)]
    goal = f"time ({TARGET}: {TARGET_RATIO} times faster)" if ours == next(iter(OURS)) else "time"
    return [
        shorter(ours, "s", one.seconds, peer, other.seconds, goal),
        shorter(ours, "s", one.cpu_s, peer, other.cpu_s, "processor time, all threads"),
        shorter(ours, "times", one.factor, peer, other.factor, "voxels computed"),
        Row(ours, "largest deviation from the whole", "of the span", one.maximum, peer, other.maximum, None),
        Row(ours, "median deviation from the whole", "of the span", one.median, peer, other.median, None),
        shorter(ours, "MiB", one.peak_mib, peer, other.peak_mib, "peak memory"),
    ]


def rows_of_files(found: dict[str, Measured | str]) -> list[Row]:
    one, four = (found[case] for case in FILES)
    name = "ours, from chunks to chunks, 512 MiB"
    if isinstance(one, str) or isinstance(four, str):
        return [unavailable(name, "-", str(one if isinstance(one, str) else four))]
    return [shorter(name, "MiB", four.peak_mib, "a quarter of the volume", one.peak_mib, "peak memory, larger volume")]


def measure(case: str, folder: Path) -> None:
    """In a process of its own: run a case, and print what was measured."""
    if case in FILES:
        print(json.dumps(measure_files(folder, FILES[case]).__dict__))
        return
    volume, path = np.load(folder / "volume.npy"), folder / "net.onnx"
    if case in MONAI:
        work = monai_case(volume, path, *MONAI[case])
    elif case == "whole":
        work = our_case(volume, path, 2**40, None)
    else:
        work = our_case(volume, path, *OURS[case])
    before, start, processor = peak_bytes(), time.perf_counter(), time.process_time()
    result, factor = work()
    used = time.process_time() - processor
    seconds, peak = time.perf_counter() - start, (peak_bytes() - before) / 2**20
    if case == "whole":
        np.save(folder / "whole.npy", result)
    expected = np.load(folder / "whole.npy")
    difference = np.abs(result - expected) / np.ptp(expected)
    values = Measured(seconds, peak, factor, float(np.median(difference)), float(difference.max()), used)
    print(json.dumps(values.__dict__))


def measure_files(folder: Path, slices: int) -> Measured:
    """From a Zarr volume to another one. The memory of the network was measured before."""
    source, target = folder / f"in{slices}.zarr", folder / f"out{slices}.zarr"
    control = RunControl(make_engine("local", EngineOptions(2, 2**29)), overwrite=True, is_checked=False)
    network_cost(load_network(folder / "net.onnx"))
    before, start = peak_bytes(), time.perf_counter()
    apply_network(source, target, folder / "net.onnx", control=control)[0].close()
    return Measured(time.perf_counter() - start, (peak_bytes() - before) / 2**20, 0.0, 0.0, 0.0)


def our_case(volume: Voxels, path: Path, memory_bytes: int, halo: tuple[int, int, int] | None) -> Case:
    network = load_network(path, NetworkForm(halo=halo))
    windows = plan_windows(network, volume.shape, network_cost(network), memory_bytes)
    predictor = Predictor(network, windows, open_network(network, "cpu"), (ValueStatistics(),))
    source = VolumeSource([Volume.from_array(volume)])
    whole = source.volumes[0].box
    factor = windows.computed(whole, source.shape) / prod(source.shape)
    return lambda: (predictor.predict(source, whole)[0], factor)


def monai_case(volume: Voxels, path: Path, overlap: float, is_torch: bool) -> Case:
    import torch
    from monai.inferers import sliding_window_inference

    computed = [0]
    runtime = open_runtime(RuntimeRequest(path.read_bytes(), "cpu"))
    network = to_torch()

    def predict(tensor: torch.Tensor) -> torch.Tensor:
        computed[0] += tensor.numel()
        return network(tensor) if is_torch else torch.from_numpy(runtime.run({"in": tensor.numpy()})[0])

    def work() -> tuple[Voxels, float]:
        tensor = torch.from_numpy(volume)[None, None]
        with torch.inference_mode():
            found = sliding_window_inference(tensor, ROI, 1, predict, overlap=overlap, mode="gaussian")
        return found[0, 0].numpy(), computed[0] / volume.size

    return work


if __name__ == "__main__":
    main()
