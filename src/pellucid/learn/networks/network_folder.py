"""The folder of a trained network: ONNX, bioimage.io's description, and test tensors.

Here: NetworkDescription, write_network.
Not here: reading such a folder (infer.network_files).
"""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
import yaml
from torch import nn

from pellucid.formats.protocol import Voxels
from pellucid.infer.network_files.network import Network, NetworkForm, examine_network
from pellucid.learn.networks.graph_export import INPUT, OUTPUT, to_onnx

FORMAT = "0.5.4"
MODEL, MANIFEST, TEST_INPUT, TEST_OUTPUT = "network.onnx", "bioimageio.yaml", "test_input.npy", "test_output.npy"


@dataclass(frozen=True)
class NetworkDescription:
    """name, text: for users. axes: 2 or 3. channels, outputs: of the tensors. step: what edges of windows are multiples
    of. scale: output voxels for an input voxel; empty for 1. facts: how it was trained."""

    name: str
    text: str
    axes: int
    channels: int
    outputs: int
    step: tuple[int, ...]
    scale: tuple[int, ...] = ()
    facts: dict[str, Any] | None = None

    @property
    def letters(self) -> str:
        return "zyx"[-self.axes :]


def write_network(network: nn.Module, description: NetworkDescription, folder: Path, example: Voxels) -> Network:
    """Write a network that takes voxel values. example: (channel, [z,] y, x), which becomes the test tensor."""
    network = network.cpu().float().eval()
    content = to_onnx(network, description.channels, description.outputs, description.axes, description.scale)
    test = np.ascontiguousarray(example[None], np.float32)
    with torch.no_grad():
        result = network(torch.from_numpy(test)).numpy()
    (folder / MODEL).write_bytes(content)
    np.save(folder / TEST_INPUT, test)
    np.save(folder / TEST_OUTPUT, result)
    letters = f"bc{description.letters}"
    form = NetworkForm(axes=letters, output_axes=letters)
    examined = examine_network(str(folder / MODEL), onnx.load_from_string(content), form)
    document = _document(description, folder, examined)
    (folder / MANIFEST).write_text(yaml.safe_dump(document, sort_keys=False, allow_unicode=True))
    return examined


def _document(description: NetworkDescription, folder: Path, network: Network) -> dict[str, Any]:
    return {
        "format_version": FORMAT,
        "type": "model",
        "name": description.name,
        "description": description.text,
        "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
        "authors": [{"name": "Pellucid"}],
        "cite": [{"text": "Trained with Pellucid", "url": "https://bioimage.io"}],
        "license": "CC0-1.0",
        "tags": ["pellucid"],
        "inputs": [_tensor(INPUT, _input_axes(description), folder, TEST_INPUT)],
        "outputs": [_tensor(OUTPUT, _output_axes(description, network), folder, TEST_OUTPUT)],
        "weights": {"onnx": {**_file(folder, MODEL), "opset_version": 18}},
        "config": {"pellucid": description.facts or {}},
    }


def _tensor(name: str, axes: list[dict[str, Any]], folder: Path, test: str) -> dict[str, Any]:
    return {"id": name, "axes": axes, "data": {"type": "float32"}, "test_tensor": _file(folder, test)}


def _input_axes(description: NetworkDescription) -> list[dict[str, Any]]:
    space = [
        {"type": "space", "id": letter, "size": {"min": step, "step": step}}
        for letter, step in zip(description.letters, description.step, strict=True)
    ]
    return [*_channels("input", description.channels), *space]


def _output_axes(description: NetworkDescription, network: Network) -> list[dict[str, Any]]:
    radius = dict(zip("zyx", network.radius or (0, 0, 0), strict=True))
    space = []
    for number, letter in enumerate(description.letters):
        factor = description.scale[number] if description.scale else 1
        axis = {"type": "space", "id": letter, "size": {"tensor_id": INPUT, "axis_id": letter}}
        space.append({**axis, "halo": radius[letter] * factor, **({"scale": 1 / factor} if factor > 1 else {})})
    return [*_channels("output", description.outputs), *space]


def _channels(name: str, count: int) -> list[dict[str, Any]]:
    return [{"type": "batch"}, {"type": "channel", "channel_names": [f"{name}{number}" for number in range(count)]}]


def _file(folder: Path, name: str) -> dict[str, str]:
    return {"source": name, "sha256": hashlib.sha256((folder / name).read_bytes()).hexdigest()}
