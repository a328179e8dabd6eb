"""From a Scene to an image.

Importing this loads nothing heavy: each name comes from its module when it is first used.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pellucid.rendering.annotations import Annotations as Annotations
    from pellucid.rendering.camera_path import CameraPath as CameraPath
    from pellucid.rendering.camera_path import KeyFrame as KeyFrame
    from pellucid.rendering.cinematic.options import Cinematic as Cinematic
    from pellucid.rendering.figures.image_files import save_figure as save_figure
    from pellucid.rendering.figures.image_files import scene_in_image as scene_in_image
    from pellucid.rendering.figures.slice_files import save_slice as save_slice
    from pellucid.rendering.geometry.isosurfaces import extract_isosurface as extract_isosurface
    from pellucid.rendering.geometry.isosurfaces import save_isosurface as save_isosurface
    from pellucid.rendering.geometry.shapes import Mesh as Mesh
    from pellucid.rendering.geometry.shapes import Points as Points
    from pellucid.rendering.labels import LabelColor as LabelColor
    from pellucid.rendering.labels import Labels as Labels
    from pellucid.rendering.measures import Measure as Measure
    from pellucid.rendering.movie import save_movie as save_movie
    from pellucid.rendering.renderer import Renderer as Renderer
    from pellucid.rendering.scene import MeshLayer as MeshLayer
    from pellucid.rendering.scene import PointsLayer as PointsLayer
    from pellucid.rendering.scene import SliceLayer as SliceLayer
    from pellucid.rendering.scene import VolumeLayer as VolumeLayer
    from pellucid.rendering.slice_options import SliceOptions as SliceOptions
    from pellucid.rendering.transfer import Edges as Edges

__all__ = [
    "Annotations",
    "CameraPath",
    "Cinematic",
    "Edges",
    "KeyFrame",
    "LabelColor",
    "Labels",
    "Measure",
    "Mesh",
    "MeshLayer",
    "Points",
    "PointsLayer",
    "Renderer",
    "SliceLayer",
    "SliceOptions",
    "VolumeLayer",
    "extract_isosurface",
    "save_figure",
    "save_isosurface",
    "save_movie",
    "save_slice",
    "scene_in_image",
]  # fmt: skip

HOMES = {
    "Annotations": "pellucid.rendering.annotations",
    "CameraPath": "pellucid.rendering.camera_path",
    "Cinematic": "pellucid.rendering.cinematic.options",
    "Edges": "pellucid.rendering.transfer",
    "KeyFrame": "pellucid.rendering.camera_path",
    "LabelColor": "pellucid.rendering.labels",
    "Labels": "pellucid.rendering.labels",
    "Measure": "pellucid.rendering.measures",
    "Mesh": "pellucid.rendering.geometry.shapes",
    "MeshLayer": "pellucid.rendering.scene",
    "Points": "pellucid.rendering.geometry.shapes",
    "PointsLayer": "pellucid.rendering.scene",
    "Renderer": "pellucid.rendering.renderer",
    "SliceLayer": "pellucid.rendering.scene",
    "SliceOptions": "pellucid.rendering.slice_options",
    "VolumeLayer": "pellucid.rendering.scene",
    "extract_isosurface": "pellucid.rendering.geometry.isosurfaces",
    "save_figure": "pellucid.rendering.figures.image_files",
    "save_slice": "pellucid.rendering.figures.slice_files",
    "scene_in_image": "pellucid.rendering.figures.image_files",
    "save_isosurface": "pellucid.rendering.geometry.isosurfaces",
    "save_movie": "pellucid.rendering.movie",
}


def __getattr__(name: str) -> object:
    if name not in HOMES:
        raise AttributeError(f"pellucid.rendering has no {name!r}; it has {', '.join(HOMES)}")
    return getattr(importlib.import_module(HOMES[name]), name)
