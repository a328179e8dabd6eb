"""A user's module from a file: a class or a function in a Python file, or a program that was exported.

Here: load_module, LoadedModule.
Not here: its values (evaluation), exporting (exported), the process that this happens in (workers.user_code).

This runs the user's code. Whatever that raises becomes an error that names the line of the user's file.
"""

import importlib.util
import inspect
import math
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pellucid.box import Shape, triple
from pellucid.errors import InvalidInput, NotFound, PellucidError
from pellucid.neural.modules.exported import ENDING, load_exported

PYTHON_ENDING = ".py"
Evaluate = Callable[[Tensor], Any]
"""From (n, 3) points (x, y, z) in [-1, 1] to n values."""


@dataclass(frozen=True)
class LoadedModule:
    """shape: (z, y, x) of the volume that it says it describes; None where it says none."""

    name: str
    evaluate: Evaluate
    shape: Shape | None = None


def load_module(path: Path, name: str, device: torch.device) -> LoadedModule:
    """The module of this name in a Python file, or that of an exported program, on a device.

    name: of a class that needs no arguments, of a function without arguments that returns a module, of a function of
    points, or of a module.
    """
    if not path.is_file():
        raise NotFound(str(path))
    if path.suffix == ENDING:
        module: Any = load_exported(path, device)
        return LoadedModule(path.stem, module, module.volume_shape)
    if path.suffix != PYTHON_ENDING or not name:
        remedy = (
            f"Use the name of a Python file and of a class in it, such as my.py:Model, or a file that ends in {ENDING}."
        )
        raise InvalidInput(f"{path} does not name a module.", remedy=remedy)
    shown = f"{path.name}:{name}"
    with_errors = _Reported(path, shown)
    found = with_errors(lambda: _member(path, name))
    module = with_errors(lambda: _made(found, shown))
    if isinstance(module, nn.Module):
        module = with_errors(lambda: module.to(device).eval())
    if not callable(module):
        raise InvalidInput(f"{shown} is not a module.", remedy="Name a class of modules, or a function of points.")
    return LoadedModule(shown, module, with_errors(lambda: _shape_of(module)))


class _Reported:
    """Calls what the user wrote; an exception becomes an error with the line of their file."""

    def __init__(self, path: Path, shown: str) -> None:
        self._path, self._shown = path, shown

    def __call__(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except (PellucidError, KeyboardInterrupt):
            raise
        except BaseException as error:  # A user's code may raise anything, SystemExit included.
            raise user_error(error, self._path, f"{self._shown} could not be loaded") from error


def user_error(error: BaseException, path: Path | None, what: str) -> InvalidInput:
    """An error in the code of a user. path: of their file, whose line is named."""
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if path and frame.filename == str(path)
    ]
    line = error.lineno if isinstance(error, SyntaxError) else lines[-1] if lines else None
    where = f" (line {line} of {path.name})" if line and path else ""
    return InvalidInput(
        f"{what}: {type(error).__name__}: {error}{where}.", remedy="Correct the code, then open it again."
    )


def _member(path: Path, name: str) -> Any:
    """What has this name in a file, which is run as a module of its own name: it may import its neighbours."""
    if (folder := str(path.parent)) not in sys.path:
        sys.path.append(folder)  # Not first: a file of theirs may have the name of a library.
    known = getattr(sys.modules.get(path.stem), "__file__", path)
    own_name = path.stem if str(known) == str(path) else f"{path.stem} of a user"  # Never in the place of another one.
    spec = importlib.util.spec_from_file_location(own_name, path)
    if spec is None or spec.loader is None:
        raise InvalidInput(f"{path} cannot be imported.", remedy="Use a file that ends in .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[own_name] = module  # Classes that are pickled with their weights are looked up there.
    spec.loader.exec_module(module)
    if not hasattr(module, name):
        known = [key for key, value in vars(module).items() if inspect.isclass(value) and issubclass(value, nn.Module)]
        remedy = f"It has: {', '.join(known)}." if known else "Name a class or a function of the file."
        raise InvalidInput(f"{path.name} has no {name!r}.", remedy=remedy)
    return getattr(module, name)


def _made(found: Any, shown: str) -> Any:
    """The module itself: classes are called, and functions without arguments."""
    if isinstance(found, nn.Module) or not callable(found):
        return found
    try:
        needed = [one for one in inspect.signature(found).parameters.values() if one.default is one.empty]
    except ValueError:  # Of something built in.
        needed = []
    needed = [one for one in needed if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    if needed and inspect.isclass(found):
        remedy = "Set defaults for its arguments, or name a function without arguments that returns the module."
        raise InvalidInput(f"{shown} needs arguments: {', '.join(one.name for one in needed)}.", remedy=remedy)
    return found if needed else found()


def _shape_of(module: Any) -> Shape | None:
    """Of the volume that a module describes: its attribute ``shape``, or what ``get_volume_extents`` returns."""
    stated = getattr(module, "shape", None)
    if stated is None and hasattr(module, "get_volume_extents"):
        stated = module.get_volume_extents()
    try:
        numbers = [int(n) for n in stated] if stated is not None else []
    except TypeError:
        return None
    return triple(numbers) if len(numbers) == 3 and min(numbers) > 0 and math.prod(numbers) < 1 << 48 else None
