"""Kernels around users' functions.

Here: the kernel of a C++ function and of a Python function, and how they are launched.
Not here: errors in what users wrote, which functions were compiled (user_kernels).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import hashlib
import linecache
import sys
from types import ModuleType
from typing import Any

import numpy as np
import warp as wp

from pellucid.device import LaunchRange, launch, runtime

SNIPPET = """
struct In {{
    const {kind_in}* data; long long across, down; int depth, height, width;
    CUDA_CALLABLE {kind_in} operator()(int z, int y, int x) const {{ return data[z * across + y * down + x]; }}
}};
struct Out {{
    {kind_out}* data; long long across, down; int depth, height, width;
    CUDA_CALLABLE {kind_out}& operator()(int z, int y, int x) const {{ return data[z * across + y * down + x]; }}
}};
struct User {{
#line 1 "source"
{source}
#line 1 "kernel"
}};
User user;
In in[{most}];
for (int i = 0; i < count && i < {most}; ++i)
    in[i] = In{{(const {kind_in}*)addresses[i], layout[0], layout[1], (int)layout[2], (int)layout[3], (int)layout[4]}};
Out out = Out{{({kind_out}*)addresses[count], layout[5], layout[6], (int)layout[7], (int)layout[8], (int)layout[9]}};
for (int x = column; x < column + columns && x < out.width; ++x)
    user.{function}({inputs}, out, z, y, x, &parameters[0]);
"""
MAX_INPUTS = 64


def of_cpp(key: Any) -> Any:
    """A kernel that calls a C++ function for every voxel of the output."""
    from pellucid.cluster.compute.user_kernels import C_TYPES

    kinds = dict(zip(("kind_in", "kind_out"), (C_TYPES[name] for name in key.types), strict=True))
    inputs, most = ("in, count", MAX_INPUTS) if key.is_sequence else ("in[0]", 1)
    snippet = SNIPPET.format(source=key.source, function=key.function, inputs=inputs, most=most, **kinds)

    def call(
        addresses: wp.array(dtype=wp.uint64),
        layout: wp.array(dtype=wp.int64),
        parameters: wp.array(dtype=wp.float32),
        count: wp.int32,
        columns: wp.int32,
        z: wp.int32,
        y: wp.int32,
        column: wp.int32,
    ):
        pass

    call.__name__ = call.__qualname__ = f"call_{_digest(key)}"
    function = wp.func_native(snippet)(call)

    @wp.kernel(enable_backward=False, module="unique")
    def run(
        first: wp.int32,
        addresses: wp.array(dtype=wp.uint64),
        layout: wp.array(dtype=wp.int64),
        parameters: wp.array(dtype=wp.float32),
        count: wp.int32,
        columns: wp.int32,
    ):
        z, y, x = wp.tid()
        function(addresses, layout, parameters, count, columns, z + first, y, x * columns)

    return run


def run_cpp(kernel: Any, device: Any, inputs: Any, output: Any, parameters: Any) -> None:
    name = device.name
    addresses = wp.array([_core_address(view) for view in (*inputs, output)], dtype=wp.uint64, device=name)
    layout = wp.array(np.array([*_layout(inputs[0]), *_layout(output)], np.int64), dtype=wp.int64, device=name)
    depth, height, width = output.shape
    columns = 1 if device.is_cuda else width  # On a CPU the function is inlined into a loop over a row.
    shape = (depth, height, -(-width // columns))
    given = [addresses, layout, wp.array(parameters, dtype=wp.float32, device=name), len(inputs), columns]
    launch(kernel, LaunchRange(shape, heft=columns), given, [], device)


def of_python(key: Any) -> Any:
    """A kernel that calls a Python function in Warp's language."""
    name = f"<source {_digest(key)}>"
    linecache.cache[name] = (len(key.source), None, key.source.splitlines(keepends=True), name)
    module = ModuleType(name)
    module.__dict__.update({"wp": wp, "__name__": name})
    sys.modules[name] = module  # Warp asks the module of a function for its source and its names.
    exec(compile(key.source, name, "exec"), module.__dict__)
    plain = module.__dict__[key.function]
    read, written = (getattr(wp, WARP_TYPES[kind]) for kind in key.types)
    types = (wp.array3d(dtype=read), wp.int32, wp.int32, wp.int32, wp.array(dtype=wp.float32))
    plain.__annotations__ = dict(zip(plain.__code__.co_varnames, types, strict=False))
    function = wp.func(plain)

    @wp.kernel(enable_backward=False, module="unique")
    def run(
        first: wp.int32,
        block: wp.array3d(dtype=read),
        halo: wp.vec3i,
        parameters: wp.array(dtype=wp.float32),
        width: wp.int32,
        out: wp.array3d(dtype=written),
    ):
        z, y, part = wp.tid()
        z += first
        for i in range(width):
            x = part * width + i
            if x < out.shape[2]:
                out[z, y, x] = written(function(block, z + halo[0], y + halo[1], x + halo[2], parameters))

    return run


WARP_TYPES = {
    "u1": "uint8", "i1": "int8", "u2": "uint16", "i2": "int16", "u4": "uint32", "i4": "int32", "u8": "uint64",
    "i8": "int64", "f4": "float32", "f8": "float64",
}  # fmt: skip


def run_python(kernel: Any, device: Any, inputs: Any, output: Any, parameters: Any) -> None:
    name = device.name
    block = inputs[0]
    columns = 1 if device.is_cuda else output.shape[2]
    shape = (*output.shape[:2], -(-output.shape[2] // columns))
    given = [
        as_warp(block.outer, name),
        wp.vec3i(*block.halo),
        wp.array(parameters, dtype=wp.float32, device=name),
        columns,
    ]
    launch(kernel, LaunchRange(shape, heft=columns), given, [as_warp(output.core, name)], device)


def as_warp(array: Any, device_name: str) -> Any:
    """A Warp array in the same memory."""
    if not isinstance(array, np.ndarray):
        return array
    # Not wp.array: in a process that begins with this, Warp would start with a folder of its own for kernels.
    return runtime.start().array(array, device=device_name, copy=False)


def _core_address(view):
    core = view.core
    return core.ctypes.data if isinstance(core, np.ndarray) else core.ptr


def _layout(view):
    """Elements from plane to plane and from row to row, then the edges."""
    size = view.dtype.itemsize
    return [view.outer.strides[0] // size, view.outer.strides[1] // size, *view.shape]


def _digest(key):
    return hashlib.sha256(repr(key).encode()).hexdigest()[:16]
