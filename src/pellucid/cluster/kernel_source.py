"""The text of a user's function, from the program that names it.

Here: KernelSource, and what functions are given.
Not here: compiling it (compute.user_kernels).

C++/CUDA text may define any functions. The one that is named is called once for every voxel of the result:

    void smooth(In in, Out out, int z, int y, int x, const float* p) {
        out(z, y, x) = p[0] * (in(z, y, x - 1) + in(z, y, x) + in(z, y, x + 1));
    }

``in(z, y, x)`` is a voxel of the block; indices may reach into its halo. ``in.depth``, ``in.height`` and ``in.width``
are the block's edges, ``p`` the parameters. With a sequence, ``const In* in, int count`` take the place of ``In in``.
The same text runs on CPUs and on GPUs: it is compiled there.

A Python function in Warp's language returns the voxel. ``block`` is the array with its halo, and z, y, x are indices
into that:

    def smooth(block, z, y, x, p):
        return p[0] * (block[z, y, x - 1] + block[z, y, x] + block[z, y, x + 1])
"""

import inspect
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pellucid.errors import InvalidInput

NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class KernelSource:
    """source: text; function: the name of the function in it that is called."""

    source: str
    function: str

    @classmethod
    def of(cls, source: str, function: str | Callable[..., Any]) -> "KernelSource":
        if callable(function):
            return cls(_source_of(function), _plain(function).__name__)
        if not NAME.fullmatch(function) or not re.search(rf"\b{function}\s*\(", source):
            remedy = "Define it in the source, and pass its name."
            raise InvalidInput(f"The source does not define a function {function!r}.", remedy=remedy)
        return cls(source, function)


def _source_of(function: Callable[..., Any]) -> str:
    try:
        return textwrap.dedent(inspect.getsource(_plain(function)))
    except (OSError, TypeError) as error:
        raise InvalidInput(
            f"The source of the function {function!r} is not available here.",
            remedy="Pass exec_gpu(function=...) without a block to map(), or pass the text as source.",
        ) from error


def _plain(function: Any) -> Any:
    """The Python function, also where it is one of Warp's already."""
    return getattr(function, "func", function)
