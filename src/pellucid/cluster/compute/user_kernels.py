"""Users' functions on blocks: compiled once for each text, run for every voxel.

Here: run_kernel, the computation "kernel"; errors at the user's own line.
Not here: the kernels around the functions (kernels), what functions are given (cluster.kernel_source).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.cluster.compute.registry import BlockView, ComputeContext
from pellucid.dataclass_json import from_json
from pellucid.device import Device, prepare
from pellucid.device.compiler_messages import compiler_messages, fault_in
from pellucid.errors import InvalidInput

PYTHON = re.compile(r"^def\s+\w+\s*\(", re.MULTILINE)
C_TYPES = {
    "u1": "unsigned char", "i1": "signed char", "u2": "unsigned short", "i2": "short", "u4": "unsigned int",
    "i4": "int", "u8": "unsigned long long", "i8": "long long", "f4": "float", "f8": "double",
}  # fmt: skip
MAX_COMPILED = 64
Run = Callable[[Sequence[BlockView], BlockView, Any], None]


@dataclass(frozen=True)
class KernelArguments:
    """As cluster.functions writes them."""

    source: str
    function: str
    parameters: tuple[float, ...] = ()
    is_sequence: bool = False


@dataclass(frozen=True)
class KernelKey:
    """What decides how a function is compiled. types: of the inputs and of the output."""

    source: str
    function: str
    is_sequence: bool
    types: tuple[str, str]


def run_kernel(
    context: ComputeContext, arguments: dict[str, Any], inputs: Sequence[BlockView], output: BlockView | None
) -> None:
    """Run a function for every voxel of the output."""
    given: KernelArguments = from_json(KernelArguments, arguments, "kernel")
    if output is None or not inputs:
        raise InvalidInput("A function needs a block and a result.", remedy="Begin the chain with a block.")
    first = inputs[0]
    if any((one.shape, one.halo, one.dtype) != (first.shape, first.halo, first.dtype) for one in inputs):
        raise InvalidInput("The blocks of a sequence differ.", remedy="Use blocks of one shape, halo and type.")
    types = type_name(first), type_name(output)
    key = KernelKey(given.source, given.function, given.is_sequence, types)
    run = _compiled(key, context)
    run(inputs, output, np.array(given.parameters or (0.0,), np.float32))


def type_name(view: BlockView) -> str:
    """Such as "f4"."""
    return np.dtype(view.dtype).str[1:]


def _compiled(key: KernelKey, context: ComputeContext) -> Run:
    """From what was compiled before, by content. Errors too: Warp explains a failure only once."""
    known: dict[KernelKey, Run | InvalidInput] = context.state.setdefault("kernels", {})
    if key not in known:
        while len(known) >= MAX_COMPILED:
            del known[next(iter(known))]
        try:
            known[key] = compile_kernel(key, context.device)
        except InvalidInput as error:
            known[key] = error
    found = known[key]
    if isinstance(found, InvalidInput):
        raise found
    return found


def compile_kernel(key: KernelKey, device: Device) -> Run:
    """A function that runs the user's on blocks. InvalidInput names the line that does not compile."""
    from pellucid.cluster.compute import kernels

    is_python = PYTHON.search(key.source) is not None
    if is_python and key.is_sequence:
        raise InvalidInput("Python functions do not support sequences.", remedy="Write the function in C++.")
    with compiler_messages() as read:
        try:
            kernel = kernels.of_python(key) if is_python else kernels.of_cpp(key)
            prepare(kernel, device)
        except Exception as error:
            raise _fault(key, read(), error) from error
    run = kernels.run_python if is_python else kernels.run_cpp

    def run_on(inputs: Sequence[BlockView], output: BlockView, parameters: Any) -> None:
        run(kernel, device, inputs, output, parameters)

    return run_on


def _fault(key: KernelKey, messages: str, error: Exception) -> InvalidInput:
    """What the compiler said, in the user's own lines."""
    lines = key.source.splitlines()
    line, why = fault_in(f"{messages}\n{error}", "source")
    if isinstance(error, SyntaxError):
        line, why = error.lineno or 0, error.msg
    if not why:
        text = str(error).strip() or type(error).__name__
        return InvalidInput(f"The function {key.function!r} does not compile: {text[-500:]}.", remedy="Correct it.")
    line = min(line, len(lines))
    where = f"Line {line} of the source of {key.function!r}"
    return InvalidInput(f"{where}: {why}.", remedy="Correct that line.")
