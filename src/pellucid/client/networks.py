"""Networks that a viewer applies to a volume while it shows the labels.

Here: apply_network, its options, and AppliedNetwork, which it returns.
Not here: running networks (infer), the labels as such (labels).
"""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict

from pellucid.client.connection import Connection
from pellucid.client.labels import ViewerLabels
from pellucid.errors import PellucidError

POLL_S = 0.1


class AppliedNetwork:
    """A network that is being applied, or was. layer: index of its labels in ``scene.volumes``."""

    def __init__(self, connection: Connection, task: str, layer: int) -> None:
        self._connection, self._task, self.layer = connection, task, layer

    @property
    def labels(self) -> ViewerLabels:
        """The labels that it gives: names, colours, sizes, painting."""
        return ViewerLabels(self._connection, self.layer)

    @property
    def progress(self) -> float:
        """The share of the volume that has labels, 0 to 1."""
        status = self._status()
        return 1.0 if status["state"] == "finished" else status["done"] / (status["total"] or 1)

    @property
    def is_running(self) -> bool:
        return bool(self._status()["state"] == "running")

    def wait(self, timeout_s: float | None = None) -> None:
        """Until all voxels have labels; raises what went wrong."""
        started = time.monotonic()
        while (status := self._status())["state"] == "running":
            if timeout_s is not None and time.monotonic() - started > timeout_s:
                raise TimeoutError(f"The network was not finished within {timeout_s:g} s.")
            time.sleep(POLL_S)
        if status["state"] == "stopped":
            raise PellucidError(status["what"], remedy=status["remedy"])

    def stop(self) -> None:
        """Stop computing; labels that are there stay."""
        self._connection.ask("DELETE", f"/api/tasks/{self._task}")

    def _status(self) -> dict[str, Any]:
        status: dict[str, Any] = self._connection.ask("GET", f"/api/tasks/{self._task}")
        return status


class NetworkOptions(TypedDict, total=False):
    """As in POST /api/networks."""

    layer: int
    threshold: float | None
    axes: str | None
    halo: tuple[int, int, int] | None
    preprocess: Sequence[str]
    postprocess: Sequence[str]


def apply_network(connection: Connection, network: str | Path, options: NetworkOptions) -> AppliedNetwork:
    """Send a network to the viewer's machine, and apply it there."""
    from pellucid.infer.network_files.package import pack

    name, content = pack(Path(network).expanduser())
    path = json.loads(connection.exchange("PUT", "/api/upload", content, name=name))["path"]
    started = connection.ask("POST", "/api/networks", {"path": path, **options})
    return AppliedNetwork(connection, started["task"], started["layer"])
