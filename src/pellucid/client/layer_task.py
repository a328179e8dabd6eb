"""Work that fills a layer of a viewer while it is drawn.

Here: LayerTask: how far it is, waiting for it, stopping it.
Not here: networks (networks), PyTorch models (models).
"""

import time
from typing import Any

from pellucid.client.connection import Connection
from pellucid.errors import PellucidError

POLL_S = 0.1


class LayerTask:
    """layer: index of what it fills in ``scene.volumes``."""

    def __init__(self, connection: Connection, task: str, layer: int) -> None:
        self._connection, self._task, self.layer = connection, task, layer

    @property
    def progress(self) -> float:
        """The share of the volume that is finished, 0 to 1."""
        status = self._status()
        return 1.0 if status["state"] == "finished" else status["done"] / (status["total"] or 1)

    @property
    def is_running(self) -> bool:
        return bool(self._status()["state"] == "running")

    def wait(self, timeout_s: float | None = None) -> None:
        """Until all voxels are finished; raises what went wrong."""
        started = time.monotonic()
        while (status := self._status())["state"] == "running":
            if timeout_s is not None and time.monotonic() - started > timeout_s:
                raise TimeoutError(f"It was not finished within {timeout_s:g} s.")
            time.sleep(POLL_S)
        if status["state"] == "stopped":
            raise PellucidError(status["what"], remedy=status["remedy"])

    def stop(self) -> None:
        """Stop computing; what is there stays."""
        self._connection.ask("DELETE", f"/api/tasks/{self._task}")

    def _status(self) -> dict[str, Any]:
        status: dict[str, Any] = self._connection.ask("GET", f"/api/tasks/{self._task}")
        return status
