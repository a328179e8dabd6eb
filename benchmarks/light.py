"""What light costs, and how near it is to light that is followed from every sample.

Here: the table, on whatever device there is: volumes of half visible cells from 128³ to 1024³, first and exact images,
images while the camera and its light turn.
Not here: images without light through the volume (render, render_cuda).

    python -m benchmarks.light [--quick] [--json FILE]
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from statistics import median

import numpy as np

from benchmarks.render_cuda import decibels
from benchmarks.table import TARGET, Row, faster, options, report, shorter
from pellucid.device import choose
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import framing
from pellucid.rendering.drawing import light_rays
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import ClipPlane, Scene, ShadingName, VolumeLayer
from pellucid.rendering.transfer import TransferFunction
from pellucid.volume.volume import Volume

SHADINGS: tuple[ShadingName, ...] = ("gradient", "shadow", "occlusion", "full")
FIRST_S, FINAL_S, TURNING_MS, LIKE_DB = 2.0, 15.0, 30.0, 38.0
TURNS = 9


def main() -> None:
    given = options("Shadows and ambient occlusion.")
    device = choose()
    size = 1024 if device.is_cuda else 512
    rows: list[Row] = []
    for edge in (256,) if given.is_quick else (128, 256, 512, 1024):
        volume, renderer = Volume.from_array(shell(edge)), Renderer(device)
        renderer.render(scene_of(volume, "none"), size, size)
        for shading in SHADINGS:
            rows += cases(renderer, scene_of(volume, shading), f"{edge}³, {shading}", size)
    report("light", rows, f"{size}², half-voxel steps, uint8, a shell with half of its cells visible, cut open", given)


def shell(edge: int) -> Voxels:
    """Of a radius of about three quarters, wavy, in air."""
    along: Voxels = (np.arange(edge, dtype=np.float32) + 0.5) / edge * 2 - 1
    voxels: Voxels = np.empty((edge,) * 3, np.uint8)
    wave = np.sin(18 * along)[:, None] * np.sin(9 * along)[None, :]
    bright = 140 + 60 * np.sin(40 * along)[None, :] * np.sin(33 * along)[:, None]
    for z, height in enumerate(along):
        radius = np.sqrt(height**2 + along[:, None] ** 2 + along[None, :] ** 2)
        voxels[z] = np.where(np.abs(radius - 0.78 + 0.06 * np.sin(27 * height) * wave) < 0.14, bright, 20)
    return voxels


def scene_of(volume: Volume, shading: ShadingName) -> Scene:
    edge = float(volume.shape[0])
    colors = ((0.0, (0.8, 0.5, 0.3)), (1.0, (1.0, 0.9, 0.8)))
    transfer = TransferFunction(colors, ((0.0, 0.0), (0.3, 0.0), (0.5, 0.2), (1.0, 0.6)), (0.0, 255.0))
    layer = VolumeLayer(str(volume.location), transfer, shading=shading)
    camera = framing((0.0, 0.0, 0.0), (edge, edge, edge), direction=(1.0, 0.8, 0.3), up=(0.0, 0.0, 1.0))
    return Scene((layer,), camera, planes=(ClipPlane((-1.0, -0.3, 0.0), -0.75 * edge),), is_jittered=False)


def cases(renderer: Renderer, scene: Scene, name: str, size: int) -> list[Row]:
    renderer.render(scene, 64, 64)  # compiles
    first_s, final_s = progressive_s(renderer, scene, size)
    taken = []
    for turn in range(TURNS):
        started = time.perf_counter()
        drawn = renderer.render(replace(scene, camera=scene.camera.orbited(3.0 * turn)), size, size)
        taken.append(1000 * (time.perf_counter() - started))
    rows = [
        shorter(f"{name}, first image", "s", first_s, TARGET, FIRST_S),
        shorter(f"{name}, exact image", "s", final_s, TARGET, FINAL_S),
    ]
    if renderer.device.is_cuda:
        rows.append(shorter(f"{name}, while turning", "ms", median(taken), TARGET, TURNING_MS))
    else:
        rows.append(Row(f"{name}, while turning", "time", "ms", median(taken), "none", None, None))
    if scene.volumes[0].shading != "gradient":
        with every_sample_lit():
            other = Renderer(renderer.device)
            expected = other.render(replace(scene, camera=scene.camera.orbited(3.0 * (TURNS - 1))), size, size)
            other.close()
        likeness = decibels(drawn.rgba[..., :3], expected.rgba[..., :3])
        rows.append(faster(f"{name}, against light for every sample", "dB", likeness, TARGET, LIKE_DB))
    return rows


def progressive_s(renderer: Renderer, scene: Scene, size: int) -> tuple[float, float]:
    """Seconds to the first image, and to the first exact one."""
    started, first_s = time.perf_counter(), 0.0
    for frame in renderer.render_progressive(scene, size, size):
        passed = time.perf_counter() - started
        first_s = first_s or passed
        if frame.statistics.is_exact:
            return first_s, passed
    raise AssertionError("Progressive rendering ends with an exact image.")


@contextmanager
def every_sample_lit() -> Iterator[None]:
    """Light is followed from every visible sample."""
    before, light_rays.SHARE = light_rays.SHARE, 0.0
    try:
        yield
    finally:
        light_rays.SHARE = before


if __name__ == "__main__":
    main()
