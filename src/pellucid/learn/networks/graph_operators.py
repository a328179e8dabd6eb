"""ONNX operators in PyTorch.

Here: a function for each operator whose arguments differ from those of PyTorch.
Not here: which operator is which function (graph_import).
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from pellucid.errors import InvalidInput

MODES = {"linear": {3: "linear", 4: "bilinear", 5: "trilinear"}, "nearest": {}}
CONVOLUTIONS = {3: functional.conv1d, 4: functional.conv2d, 5: functional.conv3d}
TRANSPOSED = {3: functional.conv_transpose1d, 4: functional.conv_transpose2d, 5: functional.conv_transpose3d}
MAX_POOLS = {3: functional.max_pool1d, 4: functional.max_pool2d, 5: functional.max_pool3d}
AVERAGE_POOLS = {3: functional.avg_pool1d, 4: functional.avg_pool2d, 5: functional.avg_pool3d}


def identity(x: Tensor, *_: Any, **__: Any) -> Tensor:
    return x


def leaky_relu(x: Tensor, alpha: float = 0.01) -> Tensor:
    return functional.leaky_relu(x, alpha)


def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    return functional.elu(x, alpha)


def prelu(x: Tensor, slope: Tensor) -> Tensor:
    return torch.where(x < 0, x * slope, x)


def hard_sigmoid(x: Tensor, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
    return (x * alpha + beta).clamp(0, 1)


def clip(x: Tensor, low: Any = None, high: Any = None, **limits: float) -> Tensor:
    low, high = limits.get("min", low), limits.get("max", high)
    return x if low is None and high is None else x.clamp(low, high)


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    return x.softmax(axis)


def concat(*inputs: Tensor, axis: int) -> Tensor:
    return torch.cat(inputs, axis)


def convolution(x: Tensor, weight: Tensor, bias: Tensor | None = None, **options: Any) -> Tensor:
    axes = x.ndim - 2
    x, padding = _padded(x, options, axes, 0.0, tuple(weight.shape[2:]))
    strides, dilations = options.get("strides") or [1] * axes, options.get("dilations") or [1] * axes
    return CONVOLUTIONS[x.ndim](x, weight, bias, strides, padding, dilations, options.get("group", 1))


def transposed_convolution(x: Tensor, weight: Tensor, bias: Tensor | None = None, **options: Any) -> Tensor:
    axes = x.ndim - 2
    pads = options.get("pads") or [0] * 2 * axes
    if pads[:axes] != pads[axes:] or options.get("auto_pad", "NOTSET") != "NOTSET" or "output_shape" in options:
        raise _uncommon("ConvTranspose with uneven padding")
    strides, dilations = options.get("strides") or [1] * axes, options.get("dilations") or [1] * axes
    extra = options.get("output_padding") or [0] * axes
    apply = TRANSPOSED[x.ndim]
    return apply(x, weight, bias, strides, pads[:axes], extra, options.get("group", 1), dilations)


def batch_normalisation(
    x: Tensor, scale: Tensor, shift: Tensor, mean: Tensor, variance: Tensor, **options: Any
) -> Tensor:
    return functional.batch_norm(x, mean, variance, scale, shift, eps=options.get("epsilon", 1e-5))


def instance_normalisation(x: Tensor, scale: Tensor, shift: Tensor, epsilon: float = 1e-5) -> Tensor:
    return functional.instance_norm(x, weight=scale, bias=shift, eps=epsilon)


def max_pool(x: Tensor, **options: Any) -> Tensor:
    edges = options["kernel_shape"]
    x, padding = _padded(x, options, len(edges), float("-inf"), edges)
    strides, dilations = options.get("strides") or [1] * len(edges), options.get("dilations") or [1] * len(edges)
    return MAX_POOLS[x.ndim](x, edges, strides, padding, dilations, bool(options.get("ceil_mode")))


def average_pool(x: Tensor, **options: Any) -> Tensor:
    edges = options["kernel_shape"]
    pads = options.get("pads") or [0] * 2 * len(edges)
    if pads[: len(edges)] != pads[len(edges) :] or options.get("auto_pad", "NOTSET") != "NOTSET":
        raise _uncommon("AveragePool with uneven padding")
    strides, counted = options.get("strides") or [1] * len(edges), bool(options.get("count_include_pad"))
    apply = AVERAGE_POOLS[x.ndim]
    return apply(x, edges, strides, pads[: len(edges)], bool(options.get("ceil_mode")), counted)


def global_average_pool(x: Tensor) -> Tensor:
    return x.mean(tuple(range(2, x.ndim)), keepdim=True)


def mean(x: Tensor, axes: Sequence[int] | None = None, **options: Any) -> Tensor:
    axes = options.get("axes") or axes or list(range(x.ndim))
    return x.mean(tuple(axes), keepdim=bool(options.get("keepdims", 1)))


def resize(x: Tensor, _: Any = None, scales: Any = None, sizes: Any = None, **options: Any) -> Tensor:
    factors = [float(factor) for factor in scales[2:]] if scales else None
    edges = [int(edge) for edge in sizes[2:]] if sizes else None
    mode, places = options.get("mode", "nearest"), options.get("coordinate_transformation_mode", "half_pixel")
    if mode == "nearest":
        return _nearest(x, factors, edges, options)
    if mode not in MODES or places not in ("half_pixel", "pytorch_half_pixel", "align_corners"):
        raise _uncommon(f"Resize ({mode}, {places})")
    corners = places == "align_corners"
    return functional.interpolate(x, edges, factors, MODES[mode][x.ndim], align_corners=corners)


def _nearest(x: Tensor, factors: list[float] | None, edges: list[int] | None, options: dict[str, Any]) -> Tensor:
    """By whole factors every rounding gives the same."""
    after = edges or [int(n * factor) for n, factor in zip(x.shape[2:], factors or [], strict=True)]
    if any(edge % n for edge, n in zip(after, x.shape[2:], strict=True)):
        raise _uncommon("Resize (nearest) by broken factors")
    is_shifted = options.get("nearest_mode", "round_prefer_floor") != "floor"
    if is_shifted and options.get("coordinate_transformation_mode", "half_pixel") == "asymmetric":
        raise _uncommon("Resize (nearest, asymmetric, rounded)")
    return functional.interpolate(x, after, mode="nearest")


def upsample(x: Tensor, scales: Sequence[float], mode: str = "nearest") -> Tensor:
    if mode != "nearest":
        raise _uncommon(f"Upsample ({mode})")
    return functional.interpolate(x, scale_factor=[float(factor) for factor in scales[2:]], mode="nearest")


def gather(x: Tensor, indices: Any, axis: int = 0) -> Tensor:
    if not isinstance(indices, list):
        return x.select(axis, int(indices))
    if indices == list(range(indices[0], indices[0] + len(indices))):
        return x.narrow(axis, indices[0], len(indices))  # A view.
    return x.index_select(axis, torch.tensor(indices, device=x.device))


def pad(x: Tensor, widths: Any = None, value: Any = None, **options: Any) -> Tensor:
    widths = options.get("pads") or widths
    mode = options.get("mode", "constant")
    filling = options.get("value", value) or 0.0
    return functional.pad(x, _pairs(widths), "replicate" if mode == "edge" else mode, **_filled(mode, filling))


def _filled(mode: str, value: Any) -> dict[str, float]:
    number = value[0] if isinstance(value, list) else value
    return {"value": float(number)} if mode == "constant" else {}


def transpose(x: Tensor, perm: Sequence[int] | None = None) -> Tensor:
    return x.permute(*(perm or range(x.ndim - 1, -1, -1)))


def squeeze(x: Tensor, axes: Any = None, **options: Any) -> Tensor:
    chosen = options.get("axes") or axes
    return x.squeeze(tuple(chosen)) if chosen else x.squeeze()


def unsqueeze(x: Tensor, axes: Any = None, **options: Any) -> Tensor:
    chosen, count = options.get("axes") or axes, x.ndim
    for axis in sorted(one % (count + len(chosen)) for one in chosen):
        x = x.unsqueeze(axis)
    return x


def _padded(
    x: Tensor, options: dict[str, Any], axes: int, value: float, kernel: Sequence[int]
) -> tuple[Tensor, list[int]]:
    """The tensor, padded here where both sides differ; and the padding that is left to the operator."""
    pads = list(options.get("pads") or [0] * 2 * axes)
    if (auto := options.get("auto_pad", "NOTSET")) not in ("NOTSET", "VALID"):
        if any(stride != 1 for stride in options.get("strides") or [1] * axes):
            raise _uncommon("Padding to the same size with strides")
        dilations = options.get("dilations") or [1] * axes
        totals = [d * (k - 1) for k, d in zip(kernel, dilations, strict=True)]
        low, high = [n // 2 for n in totals], [n - n // 2 for n in totals]
        pads = [*low, *high] if auto == "SAME_UPPER" else [*high, *low]
    if pads[:axes] == pads[axes:]:
        return x, pads[:axes]
    return functional.pad(x, _pairs([0, 0, *pads[:axes], 0, 0, *pads[axes:]]), value=value), [0] * axes


def _pairs(widths: Sequence[int]) -> list[int]:
    """ONNX has all widths before, then all behind; PyTorch has pairs, the last axis first."""
    axes = len(widths) // 2
    pairs = [(int(widths[axis]), int(widths[axis + axes])) for axis in range(axes - 1, -1, -1)]
    while pairs and pairs[-1] == (0, 0):
        pairs.pop()
    return list(chain.from_iterable(pairs))


def _uncommon(what: str) -> InvalidInput:
    return InvalidInput(
        f"{what} cannot be run by PyTorch here.",
        remedy="Run the network with --device cpu, or install onnxruntime-gpu.",
    )
