"""A training that is shown, over HTTP.

Here: how far it is, the end of it; comparing two scenes.
Not here: its preview, which arrives like any stream of voxels (arrays).
"""

from fastapi import APIRouter

from pellucid.instance.access.route_rules import needs
from pellucid.instance.protocol.http_bodies import Revision
from pellucid.instance.protocol.server_messages import ShownTraining
from pellucid.instance.protocol.training_bodies import Comparison, TrainingState
from pellucid.instance.routes.dependencies import REFUSALS, Has, Here
from pellucid.instance.scene.history import ScenePair

router = APIRouter(prefix="/api", tags=["training"], responses=REFUSALS)


@router.put("/training", status_code=204, dependencies=[needs("own")])
async def show_training(state: TrainingState, session: Here) -> None:
    """Show how far a training is, and its grids as boxes."""
    session.idle.touch()
    session.models.show_training(ShownTraining(state.name, state.step, state.psnr, state.grids, is_running=True))


@router.delete("/training", status_code=204, dependencies=[needs("own")])
async def end_training(session: Here) -> None:
    """Show no training any more."""
    session.models.show_training(ShownTraining())


@router.put("/compare", dependencies=[needs("control")])
async def compare(request: Comparison, session: Here, has: Has) -> Revision:
    """Keep the scene as it is now beside the one that changes, or end that."""
    session.controls.require_free(has)
    scene = session.history.scene
    session.delivery.forget()
    session.history.arrangement = request.arrangement
    session.change(ScenePair(scene, scene if request.is_on else None))
    return Revision(session.history.revision)
