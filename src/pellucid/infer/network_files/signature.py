"""The signature of a network: its tensors and what their axes mean.

Here: TensorSignature, and guessing axes where a file does not state them.
Not here: the graph behind it (graph), trying it (probing).
"""

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from pellucid.box import Shape, triple
from pellucid.errors import Corrupted, InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.infer.network_files.onnx_file import onnx_package

if TYPE_CHECKING:
    import onnx

MAX_CHANNELS = 1024
MAX_AXIS = 2**20
MAX_TENSOR = 2**30
"""Larger ones in a file are a fault of it: no device computes them at once."""


@dataclass(frozen=True)
class TensorSignature:
    """axes: one letter each: b (batch), c (channel), z, y, x. shape: None where it follows from the input."""

    name: str
    axes: str
    shape: tuple[int | None, ...]
    dtype: str

    @property
    def spatial(self) -> str:
        return "".join(letter for letter in self.axes if letter in "zyx")

    @property
    def channels(self) -> int | None:
        return self.length("c") if "c" in self.axes else 1

    def length(self, letter: str) -> int | None:
        return self.shape[self.axes.index(letter)]

    @property
    def fixed_window(self) -> Shape | None:
        """(z, y, x) where the file fixes every spatial axis; 1 for an axis that it does not have."""
        lengths = [self.length(letter) if letter in self.axes else 1 for letter in "zyx"]
        return None if None in lengths else triple(lengths)  # type: ignore[arg-type]

    def pack(self, windows: Voxels) -> Voxels:
        """From (window, channel, z, y, x) to this tensor's axes; windows of a 2D network have one slice."""
        letters, packed = "bczyx", windows
        for letter in "bczyx":
            if letter not in self.axes:
                packed = np.take(packed, 0, axis=letters.index(letter))
                letters = letters.replace(letter, "")
        order = [letters.index(letter) for letter in self.axes]
        return np.ascontiguousarray(packed.transpose(order), dtype=self.dtype)

    def unpack(self, tensor: Voxels) -> Voxels:
        """From this tensor's axes to (window, channel, z, y, x). Booleans become 0 and 1, which can be compared."""
        tensor = tensor.astype(np.uint8) if tensor.dtype == np.bool_ else tensor
        letters = [letter for letter in "bczyx" if letter in self.axes]
        ordered = tensor.transpose([self.axes.index(letter) for letter in letters])
        for axis, letter in enumerate("bczyx"):
            if letter not in self.axes:
                ordered = np.expand_dims(ordered, axis)
        return ordered


def read_tensor(path: str, value: "onnx.ValueInfoProto", axes: str | None) -> TensorSignature:
    """The signature of an input or output of a graph; axes are guessed where they are not given."""
    kind = value.type.tensor_type
    if not kind.HasField("shape") or kind.elem_type == 0:
        raise InvalidInput(
            f"{path} does not state the shape of its tensor {value.name!r}.", remedy="Export the network with shapes."
        )
    shape = tuple(dim.dim_value if dim.dim_value > 0 else None for dim in kind.shape.dim)
    if any(length is not None and length > MAX_AXIS for length in shape):
        raise InvalidInput(
            f"The tensor {value.name!r} of {path} has shape {shape}.", remedy=f"Use axes of at most {MAX_AXIS:,}."
        )
    if prod(length or 1 for length in shape) > MAX_TENSOR:
        raise InvalidInput(
            f"The tensor {value.name!r} of {path} has shape {shape}: more than {MAX_TENSOR:,} voxels.",
            remedy="Export the network with a free or a smaller window.",
        )
    letters = parse_axes(path, value.name, axes, shape) if axes else guess_axes(path, value.name, shape)
    return TensorSignature(value.name, letters, shape, _dtype(path, value))


def _dtype(path: str, value: "onnx.ValueInfoProto") -> str:
    try:
        dtype = str(onnx_package().helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type))
    except KeyError:
        raise Corrupted(path, f"the type of its tensor {value.name!r} is unknown") from None
    return dtype


def parse_axes(path: str, name: str, axes: str, shape: tuple[int | None, ...]) -> str:
    is_valid = len(axes) == len(shape) and len(set(axes)) == len(axes) and set(axes) <= set("bczyx")
    if not is_valid or not {"y", "x"} <= set(axes):
        raise InvalidInput(
            f"The axes {axes!r} do not fit the tensor {name!r} of {path}, which has {len(shape)} axes.",
            remedy="Use one letter for each axis: b (batch), c (channel), z, y and x, such as bcyx or bzyxc.",
        )
    return axes


def guess_axes(path: str, name: str, shape: tuple[int | None, ...]) -> str:
    """Channels first, unless only the last axis is short enough to be channels.

    >>> guess_axes("net.onnx", "input", (1, 512, 512, 3)), guess_axes("net.onnx", "input", (None, 1, None, None, None))
    ('byxc', 'bczyx')
    """
    spatial = {2: "yx", 3: "yx", 4: "yx", 5: "zyx"}.get(len(shape))
    if spatial is None:
        raise InvalidInput(
            f"The tensor {name!r} of {path} has {len(shape)} axes.",
            remedy="Use a network whose input has a batch, a channel and two or three spatial axes.",
        )
    if len(shape) < 4:
        return "b" * (len(shape) - 2) + spatial
    first, last = shape[1], shape[-1]
    is_last = last is not None and last <= MAX_CHANNELS and (first is None or last < first)
    return f"b{spatial}c" if is_last else f"bc{spatial}"
