"""``pellucid render``: an image or a movie of a volume, or of a saved scene.

Here: the command's arguments, and what is written.
Not here: the scene that the arguments describe (scene), drawing (rendering).
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PIL import Image

from pellucid.cli.arguments import (
    add_device,
    add_source,
    background_argument,
    check_folder,
    count_argument,
    number_argument,
    parameter_argument,
    positive_argument,
    range_argument,
    shading_argument,
    size_argument,
    slice_argument,
)
from pellucid.cli.render.scene import described_scene, scene_beside, shaded_by
from pellucid.cli.replaced_files import check_replacement, is_image, is_movie_file, is_scene
from pellucid.engines.output_check import check_output
from pellucid.errors import InvalidInput
from pellucid.formats.local_files import write_whole
from pellucid.formats.location import Location
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera_path import CameraPath, turntable
from pellucid.rendering.figures.image_files import KINDS, pixel_size, save_figure
from pellucid.rendering.first_view.orientation import SIDES, VIEWS
from pellucid.rendering.frame import save_image
from pellucid.rendering.movie import clear_movie_folder, is_movie, save_movie
from pellucid.rendering.presets.builtin import PRESETS
from pellucid.rendering.renderer import Renderer, renderer_for
from pellucid.rendering.scene import Scene
from pellucid.rendering.side_by_side import draw_side_by_side

MODES = ("composite", "max", "min", "mean", "isosurface")
SHADINGS = ("none", "gradient", "shadow", "occlusion", "full", "cinematic")
WITHOUT_OPACITY = (".jpg", ".jpeg", ".bmp", ".pdf", ".eps", ".ppm")
DPI = 300
TIMEOUT_MS = 1e6
"""Long: no one waits for a first, coarse image here."""
MOVIES = "FILE.mp4, .webm or .gif, or a folder for numbered images"


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("render", help="render an image or a movie of a volume, or of a scene saved as JSON")
    add_source(parser, is_optional=True)
    parser.add_argument(
        "-o", "--output", required=True, type=Path, help=f"output image, such as FILE.png; for movies {MOVIES}"
    )
    parser.add_argument(
        "--size",
        type=size_argument,
        default="1024x1024",
        metavar="WxH",
        help="image size in pixels, such as 1920x1080, or on paper, such as 17x12cm (mm, in)",
    )
    parser.add_argument("--dpi", type=positive_argument, metavar="N", help="pixels per inch on paper (default: 300)")
    _add_look(parser.add_argument_group("appearance"))
    _add_cinematic(parser.add_argument_group("with --shading cinematic"))
    _add_camera(parser.add_argument_group("camera"))
    _add_company(parser.add_argument_group("further content"))
    _add_movie(parser.add_argument_group("movies"))
    add_device(parser)
    parser.add_argument(
        "--save-scene", type=Path, metavar="JSON", help="also save the scene, to edit and render it again"
    )
    parser.add_argument(
        "--overwrite", action="store_true", help="replace outputs that are not images, movies or scenes"
    )
    parser.set_defaults(run=run)


def _add_look(group: "argparse._ArgumentGroup") -> None:
    group.add_argument(
        "--preset", help=f"{', '.join(PRESETS)}; a colour map: bone, viridis, ...; or a file of ParaView, VTK or Slicer"
    )
    group.add_argument("--mode", choices=MODES, help="what a pixel shows of the values along its ray")
    group.add_argument(
        "--isovalue", type=number_argument, action="append", default=[], help="show this isosurface; repeatable"
    )
    group.add_argument(
        "--shading",
        type=shading_argument,
        choices=SHADINGS,
        help="lighting model; ao is occlusion, full is gradient, shadow and occlusion, cinematic is path tracing",
    )
    group.add_argument(
        "--range", type=range_argument, metavar="LOW,HIGH", help="values mapped to the ends of the transfer function"
    )
    group.add_argument("--gamma", type=positive_argument, help="gamma of the transfer function (1: linear)")
    group.add_argument(
        "--edges",
        type=range_argument,
        metavar="LOW,HIGH",
        help="opacity by gradient: none below LOW, full above HIGH (per voxel)",
    )
    preintegrated = "pre-integrated classification: thin opacity peaks are never skipped"
    group.add_argument("--preintegrated", action="store_true", help=preintegrated)
    group.add_argument("--shading-file", type=Path, metavar="FILE", help="file with a custom shading, in Python or C++")
    group.add_argument(
        "--parameter",
        type=parameter_argument,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="parameter of that shading; repeatable",
    )
    group.add_argument(
        "--opacity", type=positive_argument, metavar="FACTOR", help="opacity factor: 2 is denser, 0.5 more transparent"
    )
    group.add_argument(
        "--time",
        type=number_argument,
        metavar="STEP",
        help="time step to show, for a file with several; the nearest is used",
    )
    group.add_argument("--clip", metavar="BOX", help="show only this box of voxels: z0:z1,y0:y1,x0:x1")
    group.add_argument("--background", type=background_argument, help="black, white, transparent, gray or #rrggbb")
    group.add_argument("--smooth", action="store_true", help="antialiasing with nine samples per pixel")
    group.add_argument(
        "--step", type=positive_argument, metavar="VOXELS", help="distance between samples (default: 0.5)"
    )


def _add_cinematic(group: "argparse._ArgumentGroup") -> None:
    group.add_argument(
        "--samples",
        type=count_argument,
        metavar="N",
        help="paths for every pixel, with --shading cinematic (default: 256)",
    )
    group.add_argument("--environment", help="environment light: studio, sky, overcast, or a .hdr or .exr file")
    group.add_argument(
        "--exposure", type=positive_argument, metavar="FACTOR", help="brightness of the image (default: 1)"
    )
    group.add_argument(
        "--lamp", type=number_argument, metavar="FACTOR", help="strength of the lamp above left (default: 1)"
    )
    group.add_argument(
        "--surface", type=number_argument, metavar="SHARE", help="from 0 (a cloud) to 1 (glossy surfaces; default)"
    )
    group.add_argument(
        "--aperture",
        type=number_argument,
        metavar="SHARE",
        help="aperture of the lens, relative to the distance to the target (default: 0)",
    )
    group.add_argument(
        "--focus",
        type=positive_argument,
        metavar="SHARE",
        help="focal distance, relative to the distance to the target (default: 1)",
    )
    group.add_argument(
        "--scatterings", type=count_argument, metavar="N", help="maximum number of scatterings of a path (default: 24)"
    )
    group.add_argument("--no-denoise", action="store_true", help="do not filter the noise of cinematic images")


def _add_camera(group: "argparse._ArgumentGroup") -> None:
    group.add_argument("--view", choices=VIEWS, help="side from which the volume is viewed")
    group.add_argument(
        "--up",
        choices=SIDES,
        help="axis that points up, such as --up=-y (default: z, or away from the base of the sample)",
    )
    group.add_argument(
        "--azimuth", type=number_argument, default=0.0, metavar="DEG", help="rotate the camera around the volume"
    )
    group.add_argument("--elevation", type=number_argument, default=0.0, metavar="DEG", help="raise the camera")
    group.add_argument("--zoom", type=positive_argument, default=1.0, help="zoom factor")
    group.add_argument("--orthographic", action="store_true", help="no perspective: lengths are the same everywhere")


def _add_company(group: "argparse._ArgumentGroup") -> None:
    group.add_argument("--annotate", action="store_true", help="add a scale bar, axes and the names of labels")
    group.add_argument("--scale-bar", action="store_true", help="add a scale bar")
    group.add_argument("--axes", action="store_true", help="add the directions of x, y and z")
    group.add_argument("--color-bar", action="store_true", help="add the colours and their values")
    group.add_argument("--value-unit", metavar="UNIT", help="unit of the values, for the colour bar")
    group.add_argument("--text-scale", type=positive_argument, metavar="FACTOR", help="letter size (default: 1)")
    group.add_argument(
        "--no-scene", action="store_true", help="do not store the scene (with the names of files) in a PNG or TIFF"
    )
    group.add_argument(
        "--slice",
        type=slice_argument,
        action="append",
        default=[],
        metavar="AXIS=N",
        help="show this slice, such as z=120; repeatable",
    )
    group.add_argument("--labels", metavar="FILE", help="label volume, shown as colours in the volume")
    group.add_argument(
        "--points", action="append", default=[], help="points: .npy, .npz or .csv with x,y,z,value; repeatable"
    )
    group.add_argument("--radius-scale", type=positive_argument, help="radius of a point divided by its value")
    group.add_argument("--mesh", action="append", default=[], help="mesh: .ply, .obj, .stl or .vtp; repeatable")
    group.add_argument(
        "--compare", metavar="FILE", help="show another volume or scene on the right, with the same camera"
    )
    group.add_argument(
        "--compare-own-colors", action="store_true", help="with --compare: keep the colours of the second volume"
    )


def _add_movie(group: "argparse._ArgumentGroup") -> None:
    group.add_argument(
        "--turntable", type=count_argument, metavar="N", help=f"rotate once around the volume in N frames, to {MOVIES}"
    )
    group.add_argument(
        "--path", type=Path, metavar="JSON", help="follow these key frames (docs/how-to/images-and-movies.md)"
    )
    group.add_argument("--fps", type=positive_argument, default=30.0, help="frames per second")


def run(options: argparse.Namespace) -> int:
    options.size = pixel_size(options.size, options.dpi or DPI)
    _check_output(options)
    scenes = [described_scene(options)]
    if options.compare:
        scenes.append(scene_beside(options, scenes[0]))
    _check_sources(options, scenes)
    renderer = renderer_for(scenes[0], options.device)
    if options.shading_file:
        shading = renderer.add_shading(options.shading_file.read_text())
        scenes = [shaded_by(scene, shading, options.parameter) for scene in scenes]
    if options.save_scene:
        write_whole(options.save_scene, scenes[0].to_json())
    captions = [Path(str(name).partition(":")[0]).name for name in (options.source, options.compare)]

    def one(scene: Scene, width: int, height: int) -> Voxels:
        return _image(renderer, scene, width, height, is_smooth=options.smooth)

    def draw(scene: Scene) -> Voxels:
        if not options.compare:
            return one(scene, *options.size)
        width, height = options.size
        others = [replace(other, time=scene.time) for other in scenes[1:]]
        return draw_side_by_side(one, [scene, *others], width, height, captions)

    if options.turntable or options.path:
        count = _save_movie(options, scenes[0], draw)
        print(f"wrote {options.output} ({count} frames, {renderer.device.name})")
    else:
        _save_image(options, draw(scenes[0]), None if options.no_scene or options.compare else scenes[0])
        print(f"wrote {options.output} ({renderer.device.name})")
    return 0


def _save_image(options: argparse.Namespace, pixels: Voxels, scene: Scene | None) -> None:
    if options.output.suffix.lower() in KINDS:
        save_figure(pixels, options.output, options.dpi, scene)
    else:
        has_opacity = options.output.suffix.lower() not in WITHOUT_OPACITY
        save_image(pixels if has_opacity else pixels[..., :3], options.output)


def _check_sources(options: argparse.Namespace, scenes: list[Scene]) -> None:
    """Refuse to write over anything that is drawn, or that says how."""
    named = [options.source, options.compare, options.path, options.shading_file]
    if options.environment and Path(options.environment).is_file():
        named.append(options.environment)
    preset = options.preset if options.preset and Path(options.preset).is_file() else None
    sources = [*(str(name) for name in (*named, preset) if name), *(name for each in scenes for name in each.sources)]
    for output in filter(None, (options.output, options.save_scene)):
        check_output(Location(str(output)), dict.fromkeys(sources), may_join_slices=True)
    is_same_kind = is_movie_file if options.turntable or options.path else is_image
    check_replacement(options.output, is_same_kind, overwrite=options.overwrite)
    if options.save_scene:
        check_replacement(options.save_scene, is_scene, overwrite=options.overwrite)
    if options.overwrite and options.output.is_dir() and is_movie(options.output):
        clear_movie_folder(options.output)


def _image(renderer: Renderer, scene: Scene, width: int, height: int, *, is_smooth: bool) -> Voxels:
    if not is_smooth:
        rgba: Voxels = renderer.render(scene, width, height).rgba
        return rgba
    *_, smoothest = renderer.render_progressive(scene, width, height, budget_ms=TIMEOUT_MS)
    return smoothest.rgba


def _save_movie(options: argparse.Namespace, scene: Scene, draw: Callable[[Scene], Voxels]) -> int:
    """How many frames were written."""
    if options.turntable:
        views = [replace(scene, camera=camera) for camera in turntable(scene.camera, options.turntable)]
    else:
        path = CameraPath.from_json(options.path.read_text())
        views = [moment.scene(scene) for moment in path.moments(options.fps)]
    describe = "\n".join([str(options.size), str(options.compare), *(view.to_json() for view in views)])
    save_movie(options.output, lambda number: draw(views[number]), len(views), options.fps, describe)
    return len(views)


def _check_output(options: argparse.Namespace) -> None:
    """Refuse before anything is read or drawn."""
    if options.parameter and not options.shading_file:
        raise InvalidInput("--parameter needs --shading-file.", remedy="Add --shading-file FILE.")
    if options.turntable and options.path:
        raise InvalidInput("--turntable and --path cannot be combined.", remedy="Use one of them.")
    wants_movie = bool(options.turntable or options.path)
    if wants_movie and not is_movie(options.output):
        raise InvalidInput(f"{options.output} is not a valid movie name.", remedy=f"Use {MOVIES}.")
    if not wants_movie and options.output.suffix.lower() not in Image.registered_extensions():
        remedy = (
            "Add --turntable 120 or --path."
            if is_movie(options.output)
            else "Use a name that ends in .png, .jpg, .tif or .webp."
        )
        raise InvalidInput(f"{options.output} is not a valid image name.", remedy=remedy)
    check_folder(options.output)
