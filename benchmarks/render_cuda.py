"""How fast an image is on CUDA, beside a ray caster written by hand for one texture; and how fast voxels get there.

Here: the table. Whole volumes of 512³ to 2048³, dense and with a fifth visible; the way from host memory to the first
image; a volume of four times the memory it may use.
Not here: the peer's kernel (cuda_peer), a million spheres (points), the CPU (render).

    python -m benchmarks.render_cuda [--quick] [--json FILE]
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import cos, radians, sin
from typing import Any

import numpy as np

from benchmarks.cuda_peer import peer
from benchmarks.table import TARGET, Row, faster, interleave, options, report, shorter
from pellucid.device import LaunchRange, choose, synchronize
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Camera, framing
from pellucid.rendering.drawing.draw_pass import DrawRegion
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import Scene, VolumeLayer
from pellucid.rendering.transfer import TransferFunction
from pellucid.settings import current
from pellucid.volume.volume import Volume

SIZE = 1024
MAX_VALUE = {"uint8": 255.0, "uint16": 65535.0, "float32": 1.0}
COLORS = ((0.0, (0.2, 0.5, 0.1)), (0.3, (0.6, 0.4, 0.2)), (1.0, (1.0, 0.9, 0.7)))
OPACITIES = {
    "dense": ((0.0, 0.002), (1.0, 0.02)),
    "a fifth visible": ((0.0, 0.0), (0.5, 0.0), (0.55, 0.01), (1.0, 0.05)),
}
TARGETS = {"dense": 1.0, "a fifth visible": 3.0}
LIKE_DB = 40.0
UPLOAD_TARGET_GB_S = 20.0
UPLOAD_BYTES = 8 * 2**30
POOL_SHARE = 4


@dataclass(frozen=True)
class Effort:
    """edges: of the cubes; streamed: of the volume in bricks."""

    edges: tuple[int, ...]
    repeats: int
    streamed: int


FULL = Effort((512, 1024, 2048), 15, 1024)
QUICK = Effort((512,), 5, 512)


def main() -> None:
    given = options("Drawing volumes on CUDA.")
    effort = QUICK if given.is_quick else FULL
    rows: list[Row] = []
    for edge in effort.edges:
        for kind in MAX_VALUE:
            rows += whole_rows(kind, edge, effort.repeats)
    rows += streamed_rows(effort.streamed)
    edges = ", ".join(f"{edge}³" for edge in effort.edges)
    report("render_cuda", rows, f"{SIZE}², half-voxel steps, {edges}", given)


def voxels_of(kind: str, edge: int) -> Voxels:
    """Waves, bright in a box of a sixth of the volume in the middle, dim around it; repeated, for that is fast."""
    z, y, x = np.meshgrid(*[np.arange(256, dtype=np.float32) * (2 * np.pi / 256)] * 3, indexing="ij", sparse=True)
    wave = 0.25 + 0.12 * (np.sin(3 * z) + np.cos(5 * y) * np.sin(4 * x)).clip(-1.9, 1.9)
    dim, bright = ((MAX_VALUE[kind] * part).astype(kind) for part in (wave, wave + 0.5))
    volume: Voxels = np.empty((edge,) * 3, kind)
    low, high = round(0.225 * edge), round(0.775 * edge)

    def fill(start: int) -> None:
        planes = slice(start, start + 16)
        tile = slice(start % 256, start % 256 + 16)
        volume[planes] = np.tile(dim[tile], (1, edge // 256, edge // 256))
        if low <= start < high:
            inner = np.tile(bright[tile], (1, edge // 256, edge // 256))[:, low:high, low:high]
            volume[planes, low:high, low:high] = inner

    with ThreadPoolExecutor(current().threads) as pool:
        list(pool.map(fill, range(0, edge, 16)))
    return volume


def scene_of(volume: Volume, case: str, shading: str = "none") -> Scene:
    transfer = TransferFunction(COLORS, OPACITIES[case], (0.0, MAX_VALUE[volume.dtype.name]))
    layer = VolumeLayer(str(volume.location), transfer, shading=shading)  # type: ignore[arg-type]
    z, y, x = map(float, volume.shape)
    camera = framing((0.0, 0.0, 0.0), (x, y, z), direction=(1.0, 0.8, 0.3), up=(0.0, 0.0, 1.0))
    return Scene((layer,), camera, is_jittered=False, background=(0.0, 0.0, 0.0, 0.0))


def whole_rows(kind: str, edge: int, repeats: int) -> list[Row]:
    volume = Volume.from_array(voxels_of(kind, edge))
    renderer = Renderer(choose("cuda"))
    dense = scene_of(volume, "dense")
    warm(kind)
    started = time.perf_counter()
    renderer.render(dense, SIZE, SIZE)
    taken = time.perf_counter() - started
    rows: list[Row] = []
    if volume.nbytes >= UPLOAD_BYTES:
        case = f"{kind} {edge}³, host memory to first image"
        rows.append(faster(case, "GB/s", volume.nbytes / taken / 1e9, TARGET, UPLOAD_TARGET_GB_S))
    field = renderer.load(dense)[0][0]
    for case in OPACITIES:
        rows += drawn_rows(renderer, field, volume, case, repeats)
    return rows


def warm(kind: str) -> None:
    """Compile and load what the first image of this type needs: that is not the question."""
    small = Volume.from_array(voxels_of(kind, 256))
    renderer = Renderer(choose("cuda"))
    for shading in ("none", "gradient"):
        renderer.render(scene_of(small, "dense", shading), SIZE, SIZE)


def drawn_rows(renderer: Renderer, field: Any, volume: Volume, case: str, repeats: int) -> list[Row]:
    kind, edge = volume.dtype.name, volume.shape[0]
    plain, lit = scene_of(volume, case), scene_of(volume, case, "gradient")
    other = peer(int(field.struct.whole.voxels), kind, volume.shape, plain, SIZE)
    likeness = decibels(renderer.render(plain, SIZE, SIZE).rgba, other.frame())
    if likeness < LIKE_DB:
        raise SystemExit(f"The peer draws another image of {kind} {edge}³ ({case}): {likeness:.0f} dB.")
    functions: dict[str, Callable[[], object]] = {
        "ours": lambda: draw(renderer, plain),
        "peer": other.draw,
        "our frame": lambda: renderer.render(plain, SIZE, SIZE),
        "its frame": other.frame,
        "lit": lambda: draw(renderer, lit),
    }
    times = {name: 1000 * taken for name, taken in interleave(functions, repeats).items()}
    name = f"{kind} {edge}³, {case}"
    return [
        shorter(f"{name}, on the device", "ms", times["ours"], "hand-written CUDA", times["peer"]),
        faster(f"{name}, speed-up", "x", times["peer"] / times["ours"], TARGET, TARGETS[case]),
        shorter(f"{name}, frame in host memory", "ms", times["our frame"], "hand-written CUDA", times["its frame"]),
        Row(f"{name}, lit, on the device", "time", "ms", times["lit"], "none", None, None),
    ]


def draw(renderer: Renderer, scene: Scene) -> None:
    """All that a frame takes until its light is gathered in the device's memory: packing, launching, waiting."""
    (painter,) = renderer._painters
    painter.start_pass(scene, painter.load(scene), DrawRegion((SIZE, SIZE))).draw(LaunchRange((SIZE, SIZE)))
    synchronize(painter.device)


def decibels(one: Voxels, other: Voxels) -> float:
    error = float(np.mean((one.astype(np.float32) - other.astype(np.float32)) ** 2))
    return float(10 * np.log10(255**2 / max(error, 1e-9)))


def streamed_rows(edge: int) -> list[Row]:
    """A camera that goes round a volume of four times its pool, then stands still."""
    volume = Volume.from_array(voxels_of("uint16", edge))
    renderer = Renderer(choose("cuda"), volume.nbytes // POOL_SHARE)
    scene = scene_of(volume, "dense")
    renderer.render(scene, SIZE, SIZE, is_exact=False)
    taken = []
    for number in range(90):
        moved = replace(scene, camera=turned(scene.camera, 2.0 * number))
        started = time.perf_counter()
        renderer.render(moved, SIZE, SIZE, is_exact=False)
        taken.append(time.perf_counter() - started)
    started = time.perf_counter()
    renderer.render(moved, SIZE, SIZE)
    complete = time.perf_counter() - started
    name = f"uint16 {edge}³ in a quarter of its memory"
    return [
        faster(
            f"{name}, orbiting, the slowest of twenty frames",
            "frames/s",
            1 / float(np.quantile(taken, 0.95)),
            TARGET,
            30.0,
        ),
        shorter(f"{name}, full image after standing still", "s", complete, TARGET, 2.0),
    ]


def turned(camera: Camera, degrees: float) -> Camera:
    """Round the target, about the z axis."""
    x, y, z = np.subtract(camera.position, camera.target)
    c, s = cos(radians(degrees)), sin(radians(degrees))
    left, front, up = np.add(camera.target, (c * x - s * y, s * x + c * y, z))
    return replace(camera, position=(float(left), float(front), float(up)))


if __name__ == "__main__":
    main()
