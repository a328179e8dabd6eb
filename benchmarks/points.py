"""How fast are a million spheres drawn, and an isosurface extracted?

    python -m benchmarks.points [--quick] [--json FILE]

The spheres have random places and sizes in a cube, seen whole, lit, with everything on the device already: what a frame
takes after the camera moved, without its way back to the host. On CUDA the target is 10 ms; on the CPU nothing was
promised, and the row says what it takes. The isosurface is compared with VTK's two extractors.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.table import TARGET, Row, interleave, options, report, shorter, unavailable
from pellucid.device import Device, LaunchRange, choose, synchronize
from pellucid.formats.protocol import Voxels
from pellucid.progress import amount
from pellucid.rendering.camera import Vector, framing
from pellucid.rendering.drawing.packing import pack_light, pack_view
from pellucid.rendering.first_view.geometry import automatic_points_layer
from pellucid.rendering.geometry.isosurfaces import extract_isosurface
from pellucid.rendering.geometry.shapes import Points
from pellucid.rendering.layers.spheres import SphereCloud, default_radius_scale
from pellucid.rendering.scene import Scene
from pellucid.volume.volume import Volume

TARGET_CUDA_MS = 10.0
DIRECTIONS: tuple[Vector, ...] = ((1.0, 0.6, 1.4), (-1.0, -0.6, -1.4), (-1.0, 0.8, 0.3))
"""Trees are not alike from all sides: the slowest one counts."""
RADII = {"touching": 1.0, "a third as large": 1 / 3, "three times as large": 3.0}
"""Times the scale at which the largest sphere reaches half-way to its neighbours."""


@dataclass(frozen=True)
class Size:
    points: int
    image: int
    edges: tuple[int, ...]
    repeats: int

    def __str__(self) -> str:
        edges = " and ".join(f"{edge}³" for edge in self.edges)
        return f"{amount(self.points, '')} spheres, {self.image}²; isosurface of {edges}"


FULL = Size(points=1_000_000, image=1024, edges=(256, 512), repeats=3)
QUICK = Size(points=100_000, image=512, edges=(96,), repeats=3)


def main() -> None:
    given = options("Spheres and isosurfaces.")
    size, device = QUICK if given.is_quick else FULL, choose()
    rows = [sphere_row(name, scale, size, device) for name, scale in RADII.items()]
    surfaces = [row for edge in size.edges for row in surface_rows(edge, size.repeats)]
    report("points", rows + surfaces, str(size), given)


def sphere_row(name: str, scale: float, size: Size, device: Device) -> Row:
    points = random_points(size.points)
    layer = automatic_points_layer(points.name, points, radius_scale=scale * default_radius_scale(points))
    cloud, shape = SphereCloud(points, layer, device), (size.image, size.image)

    def frame(direction: Vector) -> None:
        scene = Scene(camera=framing((0.0, 0.0, 0.0), (1.0, 1.0, 1.0), direction))
        cloud.draw(pack_view(scene, shape, 1.0, device), pack_light(scene.light, scene.camera), LaunchRange(shape))
        synchronize(device)

    sides = {str(direction): partial(frame, direction) for direction in DIRECTIONS}
    taken = max(interleave(sides, size.repeats).values()) * 1000
    case = f"{amount(size.points, '')} spheres, {name}, {device.kind.upper()}"
    if device.is_cuda:
        return shorter(case, "ms", taken, TARGET, TARGET_CUDA_MS)
    return Row(case, "time", "ms", taken, "none", None, None)


def random_points(count: int) -> Points:
    """Evenly spread in a unit cube, values from 0.2 to 1."""
    random = np.random.default_rng(1)
    return Points(random.random((count, 3), np.float32), random.uniform(0.2, 1.0, count))


def surface_rows(edge: int, repeats: int) -> list[Row]:
    voxels = waves(edge)
    volume = Volume.from_array(voxels)
    functions: dict[str, Callable[[], object]] = {"ours": lambda: extract_isosurface(volume, 0.3)}
    try:
        functions["VTK marching cubes"] = vtk_surface(voxels, "vtkMarchingCubes")
        functions["VTK flying edges"] = vtk_surface(voxels, "vtkFlyingEdges3D")
    except ImportError as error:
        return [unavailable(f"isosurface of {edge}³", "VTK", str(error))]
    times = interleave(functions, repeats)
    return [shorter(f"isosurface of {edge}³", "s", times["ours"], peer, times[peer]) for peer in list(times)[1:]]


def waves(edge: int) -> Voxels:
    """A surface that folds through the whole volume."""
    z, y, x = np.meshgrid(*[np.arange(edge, dtype=np.float32)] * 3, indexing="ij", sparse=True)
    folded: Voxels = np.sin(x / 8) + np.sin(y / 9) + np.sin(z / 7)
    return folded


def vtk_surface(voxels: Voxels, algorithm: str) -> Callable[[], object]:
    """The same surface by VTK, without normals and gradients, which ours does not make either."""
    vtk: Any = import_module("vtk")
    support: Any = import_module("vtk.util.numpy_support")
    image = vtk.vtkImageData()
    image.SetDimensions(*voxels.shape[::-1])
    image.GetPointData().SetScalars(support.numpy_to_vtk(voxels.ravel(), deep=True))

    def extract() -> object:
        contour = getattr(vtk, algorithm)()
        contour.SetInputData(image)
        contour.SetValue(0, 0.3)
        contour.ComputeNormalsOff()
        contour.ComputeGradientsOff()
        contour.ComputeScalarsOff()
        contour.Update()
        return contour.GetOutput().GetNumberOfPolys()

    return extract


if __name__ == "__main__":
    main()
