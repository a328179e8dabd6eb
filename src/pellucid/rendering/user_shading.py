"""Shadings that users write: C++ text, or a Warp function, compiled into the ray caster's inner loop at run time.

Here: reading the declared parameters, compiling, and errors at the user's own line.
Not here: who may bring code (instance), drawing with it (renderer).

The text is the body of a function that returns the colour of one sample (``vec3``). It sees ``value`` (float),
``color`` (vec3, from the transfer function), ``gradient`` (vec3, change of the value per world unit), ``position``
(vec3, voxel coordinates x, y, z), ``view`` and ``light`` (vec3, unit vectors to the eye and to the light), and its own
parameters by name, each declared on a line of its own:

    //@ strength = 0.5 in 0 .. 2
    float rim = 1.0f - abs(dot(normalize(gradient), view));
    return color * (1.0f + strength * rim);
"""

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pellucid.device import Device, prepare
from pellucid.errors import InvalidInput, ShadingInvalid

DECLARATION = re.compile(r"^\s*//@\s*(\w+)\s*=\s*(\S+)\s+in\s+(\S+)\s*\.\.\s*(\S+)\s*$")
# As clang says it, and as NVRTC does.
FAULT = re.compile(r"shading(?::(\d+):\d+|\((\d+)\)): error: (.*)")
MOST_PARAMETERS = 32


@dataclass(frozen=True)
class Parameter:
    """A number that the shading lets be chosen: what a slider needs to know."""

    name: str
    default: float
    low: float
    high: float


@dataclass(frozen=True)
class UserShading:
    """A shading as text. Its name in a scene is ``hash``.

    >>> UserShading("//@ gain = 1 in 0 .. 4\\nreturn color * gain;").parameters
    (Parameter(name='gain', default=1.0, low=0.0, high=4.0),)
    """

    source: str

    @property
    def hash(self) -> str:
        return hashlib.sha256(self.source.encode()).hexdigest()[:16]

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        found = [_declared(line, number) for number, line in enumerate(self.source.splitlines(), 1) if "//@" in line]
        if len({parameter.name for parameter in found}) < len(found) or len(found) > MOST_PARAMETERS:
            raise InvalidInput("The shading declares a parameter twice, or too many.", do=f"At most {MOST_PARAMETERS}.")
        return tuple(found)

    def values(self, chosen: dict[str, float]) -> list[float]:
        """The parameters in order, those that were not chosen at their defaults."""
        names = [parameter.name for parameter in self.parameters]
        if unknown := sorted(set(chosen) - set(names)):
            raise InvalidInput(f"The shading has no parameter {unknown[0]!r}.", do=f"It has: {', '.join(names)}.")
        return [chosen.get(parameter.name, parameter.default) for parameter in self.parameters]

    def compile(self, device: Device) -> Any:
        """The kernel that draws with this shading; ShadingInvalid names the user's line."""
        from pellucid.rendering.kernels import composite, user

        names = [parameter.name for parameter in self.parameters]
        kernel = composite.composite_shaded_by(user.from_text(self.source, names))
        with _messages() as read:
            try:
                prepare(kernel, device, block_dim=64)
            except Exception as error:
                raise _fault(read(), error) from error
        return kernel


def _declared(line: str, number: int) -> Parameter:
    found = DECLARATION.match(line)
    try:
        name, default, low, high = found.groups() if found else ("", "", "", "")
        parameter = Parameter(name, float(default), float(low), float(high))
    except ValueError:
        raise ShadingInvalid(
            number, "this declares no parameter", do="Write //@ name = default in low .. high."
        ) from None
    if not parameter.low <= parameter.default <= parameter.high:
        raise ShadingInvalid(number, "the default lies outside the range", do="Choose one inside.")
    return parameter


@contextmanager
def _messages() -> Iterator[Any]:
    """What is written to the standard streams meanwhile: Warp's compilers say only there what is wrong."""
    with tempfile.TemporaryFile("w+") as file:
        kept = {stream: os.dup(stream) for stream in (1, 2)}
        for stream in kept:
            os.dup2(file.fileno(), stream)

        def read() -> str:
            file.seek(0)
            return file.read()

        try:
            yield read
        finally:
            for stream, copy in kept.items():
                os.dup2(copy, stream)
                os.close(copy)


def _fault(messages: str, error: Exception) -> ShadingInvalid:
    found = FAULT.search(f"{messages}\n{error}")
    if found is None:
        return ShadingInvalid(
            0, str(error).splitlines()[-1] if str(error) else "it does not compile", do="Look it over."
        )
    return ShadingInvalid(
        int(found[1] or found[2]), found[3], do="Correct that line; the last good shading stays in force."
    )
