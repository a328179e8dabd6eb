"""What a network takes for a window, measured once for each network, runtime and kind of device.

Here: MemoryModel and WindowSpeeds; measuring them in a process of its own, and keeping the result in the cache folder.
Not here: how large windows become (planning).
"""

import hashlib
import json
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.box import Shape
from pellucid.dataclass_json import from_json
from pellucid.device.hardware import choose
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.infer.network_files.network import Network
from pellucid.python_processes import module_command
from pellucid.settings import current, make_private_folder

EDGES_2D, EDGES_3D = (96, 160, 320), (24, 32, 64)
"""Of the windows whose memory is measured; the difference is what voxels take. The last one is left out where it would
take too long."""
TIMED_2D, TIMED_3D = (128, 256, 512, 1024, 2048), (32, 48, 64, 96, 128, 160, 208)
"""Of the windows that are timed on a CPU, up to those that take too long."""
MIN_TIMED_VOXELS = 2**23
"""Of a volume. Smaller ones are done before the best window is known."""
TIMEOUT_S = 300
PROBE = 4
"""How it is measured: what an earlier way found is measured again."""


@dataclass(frozen=True)
class MemoryModel:
    """Bytes that a network takes where it runs: once, and for each voxel that it computes at a time."""

    base_bytes: int
    bytes_per_voxel: float

    def cost(self, voxels: int) -> int:
        return self.base_bytes + int(self.bytes_per_voxel * voxels)


@dataclass(frozen=True)
class WindowSpeeds:
    """points: voxels of a window, and the seconds that each of them takes, smallest window first; none where it was not
    measured. Small windows stay in the caches of a CPU, large ones do not."""

    points: tuple[tuple[int, float], ...] = ()

    def seconds(self, windows: Voxels) -> Voxels:
        """Of a voxel in windows of so many; between measured windows in proportion to the logarithm of their size.

        >>> WindowSpeeds(((100, 1.0), (10000, 3.0))).seconds(np.array([10, 1000])).round(6).tolist()
        [1.0, 2.0]
        """
        if not self.points:
            return np.ones(len(windows))
        sizes, taken = zip(*self.points, strict=True)
        seconds: Voxels = np.interp(np.log(windows), np.log(sizes), taken)
        return seconds


@dataclass(frozen=True)
class NetworkCost:
    memory: MemoryModel
    speeds: WindowSpeeds = WindowSpeeds()


def network_cost(
    network: Network, device: str = "cpu", runtime: str = "", *, voxels: int = MIN_TIMED_VOXELS
) -> NetworkCost:
    """From the cache, or measured now. device: cpu, or the name of a GPU. runtime: what users call it. voxels: of the
    volume; for few of them only memory is measured."""
    place = _cached(network, device, runtime)
    is_timed = device == "cpu" and network.fixed_window is None and voxels >= MIN_TIMED_VOXELS
    with suppress(OSError, ValueError, InvalidInput):
        cost: NetworkCost = from_json(NetworkCost, json.loads(place.read_text()), place.name)
        if cost.speeds.points or not is_timed:
            return cost
    found = measure(network, device, is_timed=is_timed)
    make_private_folder(place.parent)
    place.write_text(json.dumps(asdict(found)))
    return found


def measure(network: Network, device: str = "cpu", *, is_timed: bool = False) -> NetworkCost:
    """Run the network on some windows in a process of its own, whose memory is its own."""
    windows = [prod(window) for window in _windows(network, (EDGES_2D, EDGES_3D))]
    timed = _windows(network, (TIMED_2D, TIMED_3D)) if is_timed else []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "network.onnx"
        path.write_bytes(network.model)
        request = {
            "model": str(path),
            "shapes": [_shapes(network, one) for one in _windows(network, (EDGES_2D, EDGES_3D))],
            "timed": [(prod(one), _shapes(network, one)) for one in timed],
            "types": {one.name: one.dtype for one in network.inputs},
            "device": device,
            "voxels": windows,
            "max_timed_bytes": current().memory_bytes // 4,
        }
        found = _run_probe(json.dumps(request))
    speeds = WindowSpeeds(tuple((int(voxels), float(taken)) for voxels, taken in found["speeds"]))
    return NetworkCost(_memory_of(network, windows[: len(found["bytes"]) - 1], found["bytes"]), speeds)


def _memory_of(network: Network, windows: list[int], peaks: list[int]) -> MemoryModel:
    """peaks: of the session, then of each window."""
    before, *used = peaks
    slope = (used[-1] - used[0]) / max(1, windows[-1] - windows[0]) if len(windows) > 1 else used[0] / windows[0]
    # At least the tensors that go in and come out.
    slope = max(
        slope, 4.0 * (sum(one.channels or 1 for one in network.inputs) + network.output_channels * prod(network.scale))
    )
    return MemoryModel(max(0, int(used[0] - slope * windows[0])) + before, slope)


def _windows(network: Network, choices: tuple[tuple[int, ...], tuple[int, ...]]) -> list[Shape]:
    """choices: edges for 2D, and for 3D."""
    if network.fixed_window is not None:
        return [network.fixed_window]
    edges = choices[1] if network.is_3d else choices[0]
    steps = network.step
    windows: list[Shape] = [
        (_whole(edge, steps[0]) if network.is_3d else 1, _whole(edge, steps[1]), _whole(edge, steps[2]))
        for edge in edges
    ]
    return list(dict.fromkeys(windows))


def _whole(edge: int, step: int) -> int:
    return -(-edge // step) * step


def _tensor_shape(axes: str, shape: tuple[int | None, ...], window: Shape) -> list[int]:
    edges = dict(zip("zyx", window, strict=True))
    return [edges.get(letter, length or 1) for letter, length in zip(axes, shape, strict=True)]


def _shapes(network: Network, window: Shape) -> dict[str, list[int]]:
    return {one.name: _tensor_shape(one.axes, one.shape, window) for one in network.inputs}


def _run_probe(request: str) -> dict[str, Any]:
    """bytes: of the session, then of each window beyond the process without it. speeds: as in WindowSpeeds."""
    command = module_command("pellucid.infer.memory_probe")
    try:
        made = subprocess.run(command, input=request, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
        found: dict[str, Any] = json.loads(made.stdout)
    except (subprocess.SubprocessError, ValueError) as error:
        raise InvalidInput(
            "The memory of the network could not be measured: it failed on a small window.",
            remedy="Run it with --window Z,Y,X, or on a machine with more memory.",
        ) from error
    return found


def _cached(network: Network, device: str, runtime: str) -> Path:
    from importlib.metadata import version

    where = "cpu" if device == "cpu" else choose(device).label
    facts = f"{network.digest} {network.form.axes} {version('onnxruntime')} {runtime} {where} {PROBE}"
    key = hashlib.sha256(facts.encode()).hexdigest()[:32]
    return current().cache_folder / "networks" / f"{key}.json"
