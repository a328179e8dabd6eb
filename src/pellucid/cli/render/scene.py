"""The scene that the arguments of ``pellucid render`` describe.

Here: a volume's first image or a saved scene, changed by the options that were given.
Not here: the options themselves (render), what the first image is (rendering.first_view).
"""

import argparse
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pellucid.box import Box
from pellucid.cli.arguments import source_location
from pellucid.errors import InvalidInput
from pellucid.formats.location import Location
from pellucid.rendering.camera import Camera
from pellucid.rendering.cinematic.options import BUILT_IN, Cinematic
from pellucid.rendering.figures.image_files import scene_in_image
from pellucid.rendering.first_view.geometry import with_scenery
from pellucid.rendering.first_view.volumes import automatic_scene, linear_transfer
from pellucid.rendering.geometry.isosurfaces import check_isovalue
from pellucid.rendering.labels import Labels
from pellucid.rendering.layers.label_placement import place_labels
from pellucid.rendering.presets.color_maps import color_points
from pellucid.rendering.scene import Isosurface, Scene, SliceLayer, VolumeLayer
from pellucid.rendering.side_by_side import panel_size, with_look
from pellucid.rendering.transfer import Edges, TransferFunction
from pellucid.rendering.user_shading import UserShading
from pellucid.volume.series import open_at
from pellucid.volume.volume import Volume, open_volume

PROJECTIONS = ("max", "min", "mean")
MAX_CHECKED_BYTES = 2**30


def described_scene(options: argparse.Namespace) -> Scene:
    """The scene to draw."""
    scene = _first_scene(source_location(options), options) if options.source else Scene()
    scene = _with_company(scene, options)
    scene = replace(scene, camera=_moved(scene.camera, options))
    if options.background:
        scene = replace(scene, background=options.background)
    if options.step:
        scene = replace(scene, step=options.step)
    scene = replace(scene, cinematic=_cinematic(scene.cinematic, options))
    return replace(scene, annotations=_annotations(scene, options))


def scene_beside(options: argparse.Namespace, scene: Scene) -> Scene:
    """The scene at its right: another volume that looks the same, or a saved scene, or a volume with its own look."""
    location = Location.parse(options.compare)
    if (saved := _saved(location)) is not None:
        return saved
    if not options.compare_own_colors:
        with open_volume(location) as volume:
            return with_look(scene, str(volume.location.absolute))
    other = _first_scene(location, options)
    return replace(other, background=scene.background, step=scene.step, annotations=scene.annotations)


def _first_scene(location: Location, options: argparse.Namespace) -> Scene:
    if (scene := _saved(location)) is not None:
        scene = scene if options.time is None else replace(scene, time=options.time)
        return _again(scene, options) if scene.volumes else scene
    if options.time is not None:
        return _at_time(location, options)
    with open_volume(location) as volume:
        scene = automatic_scene(volume, options.preset, **_stance(options))
        return _changed(scene, options, volume, has_automatic_look=True)


def _at_time(location: Location, options: argparse.Namespace) -> Scene:
    """The first image of a step, in a scene that names the series and the time."""
    with open_at(location, options.time) as volume:
        scene = automatic_scene(volume, options.preset, **_stance(options))
        (layer,), source = scene.volumes, str(location.absolute)
        scene = replace(scene, volumes=(replace(layer, source=source),), time=options.time)
        return _changed(scene, options, volume, has_automatic_look=True)


def _again(scene: Scene, options: argparse.Namespace) -> Scene:
    """A saved scene, with what is asked for now."""
    with open_at(scene.volumes[0].source, scene.time) as volume:
        if options.preset or options.view or options.up:
            fresh = automatic_scene(volume, options.preset, **_stance(options))
        if options.preset:
            layer = replace(scene.volumes[0], transfer=fresh.volumes[0].transfer, shading=fresh.volumes[0].shading)
            scene = replace(scene, volumes=(layer, *scene.volumes[1:]))
        if options.view or options.up:
            scene = replace(scene, camera=fresh.camera)
        return _changed(scene, options, volume, has_automatic_look=bool(options.preset))


def _stance(options: argparse.Namespace) -> dict[str, Any]:
    width, height = panel_size(*options.size) if options.compare else options.size
    stance = {"up": options.up, "view": options.view or "corner", "aspect": width / height}
    return {**stance, "is_turning": bool(options.turntable)}


def _saved(location: Location) -> Scene | None:
    """The scene of a JSON file, or of an image that has one in it."""
    if location.path.endswith(".json"):
        return Scene.from_json(location.local.read_text())
    return None if location.is_remote else scene_in_image(location.local)


def _changed(scene: Scene, options: argparse.Namespace, volume: Volume, *, has_automatic_look: bool) -> Scene:
    """The scene with its first volume as the options want it."""
    layer, *others = scene.volumes
    changes: dict[str, Any] = {}
    if options.isovalue:
        _check_isovalues(options.isovalue, volume)
        changes["isosurfaces"] = tuple(Isosurface(value) for value in options.isovalue)
    if options.mode or options.isovalue:
        changes["mode"] = options.mode or "isosurface"
    if options.shading or options.isovalue:  # A surface without light is a silhouette.
        changes["shading"] = options.shading or "gradient"
    if options.clip:
        changes["clip"] = Box.parse(options.clip, volume.shape)
    layer = replace(layer, **changes)
    if layer.mode in PROJECTIONS and has_automatic_look and isinstance(options.range, tuple):
        layer = replace(layer, transfer=linear_transfer(layer.transfer, options.preset, options.range))
    layer = replace(layer, transfer=_transfer(layer.transfer, options))
    slices = tuple(_slice(layer, volume, axis, number) for axis, number in options.slice)
    return replace(scene, volumes=(layer, *others), slices=(*scene.slices, *slices))


def _check_isovalues(values: list[float], volume: Volume) -> None:
    """Refuse those that no surface has; of a very large volume, finding the range would take longer than the image."""
    if prod(volume.shape) * volume.dtype.itemsize <= MAX_CHECKED_BYTES:
        for value in values:
            check_isovalue(value, volume.value_range)


def _transfer(transfer: TransferFunction, options: argparse.Namespace) -> TransferFunction:
    if isinstance(options.range, tuple):
        transfer = replace(transfer, value_range=options.range)
    if options.gamma:
        transfer = replace(transfer, gamma=options.gamma)
    if isinstance(options.edges, tuple):
        low, high = options.edges
        if not 0 <= low < high:
            raise InvalidInput(f"Invalid --edges {low:g},{high:g}.", remedy="Use LOW,HIGH with 0 <= LOW < HIGH.")
        transfer = replace(transfer, edges=Edges(((0.0, 0.0), (low / high, 0.0), (1.0, 1.0)), (0.0, high)))
    if options.preintegrated:
        transfer = replace(transfer, is_preintegrated=True)
    if options.opacity:  # As if there were so many times more of the material.
        denser = [(at, float(1 - (1 - np.float64(opacity)) ** options.opacity)) for at, opacity in transfer.opacities]
        transfer = replace(transfer, opacities=tuple(denser))
    return transfer


def shaded_by(scene: Scene, shading: UserShading, parameters: list[tuple[str, float]]) -> Scene:
    """The scene with its first volume under a user's shading."""
    if not scene.volumes:
        raise InvalidInput("The scene has no volume to shade.", remedy="Pass a volume file.")
    layer, *others = scene.volumes
    layer = replace(layer, shading="user", user_shading=shading.hash, parameters=tuple(parameters))
    return replace(scene, volumes=(layer, *others))


def _slice(layer: VolumeLayer, volume: Volume, axis: Literal["x", "y", "z"], number: int) -> SliceLayer:
    """Through the middle of the voxels that are named, in greys, with holes where the volume has air."""
    index = "zyx".index(axis)
    if not 0 <= number < volume.shape[index]:
        raise InvalidInput(
            f"The volume has no slice {axis}={number}.", remedy=f"Choose {axis} from 0 to {volume.shape[index] - 1}."
        )
    air = max([at for at, opacity in layer.transfer.opacities if opacity == 0.0], default=0.0)
    opacities = ((0.0, 0.0), (air, 0.0), (air, 1.0)) if 0 < air < 1 else ((0.0, 1.0),)
    grey = TransferFunction(color_points("gray"), opacities, layer.transfer.value_range)
    standing, along = layer.transform, "xyz".index(axis)
    # Where the middles of these voxels are.
    place = standing.translation[along] + standing.scale[along] * number * volume.spacing[index]
    shown = {"transfer": grey, "is_solid": False, "clip": layer.clip, "transform": standing}
    return SliceLayer.across(layer.source, axis, place, **shown)


def _with_company(scene: Scene, options: argparse.Namespace) -> Scene:
    if options.slice and not scene.volumes:
        raise InvalidInput("The scene has no volume to slice.", remedy="Pass a volume file.")
    if options.labels and not scene.volumes:
        raise InvalidInput("The scene has no volume for these labels.", remedy="Pass the label file as the volume.")
    if options.labels:
        scene = replace(scene, volumes=(*scene.volumes, _labels_layer(scene, options.labels)))
    points, meshes = _absolute(options.points), _absolute(options.mesh)
    return with_scenery(scene, points, meshes, radius_scale=options.radius_scale) if points or meshes else scene


def _labels_layer(scene: Scene, name: str) -> VolumeLayer:
    """Labels where the volume is."""
    with open_volume(Location.parse(name)) as labels:
        layer = VolumeLayer(str(labels.location.absolute), labels=Labels())
        with open_at(scene.volumes[0].source, scene.time) as volume:
            return place_labels(layer, labels, scene.volumes[0], volume) or layer


def _absolute(names: list[str]) -> list[str]:
    return [str(Location.parse(name).absolute) for name in names]


def _cinematic(cinematic: Cinematic, options: argparse.Namespace) -> Cinematic:
    names = ("samples", "environment", "exposure", "lamp", "surface", "aperture", "focus", "scatterings")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    if options.no_denoise:
        given["is_denoised"] = False
    if "environment" in given and given["environment"] not in BUILT_IN:
        given["environment"] = str(Path(given["environment"]).absolute())
    return replace(cinematic, **given)


def _moved(camera: Camera, options: argparse.Namespace) -> Camera:
    if options.azimuth or options.elevation:
        camera = camera.orbited(options.azimuth, options.elevation)
    if options.zoom != 1:
        camera = camera.zoomed(options.zoom)
    if options.orthographic:
        camera = replace(camera, height=camera.visible_height, field_of_view_deg=None)
    return camera


def _annotations(scene: Scene, options: argparse.Namespace) -> Any:
    marks = scene.annotations
    return replace(
        marks,
        is_color_bar=marks.is_color_bar or options.color_bar,
        value_unit=marks.value_unit if options.value_unit is None else options.value_unit,
        text_scale=options.text_scale or marks.text_scale,
        is_scale_bar=marks.is_scale_bar or options.scale_bar or options.annotate,
        is_axes=marks.is_axes or options.axes or options.annotate,
        is_legend=marks.is_legend or options.annotate,
    )
