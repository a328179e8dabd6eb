"""Networks over HTTP.

Here: applying a network to a layer.
Not here: the labels that come of it (scene.network_layers), progress and stopping, as of every task (tasks).
"""

from fastapi import APIRouter

from pellucid.instance.access.route_rules import needs
from pellucid.instance.protocol.network_bodies import NetworkRequest, NetworkStarted
from pellucid.instance.routes.dependencies import REFUSALS, Here
from pellucid.instance.scene import network_layers

router = APIRouter(prefix="/api", tags=["networks"], responses=REFUSALS)


@router.post("/networks", dependencies=[needs("own")])
async def apply_network(request: NetworkRequest, session: Here) -> NetworkStarted:
    """Draw the labels that a network gives to the voxels of a layer, what is seen first."""
    return await network_layers.start(session, request)
