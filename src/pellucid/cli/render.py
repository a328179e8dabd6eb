"""``pellucid render``: a picture of a volume, or of a saved scene.

Here: the command's arguments, and the scene they describe.
Not here: drawing (rendering).
"""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from pellucid.cli.arguments import add_source, range_argument, size_argument, source_location
from pellucid.device import choose
from pellucid.formats.location import Location
from pellucid.rendering.automatic import automatic_scene
from pellucid.rendering.automatic_scenery import with_scenery
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import Isosurface, Scene
from pellucid.volume.volume import open_volume

MODES = ("composite", "max", "min", "mean", "isosurface")


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("render", help="a picture of a volume, or of a scene saved as JSON")
    add_source(parser, is_optional=True)
    parser.add_argument("-o", "--output", required=True, help="PNG file to write")
    parser.add_argument(
        "--size", type=size_argument, default=(1024, 1024), metavar="WxH", help="pixels, as in 1920x1080"
    )
    parser.add_argument("--preset", default="bone", help="colour map: bone, coral, gray, viridis, magma, ...")
    parser.add_argument("--mode", choices=MODES, default="composite")
    parser.add_argument("--isovalue", type=float, action="append", default=[], help="draw this isosurface; repeatable")
    parser.add_argument("--shading", choices=("none", "gradient", "shadow", "occlusion"), default="gradient")
    parser.add_argument("--range", type=range_argument, metavar="LOW,HIGH", help="values from dark to bright")
    parser.add_argument("--azimuth", type=float, default=0.0, help="degrees around the volume")
    parser.add_argument("--elevation", type=float, default=0.0, help="degrees upwards")
    parser.add_argument("--step", type=float, default=0.5, help="voxels between samples")
    parser.add_argument(
        "--points", action="append", default=[], help="draw these too: .npy, .npz or .csv of x,y,z,value"
    )
    parser.add_argument("--radius-scale", type=float, help="radius of a point per unit of its value")
    parser.add_argument("--mesh", action="append", default=[], help="draw this too: .ply, .obj, .stl or .vtp")
    parser.add_argument("--device", help="cpu, cuda, cuda:1 (default: what there is)")
    parser.add_argument("--save-scene", type=Path, metavar="JSON", help="also write the scene, to edit and draw again")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    scene = _scene(options)
    if options.save_scene:
        options.save_scene.write_text(scene.to_json())
    frame = Renderer(choose(options.device)).render(scene, *options.size)
    frame.save(options.output)
    print(f"wrote {options.output} ({frame.statistics.device}, {frame.statistics.times_s['draw']:.2f} s)")
    return 0


def _scene(options: argparse.Namespace) -> Scene:
    scene = _volume_scene(options) if options.source else Scene(step=options.step)
    is_framed_here = not scene.volumes and bool(options.points or options.mesh)
    scene = with_scenery(scene, _absolute(options.points), _absolute(options.mesh), radius_scale=options.radius_scale)
    return replace(scene, camera=scene.camera.turned(options.azimuth, options.elevation)) if is_framed_here else scene


def _absolute(names: list[str]) -> list[str]:
    return [str(Location.parse(name).absolute) for name in names]


def _volume_scene(options: argparse.Namespace) -> Scene:
    location = source_location(options)
    if location.path.endswith(".json"):
        return Scene.from_json(location.local.read_text())
    with open_volume(location) as volume:
        scene = automatic_scene(volume, options.preset)
    (layer,) = scene.volumes
    surfaces = tuple(Isosurface(value) for value in options.isovalue)
    changes: dict[str, Any] = {"mode": "isosurface" if surfaces else options.mode, "isosurfaces": surfaces}
    if isinstance(options.range, tuple):
        changes["transfer"] = replace(layer.transfer, value_range=options.range)
    layer = replace(layer, shading=options.shading, **changes)
    camera = scene.camera.turned(options.azimuth, options.elevation)
    return replace(scene, volumes=(layer,), camera=camera, step=options.step)
