"""A custom shading as a function that kernels call, and the kernel that uses it.

Here: from C++ text; from Python in Warp's language; the ray caster with the function in its inner loop.
Not here: what the text may say, and what is said when it does not compile (user_shading).
"""

# mypy: ignore-errors
# Kernels are written in Warp's language, which a checker of Python's types cannot follow.

import inspect
import linecache
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import warp as wp

from pellucid.rendering.kernels.classification import step_colored_by
from pellucid.rendering.kernels.composite import composite_with
from pellucid.rendering.kernels.light_rays import FoundLight
from pellucid.rendering.kernels.rays import LayerStruct

GIVEN = {
    "value": wp.float32, "color": wp.vec3, "gradient": wp.vec3, "position": wp.vec3, "view": wp.vec3, "light": wp.vec3
}  # fmt: skip
"""What every shading may see, by name."""

KINDS = {"float": wp.float32, "int": wp.int32}

CALL = """
@wp.func
def call_shade(
    value: wp.float32, color: wp.vec3, gradient: wp.vec3, position: wp.vec3, view: wp.vec3, light: wp.vec3,
    parameters: wp.array(dtype=wp.float32),
) -> wp.vec3:
    return shade({arguments})
"""


def composite_shaded_by(shade: Any) -> Any:
    """The kernel: shade(value, color, gradient, position, view, light, parameters) -> colour of a sample."""

    @wp.func
    def color_of(
        layer: LayerStruct,
        slope: wp.vec3,
        direction: wp.vec3,
        at: wp.vec3,
        value: wp.float32,
        base: wp.vec3,
        found: FoundLight,
    ):
        gradient = wp.transpose(layer.to_voxel) * slope
        if not wp.isfinite(gradient):  # Beside voxels that are NaN or infinite.
            gradient = wp.vec3()
        return shade(value, base, gradient, at, -direction, layer.light.towards, layer.parameters)

    return composite_with(step_colored_by(color_of))


def from_cpp(source: str, kinds: Mapping[str, str]) -> Any:
    """A Warp function around C++ text. Its lines are counted from 1 under the name ``shading``.

    kinds: ``float`` or ``int`` for the name of every parameter, in order.
    """
    named = "".join(
        f"const {kind} {name} = ({kind})(parameters[{i}]);\n" for i, (name, kind) in enumerate(kinds.items())
    )
    # On a way through the text that returns nothing, anything might happen: there the colour stays as it is.
    snippet = f'using namespace wp; typedef wp::vec3 vec3;\n{named}#line 1 "shading"\n{source}\nreturn color;\n'

    def shade(
        value: wp.float32,
        color: wp.vec3,
        gradient: wp.vec3,
        position: wp.vec3,
        view: wp.vec3,
        light: wp.vec3,
        parameters: wp.array(dtype=wp.float32),
    ) -> wp.vec3:
        return wp.vec3()

    return wp.func_native(snippet)(shade)


def from_python(source: str, file_name: str, names: Mapping[str, Any]) -> Any:
    """The function ``shade`` that Python text defines, run as a module of that name. names: what it finds there."""
    _show_source(file_name, source)
    module = ModuleType(file_name)
    module.__dict__.update({"wp": wp, **names, "__name__": file_name})
    # Warp asks the module of a function for its source and its names.
    sys.modules[file_name] = module
    exec(compile(source, file_name, "exec"), module.__dict__)
    return module.__dict__["shade"]


def called_with(shade: Any, source: str, file_name: str, kinds: Mapping[str, str]) -> Any:
    """A Warp function that calls ``shade`` with what it names among what is given and its own parameters."""
    module, types = sys.modules[file_name], {**GIVEN, **{name: KINDS[kind] for name, kind in kinds.items()}}
    wanted = names_of(shade)
    if not isinstance(shade, wp.Function):
        shade.__annotations__ = {**{name: types[name] for name in wanted}, **shade.__annotations__}
        shade = wp.func(shade)
    module.__dict__["shade"] = shade
    order = list(kinds)
    arguments = ", ".join(
        name if name in GIVEN else f"wp.{types[name].__name__}(parameters[{order.index(name)}])" for name in wanted
    )
    call = CALL.format(arguments=arguments)
    lines = source.splitlines()
    _show_source(file_name, "\n".join(lines) + "\n" + call)
    exec(compile("\n" * len(lines) + call, file_name, "exec"), module.__dict__)
    return module.__dict__["call_shade"]


def names_of(shade: Any) -> list[str]:
    """The arguments of a shading's function."""
    return list(inspect.signature(function_of(shade)).parameters)


def function_of(shade: Any) -> Any:
    """The Python function, also where it is one of Warp's already."""
    return shade.func if isinstance(shade, wp.Function) else shade


def _show_source(file_name: str, source: str) -> None:
    """Let Warp, which reads the source of what it compiles, find it without a file."""
    linecache.cache[file_name] = (len(source), None, source.splitlines(keepends=True), file_name)
