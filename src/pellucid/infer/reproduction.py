"""Whether a network reproduces the output that its authors published with it.

Here: check_reproduction.
Not here: the files (network_files.manifest), the network (network_files.network).
"""

from dataclasses import replace

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.infer.network_files.manifest import Manifest, read_test_tensor
from pellucid.infer.network_files.network import Network
from pellucid.infer.network_files.transforms import ValueTransform, apply_transforms
from pellucid.infer.runtime import RuntimeRequest, open_runtime
from pellucid.infer.statistics import ValueStatistics, channel_statistics

TOLERANCE = 1e-3
"""Of the span of the expected values, and of each value."""
MAX_MISMATCHED = 1e-4
"""The share of values that may be further off: a threshold turns rounding into a whole step."""


def check_reproduction(network: Network, manifest: Manifest) -> None:
    """Run the test tensors; an error where the result is not the published one. Nothing without test tensors."""
    if not manifest.test_inputs or not manifest.test_outputs:
        return
    inputs = [read_test_tensor(path) for path in manifest.test_inputs]
    expected = read_test_tensor(manifest.test_outputs[0])
    if len(inputs) != len(network.inputs):
        _refuse(network, manifest, f"it has {len(network.inputs)} inputs, and {len(inputs)} test inputs")
    found = _run(network, inputs)
    if found.shape != expected.shape:
        _refuse(network, manifest, f"its output has shape {found.shape} instead of {expected.shape}")
    difference = np.abs(found.astype(np.float64) - expected)
    limit = TOLERANCE * (float(np.ptp(expected)) + np.abs(expected))
    if np.mean(difference > limit) > MAX_MISMATCHED or not np.isfinite(found).all():
        _refuse(network, manifest, f"its output differs by up to {difference.max():.3g}")


def _run(network: Network, inputs: list[Voxels]) -> Voxels:
    form, tensors = network.form, {}
    for tensor, array in zip(network.inputs, inputs, strict=True):
        axes = replace(tensor, shape=array.shape)
        if array.ndim != len(tensor.axes):
            raise InvalidInput(
                f"The test tensor of {network.name} has {array.ndim} axes, and its input {len(tensor.axes)}.",
                remedy="Download the network again.",
            )
        windows = axes.unpack(array)
        statistics = _statistics(form.preprocess, windows)
        tensors[tensor.name] = axes.pack(apply_transforms(form.preprocess, windows, statistics))
    (output, *_) = open_runtime(RuntimeRequest(network.model, "cpu")).run(tensors)
    unpacked = network.output.unpack(output)
    done = apply_transforms(form.postprocess, unpacked, _statistics(form.postprocess, unpacked))
    return replace(network.output, dtype=str(done.dtype)).pack(done)


def _statistics(transforms: tuple[ValueTransform, ...], windows: Voxels) -> tuple[ValueStatistics, ...]:
    """Of each channel of the test tensor itself."""
    percents = {percent for one in transforms for percent in one.percents}
    return channel_statistics(windows.swapaxes(0, 1), percents)


def _refuse(network: Network, manifest: Manifest, why: str) -> None:
    raise InvalidInput(
        f"{network.name} does not reproduce the test output of {manifest.path}: {why}.",
        remedy="Download the network again, or apply its .onnx file without the description.",
    )
