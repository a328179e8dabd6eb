"""How much memory a network takes for a window, measured once for each network, runtime and kind of device.

Here: MemoryModel; measuring it in a process of its own, and keeping the result in the cache folder.
Not here: how large windows become (planning).
"""

import hashlib
import json
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path

from pellucid.box import Shape
from pellucid.dataclass_json import from_json
from pellucid.device.hardware import choose
from pellucid.errors import InvalidInput
from pellucid.infer.network_files.network import Network
from pellucid.python_processes import module_command
from pellucid.settings import current, make_private_folder

EDGES_2D, EDGES_3D = (96, 320), (24, 64)
"""Of the two windows that are measured; the difference is what voxels take."""
TIMEOUT_S = 300
PROBE = 2
"""How it is measured: what an earlier way found is measured again."""


@dataclass(frozen=True)
class MemoryModel:
    """Bytes that a network takes where it runs: once, and for each voxel that it computes at a time."""

    base_bytes: int
    bytes_per_voxel: float

    def cost(self, voxels: int) -> int:
        return self.base_bytes + int(self.bytes_per_voxel * voxels)


def memory_model(network: Network, device: str = "cpu", runtime: str = "") -> MemoryModel:
    """From the cache, or measured now. device: cpu, or the name of a GPU. runtime: what users call it."""
    place = _cached(network, device, runtime)
    try:
        model: MemoryModel = from_json(MemoryModel, json.loads(place.read_text()), place.name)
        return model
    except (OSError, ValueError, InvalidInput):
        found = measure(network, device)
    make_private_folder(place.parent)
    place.write_text(json.dumps(asdict(found)))
    return found


def measure(network: Network, device: str = "cpu") -> MemoryModel:
    """Run the network on two windows in a process of its own, whose memory is its own."""
    windows = [prod(window) for window in _windows(network)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "network.onnx"
        path.write_bytes(network.model)
        shapes = [
            {one.name: _tensor_shape(one.axes, one.shape, w) for one in network.inputs} for w in _windows(network)
        ]
        types = {one.name: one.dtype for one in network.inputs}
        request = json.dumps({"model": str(path), "shapes": shapes, "types": types, "device": device})
        peaks = _run_probe(request)
    before, *used = peaks
    slope = (used[-1] - used[0]) / max(1, windows[-1] - windows[0]) if len(windows) > 1 else used[0] / windows[0]
    # At least the tensors that go in and come out.
    slope = max(
        slope, 4.0 * (sum(one.channels or 1 for one in network.inputs) + network.output_channels * prod(network.scale))
    )
    return MemoryModel(max(0, int(used[0] - slope * windows[0])) + before, slope)


def _windows(network: Network) -> list[Shape]:
    if network.fixed_window is not None:
        return [network.fixed_window]
    edges = EDGES_3D if network.is_3d else EDGES_2D
    steps = network.step
    return [
        (_whole(edge, steps[0]) if network.is_3d else 1, _whole(edge, steps[1]), _whole(edge, steps[2]))
        for edge in edges
    ]


def _whole(edge: int, step: int) -> int:
    return -(-edge // step) * step


def _tensor_shape(axes: str, shape: tuple[int | None, ...], window: Shape) -> list[int]:
    edges = dict(zip("zyx", window, strict=True))
    return [edges.get(letter, length or 1) for letter, length in zip(axes, shape, strict=True)]


def _run_probe(request: str) -> list[int]:
    """Bytes: of the session, then of each window beyond the process without it."""
    command = module_command("pellucid.infer.memory_probe")
    try:
        made = subprocess.run(command, input=request, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
        found = [int(one) for one in json.loads(made.stdout)]
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
