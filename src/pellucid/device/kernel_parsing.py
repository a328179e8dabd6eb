"""Kernels that several threads define at the same time.

Here: install(), which lets one thread at a time parse the source of a kernel.
Not here: compiling and loading, which have a lock of their own (runtime).

Python before 3.11.8 and 3.12.2 keeps one recursion counter for all threads that convert a syntax tree. Two at once
raise "SystemError: AST constructor recursion depth mismatch".
"""

import ast
import threading
from types import ModuleType
from typing import Any

LOCK = threading.Lock()


def install(warp: Any) -> None:
    """Make Warp parse under a lock. A Warp whose parser is elsewhere stays as it is."""
    codegen: Any = getattr(getattr(warp, "_src", warp), "codegen", None)
    if getattr(codegen, "ast", None) is ast:
        codegen.ast = locked_ast()


def locked_ast() -> ModuleType:
    """The module ``ast``, with a parse() that only one thread at a time enters."""
    copy = ModuleType(ast.__name__, ast.__doc__)
    copy.__dict__.update(vars(ast), parse=_parse)
    return copy


def _parse(*arguments: Any, **options: Any) -> Any:
    with LOCK:
        return ast.parse(*arguments, **options)
