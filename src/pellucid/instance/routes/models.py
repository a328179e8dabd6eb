"""Users' PyTorch models over HTTP.

Here: drawing one, and how many points it evaluates at once.
Not here: the volume that it fills (scene.model_layers), progress and stopping, as of every task (tasks).
"""

from fastapi import APIRouter

from pellucid.instance.access.route_rules import needs
from pellucid.instance.protocol.model_bodies import ModelBatch, ModelRequest, ModelStarted
from pellucid.instance.routes.dependencies import REFUSALS, Here
from pellucid.instance.scene import model_layers

router = APIRouter(prefix="/api", tags=["models"], responses=REFUSALS)


@router.post("/models", dependencies=[needs("own")])
async def draw_model(request: ModelRequest, session: Here) -> ModelStarted:
    """Draw a PyTorch model while it is evaluated, what is seen first."""
    return await model_layers.start(session, request)


@router.patch("/models/{task}", status_code=204, dependencies=[needs("own")])
async def set_batch(task: str, request: ModelBatch, session: Here) -> None:
    """Change how many points the model evaluates in one call."""
    session.models.set_batch(task, request.batch)
