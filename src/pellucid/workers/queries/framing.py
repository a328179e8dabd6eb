"""The camera that sees all that a scene shows.

Here: fit, which finds the volumes, points and meshes of a scene.
Not here: what of them is shown (rendering.first_view.shown_region), the first view of a file (describe).
"""

from pellucid.rendering.first_view.shown_region import fit_camera
from pellucid.rendering.geometry.mesh_files import load_mesh
from pellucid.rendering.geometry.point_files import load_points
from pellucid.rendering.geometry.shapes import Mesh, Points
from pellucid.workers.protocol.replies import CameraFitted
from pellucid.workers.protocol.requests import FitCamera
from pellucid.workers.queries.sources import Sources


def fit(request: FitCamera, sources: Sources) -> CameraFitted:
    """A camera from the requested side."""
    scene = request.scene.visible
    volumes = [sources.volume(layer.source, scene.time) for layer in scene.volumes]
    shapes: list[Points | Mesh] = [sources.shape(one.source) or load_points(one.source) for one in scene.points]
    shapes += [sources.shape(one.source) or load_mesh(one.source) for one in scene.meshes]
    camera = fit_camera(scene, volumes, shapes, request.side, request.up, request.aspect)
    return CameraFitted(request.request, camera)
