"""The first view of what is open: a camera that sees all of it, and the way back to it.

Here: CameraFitter: fitting the camera to what is shown, again when the window has another shape; restore.
Not here: what the first view is (rendering.first_view), the Worker's part (workers.queries).
"""

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from pellucid.errors import PellucidError
from pellucid.instance.protocol.server_messages import CameraMoved
from pellucid.instance.scene.history import ScenePair
from pellucid.rendering.camera import Camera, Vector
from pellucid.rendering.light import KEY_LIGHT
from pellucid.rendering.scene import MeshLayer, PointsLayer, Scene, VolumeLayer
from pellucid.workers.protocol import replies, requests

if TYPE_CHECKING:
    from pellucid.instance.session import Session


class CameraFitter:
    """All methods are called on the event loop. camera: the last one that was chosen automatically."""

    def __init__(self, session: "Session") -> None:
        self._session = session
        self.camera: Camera | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def aspect(self) -> float:
        """Width of the image of a scene over its height."""
        width, height = self._session.picturing.size
        return width / self._session.history.columns / height

    async def fit(self, scene: Scene, aspect: float | None = None, is_from_here: bool = False) -> Camera:
        """A camera that sees all that a scene shows, from the side of its first view, or from where the camera is."""
        first = None if is_from_here else self._first_camera(scene)
        side, up = _direction(first or scene.camera)
        shape = self.aspect if aspect is None else aspect
        found: replies.CameraFitted = await asyncio.wrap_future(
            self._session.worker.send_request(
                "fitting the camera", lambda request: requests.FitCamera(request, scene, side, up, shape)
            )
        )
        return found.camera

    def adapt(self) -> None:
        """The image has another shape: a camera that no one has moved goes on seeing all that is shown."""
        if self._is_untouched and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self._adapt())

    @property
    def _is_untouched(self) -> bool:
        return self.camera is not None and self._session.history.scene.camera == self.camera

    async def _adapt(self) -> None:
        session, aspect = self._session, None
        while self._is_untouched and aspect != self.aspect:
            aspect = self.aspect
            try:
                camera = await self.fit(session.history.scene, aspect, is_from_here=True)
            except PellucidError:
                return  # Nothing is shown, or the Worker was lost.
            if self._is_untouched:
                self.look(camera)

    def look(self, camera: Camera) -> None:
        """Show the scene with an automatic camera."""
        session, self.camera = self._session, camera
        if camera != session.history.scene.camera:
            session.history.set_camera(camera)
            session.picturing.request_frame(is_moving=False)
            session.broadcast(CameraMoved(camera, ""))

    async def restore(self, by: str = "") -> int:
        """Colours, opacities, light and camera as they were at first; the revision of the scene."""
        session = self._session
        scene = self._as_first(session.history.scene)
        session.change(ScenePair(scene, session.history.other), by)
        self.look(await self.fit(scene))
        return session.history.revision

    def _as_first(self, scene: Scene) -> Scene:
        volumes = tuple(self._layer_as_first(layer) for layer in scene.volumes)
        default = Scene()
        return replace(
            scene, volumes=volumes, light=KEY_LIGHT, planes=(), step=default.step, is_jittered=default.is_jittered
        )

    def _layer_as_first(self, layer: VolumeLayer) -> VolumeLayer:
        """Where it stands, and names of labels, stay."""
        first = self._session.catalogue.first_layer(layer.source)
        if first is None:
            return replace(layer, clip=None, is_visible=True)
        labels = layer.labels and replace(layer.labels, opacity=(first.labels or layer.labels).opacity, isolated=())
        return replace(first, source=layer.source, labels=labels, transform=layer.transform, edit=layer.edit, clip=None)

    def _first_camera(self, scene: Scene) -> Camera | None:
        layers: list[VolumeLayer | PointsLayer | MeshLayer] = [*scene.volumes, *scene.points, *scene.meshes]
        sources = (layer.source for layer in layers)
        found = (self._session.catalogue.first_camera(source) for source in sources)
        return next((camera for camera in found if camera is not None), None)


def _direction(camera: Camera) -> tuple[Vector, Vector]:
    """From the target to the eye, and upwards."""
    (a, b, c), (x, y, z) = camera.position, camera.target
    return (a - x, b - y, c - z), camera.up
