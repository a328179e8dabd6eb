"""Modules as programs that need none of the user's code: exported by PyTorch, without pickle.

Here: export_module, and load_exported.
Not here: modules in Python files (loading).
"""

import copy
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pellucid.box import Shape, triple
from pellucid.errors import InvalidInput

ENDING = ".pt2"
EXAMPLE_POINTS = 64
_FACTS = "pellucid.json"


def export_module(module: nn.Module, shape: Sequence[int] | None = None) -> bytes:
    """A module as bytes that another process can run without its class.

    The module maps (n, 3) points (x, y, z) in [-1, 1] to n values, for any n. shape: (z, y, x) of the volume.
    """
    own = copy.deepcopy(module).cpu().eval()
    points = torch.rand(EXAMPLE_POINTS, 3) * 2 - 1
    count = torch.export.Dim("count", min=1)
    try:
        with torch.no_grad():
            program = torch.export.export(own, (points,), dynamic_shapes=({0: count},), strict=False)
    except Exception as error:  # Whatever a user's code, or the exporter, does not support.
        reason = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
        raise InvalidInput(
            f"{type(module).__name__} cannot be exported: {reason}",
            remedy="Put the class into a Python file and pass its name: render_field('my.py:Model').",
        ) from error
    file = io.BytesIO()
    facts = {"shape": None if shape is None else [int(n) for n in shape]}
    torch.export.save(program, file, extra_files={_FACTS: json.dumps(facts)})
    return file.getvalue()


class ExportedModule:
    """A program on a device. volume_shape: (z, y, x), if the file has one."""

    def __init__(self, evaluate: Any, volume_shape: "Shape | None") -> None:
        self._evaluate, self.volume_shape = evaluate, volume_shape

    def __call__(self, points: Tensor) -> Any:
        return self._evaluate(points)


def load_exported(path: Path, device: torch.device) -> ExportedModule:
    """A program from a file that export_module, or ``torch.export.save``, has written."""
    facts = {_FACTS: ""}
    try:
        program = torch.export.load(str(path), extra_files=facts)
        if device.type != "cpu":
            from torch.export.passes import move_to_device_pass

            program = move_to_device_pass(program, device)
        stated = json.loads(facts[_FACTS] or "{}").get("shape")
        shape = triple([int(n) for n in stated]) if stated else None
        return ExportedModule(program.module(), shape)
    except Exception as error:  # Of a damaged file, whatever a library raises.
        what = f"{path.name} could not be read as an exported module: {str(error).strip().splitlines()[:1]}"
        raise InvalidInput(what, remedy="Write it with torch.export.save, and the same version of PyTorch.") from error
