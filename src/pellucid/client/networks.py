"""Networks that a viewer applies to a volume while it shows the labels.

Here: apply_network, its options, and AppliedNetwork, which it returns.
Not here: running networks (infer), the labels as such (labels).
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

from pellucid.client.connection import Connection
from pellucid.client.layer_task import LayerTask
from pellucid.client.scene.labels import ViewerLabels


class AppliedNetwork(LayerTask):
    """A network that is being applied, or was. layer: index of its labels in ``scene.volumes``."""

    @property
    def labels(self) -> ViewerLabels:
        """The labels that the network writes: names, colours, sizes, painting."""
        return ViewerLabels(self._connection, self.layer)


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
