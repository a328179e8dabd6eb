"""Make the images of the README again: ``python tools/pictures.py [--data FOLDER] [NAME ...]``.

Here: what is on each image, from which scan, in which light; and the animation of a volume being turned, from the
volume that ``make demo`` reconstructs.
Not here: the scans, which are not part of the repository (bonsai, engine: Open SciVis Datasets; head: ICBM 152;
FIB-SEM: Janelia FlyEM).

"neural" trains three neural fields first, which takes some minutes without a GPU.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from PIL import Image

import pellucid
from pellucid.rendering.camera import framing
from pellucid.rendering.first_view.geometry import automatic_points_layer
from pellucid.rendering.geometry.shapes import Points
from pellucid.rendering.labels import Labels
from pellucid.rendering.light import Light
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import (
    ClipPlane,
    Isosurface,
    Scene,
    ShadingName,
    SliceLayer,
    Transform,
    VolumeLayer,
)
from pellucid.rendering.transfer import TransferFunction

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "pictures"
EDGE = 480
QUALITY = 88
BACKGROUND = (0.07, 0.08, 0.1, 1.0)
FROM_ABOVE = Light(direction=(0.5, -1.0, 0.7), ambient=0.35, diffuse=0.8, specular=0.15)

LEAF, WOOD, SOIL, POT = (0.42, 0.68, 0.24), (0.66, 0.46, 0.29), (0.68, 0.58, 0.47), (0.85, 0.71, 0.56)
BONSAI = TransferFunction(
    colors=(
        (0.0, LEAF), (0.21, LEAF), (0.3, WOOD), (0.45, WOOD), (0.55, SOIL), (0.72, SOIL), (0.8, POT),
        (1.0, (1.0, 0.97, 0.92)),
    ),
    opacities=((0.0, 0.0), (0.12, 0.0), (0.165, 0.12), (0.23, 0.3), (0.3, 0.55), (0.47, 0.9), (1.0, 0.98)),
    value_range=(0.0, 255.0),
)  # fmt: skip
BED = (ClipPlane((-1.0, 0.5, 0.0), -208.0), ClipPlane((1.0, 0.5, 0.0), 43.0), ClipPlane((0.0, 1.0, 1.0), 84.0))
ABOVE_THE_BED = pellucid.Box((0, 15, 0), (256, 256, 256))
"""The scanner's bed, below and around the pot, is cut away."""

Describe = Callable[[Path], Scene]


def bonsai(shading: ShadingName) -> Describe:
    def describe(data: Path) -> Scene:
        with pellucid.open(data / "volumes/bonsai.nrrd") as volume:
            scene = pellucid.automatic_scene(volume)
        layer = replace(scene.volumes[0], transfer=BONSAI, shading=shading, clip=ABOVE_THE_BED)
        camera = scene.camera.orbited(150, -6).zoomed(1.6)
        return replace(scene, volumes=(layer,), camera=camera, planes=BED, light=FROM_ABOVE)

    return describe


def isosurface(data: Path) -> Scene:
    """The engine's casing, clear, over the parts inside it."""
    with pellucid.open(data / "volumes/engine.nii.gz") as volume:
        scene = pellucid.automatic_scene(volume)
    surfaces = (Isosurface(70.0, (0.62, 0.74, 0.86), 0.35), Isosurface(190.0, (0.95, 0.6, 0.25)))
    layer = replace(scene.volumes[0], mode="isosurface", isosurfaces=surfaces)
    return replace(scene, volumes=(layer,))


def spheres(data: Path) -> Scene:
    """A heap of grains, the largest in the middle."""
    random = np.random.default_rng(7)
    positions = random.normal(0, 1, (4000, 3))
    positions *= (random.random((4000, 1)) ** (1 / 3)) / np.linalg.norm(positions, axis=1, keepdims=True)
    values = 0.02 + 0.05 * random.random(4000) ** 3 + 0.03 * (1 - np.linalg.norm(positions, axis=1))
    KEPT.append(points := Points(positions, values))
    layer = automatic_points_layer(points.name, points, "viridis", 1.0)
    camera = framing((-1.0, -1.0, -1.0), (1.0, 1.0, 1.0), (0.55, -1.0, 0.35), (0.0, 0.0, 1.0)).zoomed(1.35)
    return Scene(points=(layer,), camera=camera, light=Light((-0.6, 1.0, -1.0), ambient=0.3, diffuse=0.8))


KEPT: list[Points] = []
"""Points have a name only as long as they live."""


def labels(data: Path) -> Scene:
    """Neurons, coloured where they were segmented, in the grey block."""
    with pellucid.open(f"{data / 'em/fibsem_2.h5'}:/raw") as volume:
        scene = pellucid.automatic_scene(volume)
    colored = VolumeLayer(
        f"{data / 'em/fibsem_2.h5'}:/labels", labels=Labels(), transform=Transform(scale=volume.spacing[::-1])
    )
    marks = replace(scene.annotations, is_scale_bar=True)
    return replace(scene, volumes=(*scene.volumes, colored), annotations=marks)


def slices(data: Path) -> Scene:
    """Three slices of the average head in its clear outline."""
    with pellucid.open(data / "volumes/spm152.nii.gz") as volume:
        scene = pellucid.automatic_scene(volume, "glass")
        z, y, x = (n * s for n, s in zip(volume.shape, volume.spacing, strict=True))
    layer = scene.volumes[0]
    clearer = replace(layer.transfer, opacities=tuple((at, opacity * 0.08) for at, opacity in layer.transfer.opacities))
    source, (low, high) = scene.volumes[0].source, scene.volumes[0].transfer.value_range
    grey = TransferFunction(opacities=((0.0, 0.0), (0.2, 0.0), (0.2, 1.0)), value_range=(low, high))
    places: tuple[tuple[Literal["x", "y", "z"], float], ...] = (("x", 0.5 * x), ("y", 0.5 * y), ("z", 0.45 * z))
    cuts = tuple(SliceLayer.across(source, axis, place, transfer=grey, is_solid=False) for axis, place in places)
    return replace(scene, volumes=(replace(layer, transfer=clearer),), slices=cuts)


def first(name: str) -> Describe:
    """The first picture, untouched."""

    def describe(data: Path) -> Scene:
        with pellucid.open(f"{data}/{name}") as volume:
            return pellucid.automatic_scene(volume)

    return describe


def brain(size: int | None) -> Describe:
    """The average head from its voxels, or from a neural field of so many bytes, which is trained for it."""

    def describe(data: Path) -> Scene:
        source = data / "volumes/spm152.nii.gz"
        with pellucid.open(source) as volume:
            scene = pellucid.automatic_scene(volume)
        if size is None:
            return scene
        from pellucid.neural.compression import CompressionOptions, compress

        FIELDS.append(folder := tempfile.TemporaryDirectory())
        field = Path(folder.name) / "head.plf"
        report = compress(source, field, CompressionOptions(size=size, steps=FIELD_STEPS))
        sys.stdout.write(f"{report.file_bytes / 1000:.0f} kB: {report.quality.psnr:.1f} dB\n")
        return replace(scene, volumes=(replace(scene.volumes[0], source=str(field)),))

    return describe


FIELDS: list["tempfile.TemporaryDirectory[str]"] = []
"""Folders of fields that are there as long as they are drawn."""
FIELD_SIZES = (15_000, 60_000, 240_000)
FIELD_STEPS: int | None = None
"""As many as usual: 12,000 on a GPU."""


@dataclass(frozen=True)
class ReadmeImage:
    """A file, and the scenes that stand in it from left to right."""

    name: str
    scenes: tuple[Describe, ...]


IMAGES = (
    ReadmeImage(
        "first-pictures",
        (
            first("volumes/bonsai.nrrd"), first("volumes/engine.nii.gz"), first("volumes/spm152.nii.gz"),
            first("em/fibsem_1.h5:/raw"),
        ),
    ),
    *(ReadmeImage(f"bonsai-{name}", (bonsai(name),)) for name in ("none", "gradient", "shadow", "occlusion", "full")),
    ReadmeImage("isosurface", (isosurface,)),
    ReadmeImage("spheres", (spheres,)),
    ReadmeImage("labels", (labels,)),
    ReadmeImage("slices", (slices,)),
    ReadmeImage("neural", (brain(None), *(brain(size) for size in FIELD_SIZES))),
)  # fmt: skip


def make(image: ReadmeImage, data: Path, renderer: Renderer) -> Path:
    """Draw a picture with smooth edges and write it."""
    panels = list(_panels(image, data, renderer))
    path = FOLDER / f"{image.name}.jpg"
    Image.fromarray(np.concatenate(panels, axis=1)[..., :3]).save(path, quality=QUALITY, subsampling=0, optimize=True)
    return path


def _panels(
    image: ReadmeImage, data: Path, renderer: Renderer
) -> Iterator["np.ndarray[tuple[int, ...], np.dtype[np.uint8]]"]:
    for describe in image.scenes:
        scene = replace(describe(data), background=BACKGROUND)
        *_, smoothest = renderer.render_progressive(scene, EDGE, EDGE, budget_ms=1e6)
        yield smoothest.rgba


@dataclass(frozen=True)
class Turntable:
    """An animated image of one turn of the camera around the demo's volume."""

    name: str = "turning"
    frames: int = 60
    frame_ms: int = 70
    width: int = 440
    height: int = 400
    quality: int = 76


def make_turntable(turntable: Turntable, demo: Path, renderer: Renderer) -> Path:
    """Render one turn of the scene that ``pellucid demo`` left in a folder, and write it as an animated WebP."""
    scene = Scene.from_json(json.dumps(json.loads((demo / "view.json").read_text())["scene"]))
    images = []
    for number in range(turntable.frames):
        turned = replace(scene, camera=scene.camera.orbited(360 * number / turntable.frames, 0).zoomed(1.1))
        *_, smoothest = renderer.render_progressive(turned, turntable.width, turntable.height, budget_ms=1e6)
        images.append(Image.fromarray(smoothest.rgba[..., :3]))
    path = FOLDER / f"{turntable.name}.webp"
    timing: dict[str, Any] = {"save_all": True, "duration": turntable.frame_ms, "loop": 0}
    images[0].save(path, append_images=images[1:], quality=turntable.quality, method=6, **timing)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder with the scans")
    parser.add_argument("--demo", type=Path, default=ROOT / "demo-output", help="folder that make demo filled")
    parser.add_argument("names", nargs="*", help="only these images")
    options = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    renderer = Renderer()
    everything: list[ReadmeImage | Turntable] = [*IMAGES, Turntable()]
    for image in everything:
        if not options.names or image.name in options.names:
            if isinstance(image, Turntable):
                path = make_turntable(image, options.demo, renderer)
            else:
                path = make(image, options.data, renderer)
            sys.stdout.write(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1000:.0f} kB\n")


if __name__ == "__main__":
    main()
