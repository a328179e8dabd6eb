"""PyTorch models that a viewer draws while it evaluates them.

Here: render_field, its options, and RenderedField, which it returns.
Not here: exporting and calling models (neural.modules), neural fields in files, which open like any volume.
"""

import json
from pathlib import Path
from typing import Any, TypedDict

from pellucid.client.connection import Connection
from pellucid.client.layer_task import LayerTask
from pellucid.client.local_socket import LocalSocketClient
from pellucid.errors import InvalidInput, MissingPackage
from pellucid.formats.protocol import Spacing

EXPORTED = "model.pt2"


class RenderedField(LayerTask):
    """A model that is being evaluated, or was. layer: index of its volume in ``scene.volumes``."""

    def set_batch(self, points: int) -> None:
        """From now on so many points in one call of the model."""
        self._connection.ask("PATCH", f"/api/models/{self._task}", {"batch": points})


class FieldOptions(TypedDict, total=False):
    """As in POST /api/models. shape: voxels (z, y, x) to evaluate. batch: points of one call. how: "replace", "add"."""

    shape: tuple[int, int, int] | None
    spacing: Spacing
    batch: int | None
    how: str


def render_field(
    connection: Connection, same_host: LocalSocketClient | None, model: object, options: FieldOptions
) -> RenderedField:
    """Send a model, or its name, to the viewer, which evaluates it in a process of its own: what is seen comes first.

    It maps (n, 3) points (x, y, z) in [-1, 1] to n values. model: a torch.nn.Module, which is exported;
    ``"my.py:Model"``, a class or a function in a file of the viewer's machine; or a program from ``torch.export.save``
    (.pt2) there.
    """
    if isinstance(model, str | Path):
        path, name = split_model_name(str(model))
        if same_host is not None:
            same_host.allow(path)
    else:
        content = _exported(model, options.get("shape"))
        path, name = json.loads(connection.exchange("PUT", "/api/upload", content, name=EXPORTED))["path"], ""
    started = connection.ask("POST", "/api/models", {"path": path, "name": name, **options})
    return RenderedField(connection, started["task"], started["layer"])


def split_model_name(text: str) -> tuple[str, str]:
    """The file and the name in it.

    >>> split_model_name("/models/my.py:Model"), split_model_name("/models/my.pt2")
    (('/models/my.py', 'Model'), ('/models/my.pt2', ''))
    """
    path, separator, name = text.rpartition(":")
    if separator and path.endswith(".py"):
        return str(Path(path).expanduser().absolute()), name
    return str(Path(text).expanduser().absolute()), ""


def _exported(model: Any, shape: Any) -> bytes:
    try:
        from pellucid.neural.modules.exported import export_module
    except ImportError as error:
        raise MissingPackage("torch", "neural") from error
    if not hasattr(model, "state_dict"):
        raise InvalidInput(
            f"A {type(model).__name__} is not a PyTorch module.",
            remedy="Pass a torch.nn.Module, or the name of one in a file: 'my.py:Model'.",
        )
    return export_module(model, shape or getattr(model, "shape", None))
