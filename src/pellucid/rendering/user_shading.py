"""Custom shadings, compiled into the inner loop of the ray caster at run time.

Here: reading the declared parameters, compiling, and errors at the user's own line.
Not here: who may bring code (instance), drawing with it (renderer).

A shading gives the colour of one sample. It sees ``value`` (float), ``color`` (vec3, from the transfer function),
``gradient`` (vec3, change of the value per world unit), ``position`` (vec3, voxel coordinates x, y, z), ``view`` and
``light`` (vec3, unit vectors to the eye and to the light), and its own parameters by name, each declared on a line of
its own, after ``//@`` in C++ and after ``#@`` in Python. It is either the body of a C++ function that returns a vec3:

    //@ strength = 0.5 in 0 .. 2
    float rim = 1.0f - abs(dot(normalize(gradient), view));
    return color * (1.0f + strength * rim);

or a Python function ``shade`` in Warp's language, with those of the names as arguments that it uses:

    #@ strength = 0.5 in 0 .. 2
    def shade(color, gradient, view, strength):
        rim = 1.0 - wp.abs(wp.dot(wp.normalize(gradient), view))
        return color * (1.0 + strength * rim)
"""

import hashlib
import inspect
import re
import textwrap
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pellucid.device import Device, prepare
from pellucid.device.compiler_messages import compiler_messages, fault_in
from pellucid.errors import InvalidInput, ShadingInvalid

DECLARATION = re.compile(r"^\s*(?://|#)\s*@\s*(?:(float|int)\s+)?(\w+)\s*=\s*(\S+)\s+in\s+(\S+)\s*\.\.\s*(\S+)\s*$")
MARK = re.compile(r"^\s*(//|#)\s*@")
PYTHON = re.compile(r"^def\s+shade\s*\(", re.MULTILINE)
RETURN = re.compile(r"\breturn\b")
CORRECT = "Correct that line; the last working shading stays active."
MAX_PARAMETERS = 32


@dataclass(frozen=True)
class Parameter:
    """A number that the shading lets be chosen: what a slider needs to know. kind: ``float`` or ``int``."""

    name: str
    default: float
    low: float
    high: float
    kind: str = "float"

    def checked(self, value: float) -> float:
        """A value that may be chosen; of an int, the nearest whole number."""
        if not self.low <= value <= self.high:
            raise InvalidInput(
                f"Invalid value of {self.name}: {value:g}.", remedy=f"Use a value from {self.low:g} to {self.high:g}."
            )
        return float(round(value)) if self.kind == "int" else value


@dataclass(frozen=True)
class UserShading:
    """A shading as text. Its name in a scene is ``hash``. names: what Python text finds besides ``wp``.

    >>> UserShading("//@ gain = 1 in 0 .. 4\\nreturn color * gain;").parameters
    (Parameter(name='gain', default=1.0, low=0.0, high=4.0, kind='float'),)
    """

    source: str
    names: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, shade: Callable[..., Any]) -> "UserShading":
        """From a Python function of the name ``shade``, with what it finds where it was written."""
        from pellucid.rendering.kernels.user_shading import function_of

        function = function_of(shade)
        source = textwrap.dedent(inspect.getsource(function))
        closed = inspect.getclosurevars(function)
        return cls(source, {**closed.globals, **closed.nonlocals})

    @property
    def hash(self) -> str:
        return hashlib.sha256(self.source.encode()).hexdigest()[:16]

    @property
    def is_python(self) -> bool:
        return PYTHON.search(self.source) is not None

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        found = [_declared(line, n) for n, line in enumerate(self.source.splitlines(), 1) if MARK.search(line)]
        if len({parameter.name for parameter in found}) < len(found) or len(found) > MAX_PARAMETERS:
            raise InvalidInput(
                "The shading declares a parameter twice, or too many parameters.",
                remedy=f"Declare at most {MAX_PARAMETERS}.",
            )
        return tuple(found)

    def values(self, chosen: dict[str, float]) -> list[float]:
        """The parameters in order, those that were not chosen at their defaults."""
        names = [parameter.name for parameter in self.parameters]
        if unknown := sorted(set(chosen) - set(names)):
            raise InvalidInput(
                f"The shading has no parameter {unknown[0]!r}.", remedy=f"Choose one of: {', '.join(names)}."
            )
        return [parameter.checked(chosen.get(parameter.name, parameter.default)) for parameter in self.parameters]

    def compile(self, device: Device) -> Any:
        """The kernel that draws with this shading; ShadingInvalid names the user's line."""
        from pellucid.rendering.kernels import user_shading

        if not RETURN.search(self.source):
            last = max(1, len(self.source.splitlines()))
            raise ShadingInvalid(last, "it returns nothing", remedy="Return a colour, such as: return color;")
        kinds = {parameter.name: parameter.kind for parameter in self.parameters}
        shade = self._python_function(kinds) if self.is_python else user_shading.from_cpp(self.source, kinds)
        kernel = user_shading.composite_shaded_by(shade)
        with compiler_messages() as read:
            try:
                prepare(kernel, device, block_dim=64)
            except Exception as error:
                raise self._fault(read(), error) from error
        return kernel

    @property
    def _file_name(self) -> str:
        """What Warp takes for the file of a Python text."""
        return f"<shading {self.hash}>"

    def _python_function(self, kinds: dict[str, str]) -> Any:
        from pellucid.rendering.kernels import user_shading

        try:
            shade = user_shading.from_python(self.source, self._file_name, self.names)
            if unknown := [
                name for name in user_shading.names_of(shade) if name not in user_shading.GIVEN and name not in kinds
            ]:
                remedy = f"Use parameters from: {', '.join((*user_shading.GIVEN, *kinds))}; declare others after #@."
                raise ShadingInvalid(self._first_line, f"the name {unknown[0]!r} is not defined", remedy=remedy)
            return user_shading.called_with(shade, self.source, self._file_name, kinds)
        except ShadingInvalid:
            raise
        except Exception as error:
            raise self._python_fault(error) from error

    @property
    def _first_line(self) -> int:
        found = PYTHON.search(self.source)
        return self.source.count("\n", 0, found.start()) + 1 if found else 0

    def _fault(self, messages: str, error: Exception) -> ShadingInvalid:
        """What the compiler said, in the user's own lines."""
        line, why = fault_in(f"{messages}\n{error}", "shading")
        if why:  # What is not closed is only missed after the last line.
            return ShadingInvalid(min(line, len(self.source.splitlines())), why, remedy=CORRECT)
        return (
            self._python_fault(error)
            if self.is_python
            else ShadingInvalid(0, _last_line(error), remedy="Check the shading's source.")
        )

    def _python_fault(self, error: Exception) -> ShadingInvalid:
        """The innermost place in the user's text that an error of Python or Warp names."""
        if isinstance(error, SyntaxError):
            return ShadingInvalid(error.lineno or 0, error.msg, remedy=CORRECT)
        message = str(error.args[0]) if error.args else str(error)
        reply = [int(line) for line in re.findall(re.escape(self._file_name) + r":(\d+):", message)]
        frames = traceback.extract_tb(error.__traceback__)
        ran = [frame.lineno or 0 for frame in frames if frame.filename == self._file_name]
        own = [line for line in (*ran, *reply) if line <= len(self.source.splitlines())]
        why = message.rpartition("\n;")[2].replace("call_shade", "shade").strip().rstrip(".")
        return ShadingInvalid(own[-1] if own else self._first_line, why, remedy=CORRECT)


def _declared(line: str, number: int) -> Parameter:
    found = DECLARATION.match(line)
    try:
        kind, name, default, low, high = found.groups() if found else ("", "", "", "", "")
        parameter = Parameter(name, float(default), float(low), float(high), kind or "float")
    except ValueError:
        raise ShadingInvalid(
            number,
            "this is not a valid parameter declaration",
            remedy="Write //@ name = default in low .. high, or #@ in Python.",
        ) from None
    if not parameter.low <= parameter.default <= parameter.high:
        raise ShadingInvalid(number, "the default is outside the range", remedy="Use a default inside the range.")
    return parameter


def _last_line(error: Exception) -> str:
    return str(error).splitlines()[-1] if str(error) else "it does not compile"
