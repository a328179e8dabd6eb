"""A user's text as a function that kernels call.

Here: from_text.
Not here: what the text may say, and what is said when it does not compile (user_shading).
"""

# mypy: ignore-errors
# What a kernel says is Warp's language, which a checker of Python's types cannot follow.

from typing import Any

import warp as wp


def from_text(source: str, parameter_names: list[str]) -> Any:
    """A Warp function around C++ text. Its lines are counted from 1 under the name ``shading``."""
    named = "".join(f"const float {name} = parameters[{i}];\n" for i, name in enumerate(parameter_names))
    snippet = f'using namespace wp; typedef wp::vec3 vec3;\n{named}#line 1 "shading"\n{source}\n'

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
