"""``pellucid demo``: simulate a scan, reconstruct it and show it.

Here: the steps, in the words a user would use, and the look of the result.
Not here: the steps' work.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from pellucid import progress
from pellucid.cli.arguments import count_argument
from pellucid.cli.commands.info import report
from pellucid.cli.commands.slices import save
from pellucid.cli.commands.view import add_viewer, serve
from pellucid.errors import InvalidInput
from pellucid.formats.local_files import write_whole
from pellucid.volume.volume import Volume

PIXEL_UM = 0.65
MU_PER_CM = 240.0
SIZE = (960, 720)
NAMES = ("scan.nxs", "sample.zarr", "slices.png", "view.json", "picture.png", "sample.zarr.report.json")
MARKER = "demo.txt"
"""In a folder that a demo filled: it may replace its own results."""


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("demo", help="simulate a scan, reconstruct it and show it in the browser")
    parser.add_argument("--output", type=Path, default=Path("demo-output"), help="folder for the results")
    parser.add_argument("--edge", type=count_argument, default=256, help="width and height of the detector in pixels")
    parser.add_argument("--headless", action="store_true", help="save a screenshot of the viewer and exit")
    add_viewer(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    folder: Path = options.output
    _check_folder(folder)
    scan, levels, slices, view = (folder / name for name in NAMES[:4])
    _simulate(scan, options.edge)
    with _reconstructed(scan, levels, options.device) as volume:
        report(volume.location, with_statistics=True)
        save(volume, slices)
        write_whole(view, _look(volume))
    print(f"\n{scan}: the simulated scan\n{levels}: the reconstructed volume\n{slices}: its three middle slices")
    options.state = options.state or str(view)
    if options.headless:
        _photograph(levels, view, folder / NAMES[4], options.device)
    else:
        serve(str(levels.absolute()), options)
    return 0


def _check_folder(folder: Path) -> None:
    """Make the folder, or refuse one whose files a demo would replace and did not write."""
    marker = folder / MARKER
    if not marker.exists():
        for name in NAMES:
            if (folder / name).exists():
                raise InvalidInput(
                    f"{folder / name} exists and was not written by pellucid demo.",
                    remedy="Choose another folder with --output.",
                )
    folder.mkdir(parents=True, exist_ok=True)
    text = "This folder was made by pellucid demo, which replaces its results here when it runs again.\n"
    write_whole(marker, text)


def _simulate(path: Path, edge: int) -> None:
    """A scan with noise, rings, stray photons, a fading beam, and the axis beside the middle."""
    from pellucid.tomo.simulation.detector import Detector, Faults, simulate, write_nxtomo
    from pellucid.tomo.simulation.phantoms import beads

    views = max(3 * edge // 2, 90)
    sample = beads(0.47 * edge, attenuation=MU_PER_CM * PIXEL_UM * 1e-4 * 256 / edge)
    detector = Detector(edge, edge, axis_column=0.513 * edge, pixel_size_um=PIXEL_UM * 256 / edge)
    faults = Faults(is_noisy=True, rings=edge // 20, ring_strength=0.03, zingers=edge, beam_loss=0.1)
    with progress.task("Simulating a scan", total=views, unit="views") as bar:
        write_nxtomo(simulate(sample, detector, np.arange(views) * np.pi / views, faults), path)
        bar.advance(views)


def _reconstructed(scan: Path, target: Path, device: str | None) -> Volume:
    from pellucid.tomo.correction.rings import RingSettings
    from pellucid.tomo.pipeline.reconstruct import OutputOptions, RunOptions, reconstruct
    from pellucid.tomo.recipe import Recipe

    recipe = Recipe(center="auto", zingers=0.3, rings=RingSettings("vo-all"))
    return reconstruct(
        scan, target, recipe, OutputOptions(levels="auto"), running=RunOptions(device=device, overwrite=True)
    )


def _look(volume: Volume) -> str:
    """A state of the viewer: walls of beads in ivory, kernels in copper, the front cut away, corners in the dark."""
    from pellucid.rendering.first_view.volumes import automatic_scene
    from pellucid.rendering.scene import ClipPlane
    from pellucid.rendering.transfer import TransferFunction

    ivory, copper = (0.95, 0.9, 0.8), (1.0, 0.45, 0.1)
    transfer = TransferFunction(
        colors=((0.0, (0.1, 0.12, 0.2)), (0.3, (0.55, 0.62, 0.7)), (0.52, ivory), (0.7, copper), (1.0, copper)),
        opacities=((0.0, 0.0), (0.22, 0.0), (0.4, 0.35), (0.55, 0.9), (1.0, 1.0)),
        value_range=(0.0, 2 * MU_PER_CM),
    )
    scene = automatic_scene(volume, aspect=SIZE[0] / SIZE[1])
    ahead = np.subtract(scene.camera.target, scene.camera.position)
    normal = ahead / np.linalg.norm(ahead) + (0.25, 0.0, 0.0)
    edge = volume.shape[0] * volume.spacing[0]
    plane = ClipPlane(tuple(normal.tolist()), float(normal @ np.full(3, edge / 2)) - 0.12 * edge)
    layer = replace(scene.volumes[0], transfer=transfer, shading="occlusion")
    scene = replace(scene, volumes=(layer,), planes=(plane,), background=(0.03, 0.04, 0.06, 1.0))
    return json.dumps({"version": 1, "scene": json.loads(scene.to_json())})


def _photograph(source: Path, view: Path, image: Path, device: str | None) -> None:
    """What the viewer shows of it, without any browser."""
    from pellucid.client.launch import start
    from pellucid.rendering.frame import save_image
    from pellucid.rendering.scene import Scene

    viewer = start(device=device, roots=[source.parent])
    try:
        viewer.load(source.absolute())
        viewer.scene = Scene.from_json(json.dumps(json.loads(view.read_text())["scene"]))
        save_image(viewer.screenshot(*SIZE), image)
    finally:
        viewer.shutdown()
    print(f"{image}: a screenshot of the viewer")
