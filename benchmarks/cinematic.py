"""How soon a cinematic image is like one with very many paths, and how fast it is while the camera turns.

Here: the table, on whatever device there is; with and without the filter against noise.
Not here: other shadings (light, render), a program that follows paths in the same medium (mitsuba_peer).

    python -m benchmarks.cinematic [--quick] [--json FILE]
"""

import time
from dataclasses import replace

import numpy as np

from benchmarks.light import shell
from benchmarks.render_cuda import decibels
from benchmarks.sample_scans import SHARED, enlarged
from benchmarks.table import TARGET, Row, faster, options, report
from pellucid.device import choose
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import framing
from pellucid.rendering.cinematic.options import Cinematic
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import Scene, VolumeLayer
from pellucid.rendering.transfer import TransferFunction
from pellucid.volume.volume import Volume, open_volume

CPU_S, CPU_DB = 15.0, 35.0
CUDA_S, CUDA_DB = 0.3, (37.0, 40.0)
TURNING_S, TURNING_DB = 1 / 30, (31.0, 36.0)
TURNS = 9


def main() -> None:
    given = options("Cinematic images.")
    device = choose()
    edge = 1024 if device.is_cuda and not given.is_quick else 256
    size = 1024 if device.is_cuda else 256 if given.is_quick else 512
    many = 4096 if device.is_cuda else 64 if given.is_quick else 384
    voxels, name = cube(edge)
    volume = Volume.from_array(voxels)
    scene, rows = scene_of(volume), []
    with Renderer(device) as renderer:
        renderer.render(scene, 64, 64, is_exact=False)  # compiles
        # By other chances than what is compared with it.
        much = replace(scene, cinematic=Cinematic(samples=many, is_denoised=False, seed=1))
        expected = renderer.render(much, size, size).rgba[..., :3]
        for is_denoised in (False, True):
            case = f"{edge}³, {'with' if is_denoised else 'without'} filter"
            rows += at_rest(renderer, with_filter(scene, many, is_denoised=is_denoised), expected, case)
            rows += turning(renderer, with_filter(scene, many, is_denoised=is_denoised), expected, case)
    report("cinematic", rows, f"{size}², {name}, uint8, up to 24 scatterings; dB against {many} paths a pixel", given)


def cube(edge: int) -> tuple[Voxels, str]:
    """bonsai, its voxels repeated, where it is there; else a wavy shell."""
    path = SHARED / "volumes" / "bonsai.nrrd"
    if not path.exists():
        return shell(edge), "a wavy shell"
    with open_volume(path) as volume:
        voxels = volume.read()
    return enlarged(voxels, edge // 256), "bonsai"


def scene_of(volume: Volume) -> Scene:
    edge = float(volume.shape[0])
    colors = ((0.0, (0.8, 0.5, 0.3)), (1.0, (1.0, 0.9, 0.8)))
    voxel = 256 / edge  # The same opacity for each length in a finer volume.
    opacities = tuple(
        (at, float(1 - (1 - opacity) ** voxel)) for at, opacity in ((0.0, 0.0), (0.3, 0.0), (0.5, 0.4), (1.0, 0.8))
    )
    transfer = TransferFunction(colors, opacities, (0.0, 255.0))
    layer = VolumeLayer(str(volume.location), transfer, shading="cinematic")
    camera = framing((0.0, 0.0, 0.0), (edge, edge, edge), direction=(1.0, 0.8, 0.3), up=(0.0, 0.0, 1.0))
    return Scene((layer,), camera)


def with_filter(scene: Scene, samples: int, *, is_denoised: bool) -> Scene:
    return replace(scene, cinematic=Cinematic(samples=samples, is_denoised=is_denoised))


def at_rest(renderer: Renderer, scene: Scene, expected: Voxels, name: str) -> list[Row]:
    """The last image that is there in time."""
    limit_s = CUDA_S if renderer.device.is_cuda else CPU_S
    size = expected.shape[0]
    started, last, paths, passed = time.perf_counter(), expected[:0], 0, 0.0
    for frame in renderer.render_progressive(scene, size, size):
        if time.perf_counter() - started > limit_s and paths:
            break
        last, paths = frame.rgba[..., :3], frame.statistics.paths
        passed = time.perf_counter() - started
    is_denoised = scene.cinematic.is_denoised
    likeness = decibels(last, expected)
    target = CUDA_DB[is_denoised] if renderer.device.is_cuda else CPU_DB if is_denoised else None
    case = f"{name}, after {limit_s:g} s ({paths} paths)"
    row = (
        faster(case, "dB", likeness, TARGET, target)
        if target
        else Row(case, "speed", "dB", likeness, "none", None, None)
    )
    return [row, Row(f"{name}, paths a pixel", "speed", "1/s", paths / passed, "none", None, None)]


def turning(renderer: Renderer, scene: Scene, expected: Voxels, name: str) -> list[Row]:
    """While the camera moves: the most paths that leave 30 images a second; back where it began at the end."""
    size, samples = expected.shape[0], 1
    while samples < 64 and _image_s(renderer, scene, size, 2 * samples) < TURNING_S:
        samples *= 2
    taken = [_image_s(renderer, scene, size, samples, 3.0 * turn) for turn in range(TURNS)]
    image = renderer.render(scene, size, size, is_exact=False, samples=samples).rgba[..., :3]
    rate, likeness = 1 / float(np.median(taken)), decibels(image, expected)
    cases = f"{name}, while turning, {samples} paths"
    if not renderer.device.is_cuda:
        return [
            Row(cases, "speed", unit, value, "none", None, None) for unit, value in (("1/s", rate), ("dB", likeness))
        ]
    target = TURNING_DB[scene.cinematic.is_denoised]
    return [faster(cases, "1/s", rate, TARGET, 1 / TURNING_S), faster(cases, "dB", likeness, TARGET, target)]


def _image_s(renderer: Renderer, scene: Scene, size: int, samples: int, azimuth_deg: float = 0.0) -> float:
    turned = replace(scene, camera=scene.camera.orbited(azimuth_deg))
    started = time.perf_counter()
    renderer.render(turned, size, size, is_exact=False, samples=samples)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
