"""How fast an image of a volume is, beside VTK's ray casters with the same samples, colours and camera.

Here: the table on the CPU.
Not here: VTK's side (vtk_peer).

    python -m benchmarks.render [--quick] [--json FILE]
"""

import os

import numpy as np

from benchmarks.sample_scans import SHARED
from benchmarks.table import TARGET, Row, faster, interleave, options, report, shorter, unavailable
from benchmarks.vtk_peer import vtk_frame
from pellucid.device import choose
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import framing
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import Scene, VolumeLayer
from pellucid.rendering.transfer import TransferFunction
from pellucid.settings import load, use
from pellucid.volume.sample_volume import sample
from pellucid.volume.volume import Volume, open_volume

SIZE = 512
OPACITIES = {
    "bonsai": ((0.0, 0.0), (0.14, 0.0), (0.25, 0.08), (0.5, 0.6), (1.0, 1.0)),
    "engine": ((0.0, 0.0), (0.2, 0.0), (0.45, 0.1), (0.6, 0.3), (1.0, 0.9)),
    "dense": ((0.0, 0.01), (1.0, 0.02)),
}
TARGETS = {"bonsai": 4.0, "engine": 4.0, "dense": 1.5}


def main() -> None:
    given = options("Drawing volumes on the CPU.")
    repeats = 3 if given.is_quick else 9
    rows: list[Row] = []
    for name, voxels in volumes().items():
        rows += cases(name, voxels, repeats)
    report("render", rows, f"{SIZE}², half-voxel steps, 256³ and 128×256×256 uint8", given)


def volumes() -> dict[str, Voxels]:
    """Two scans where they are at hand, the product's own sample where not, and a volume that is visible everywhere."""
    z, y, x = np.meshgrid(*[np.linspace(0, 8, 256, dtype=np.float32)] * 3, indexing="ij", sparse=True)
    dense = (127 + 60 * (np.sin(z) + np.cos(y) * np.sin(x))).clip(0, 255).astype(np.uint8)
    found = {}
    for name, file in (("bonsai", "bonsai.nrrd"), ("engine", "engine.nii.gz")):
        path = SHARED / "volumes" / file
        found[name] = open_volume(path).read() if path.exists() else (sample(256) >> 8).astype(np.uint8)
    return {**found, "dense": dense}


def scene_of(name: str, volume: Volume, shading: str) -> Scene:
    colors = ((0.0, (0.2, 0.5, 0.1)), (0.3, (0.6, 0.4, 0.2)), (1.0, (1.0, 0.9, 0.7)))
    transfer = TransferFunction(colors, OPACITIES[name], (0.0, 255.0))
    layer = VolumeLayer(str(volume.location), transfer, shading=shading)  # type: ignore[arg-type]
    z, y, x = volume.shape
    camera = framing((0.0, 0.0, 0.0), (float(x), float(y), float(z)), direction=(1.0, 0.8, 0.3), up=(0.0, 0.0, 1.0))
    return Scene((layer,), camera, is_jittered=False)


def cases(name: str, voxels: Voxels, repeats: int) -> list[Row]:
    volume, renderer = Volume.from_array(voxels), Renderer(choose("cpu"))
    plain, lit = (scene_of(name, volume, shading) for shading in ("none", "gradient"))
    functions = {
        "ours": lambda: renderer.render(plain, SIZE, SIZE),
        "lit": lambda: renderer.render(lit, SIZE, SIZE),
        "one thread": lambda: _on_one_thread(renderer, plain),
    }
    missing = []
    for mapper, peer in (("vtkFixedPointVolumeRayCastMapper", "VTK CPU"), ("vtkGPUVolumeRayCastMapper", "VTK on Mesa")):
        try:
            functions[peer] = vtk_frame(voxels, plain, SIZE, mapper, threads=len(os.sched_getaffinity(0)))  # type: ignore[assignment]
        except ImportError as error:
            missing.append(unavailable(f"{name}, unlit", peer, str(error)))
    times = interleave(functions, repeats)
    rows = [
        shorter(f"{name}, unlit", "s", times["ours"], peer, times[peer])
        for peer in ("VTK CPU", "VTK on Mesa")
        if peer in times
    ]
    if "VTK CPU" in times:
        rows.append(
            faster(f"{name}, speed-up on VTK CPU", "x", times["VTK CPU"] / times["ours"], TARGET, TARGETS[name])
        )
    rows.append(shorter(f"{name}, lit against unlit", "x", times["lit"] / times["ours"], TARGET, 3.0, "cost"))
    rows.append(faster(f"{name}, 2 threads on 1", "x", times["one thread"] / times["ours"], TARGET, 1.8))
    return rows + missing


def _on_one_thread(renderer: Renderer, scene: Scene) -> None:
    with use(load(threads=1)):
        renderer.render(scene, SIZE, SIZE)


if __name__ == "__main__":
    main()
