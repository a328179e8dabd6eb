"""Eight small Spark programs whose blocks stay with Device Workers.

    spark-submit --master spark://HOST:7077 listings.py NAME VOLUME FOLDER

NAME is one of: compute_and_render, caching, shuffle, viewer_loop, halo, volume_rendering, isosurface, solver; or all.
VOLUME is a file that all nodes can read. Images and meshes are written into FOLDER.
"""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pyspark import SparkConf, SparkContext

from pellucid.box import Box, Shape, triple
from pellucid.client.cluster_viewer import connect_viewer, open_viewer
from pellucid.cluster.solvers.front import SIDES
from pellucid.cluster.spark import (
    DeviceBlock,
    ImagePlan,
    ShuffleManager,
    SparkApplication,
    advance_front,
    append_halo,
    cache_gpu,
    compose_frame,
    draw_block,
    exec_gpu,
    exec_gpu_seq,
    extract_halo,
    extract_surface_gpu,
    join_surfaces,
    persist_gpu,
    read_gpu,
    recv_gpu,
    send_gpu,
)
from pellucid.rendering.first_view.volumes import automatic_scene
from pellucid.rendering.geometry.mesh_files import write_arrays
from pellucid.volume.volume import open_volume

GRID = 2
SCALE = "void scale(In in, Out out, int z, int y, int x, const float* p) { out(z, y, x) = p[0] * in(z, y, x); }"
SMOOTH = """
void smooth(In in, Out out, int z, int y, int x, const float* p) {
    float sum = 0;
    for (int i = -1; i <= 1; ++i)
        for (int j = -1; j <= 1; ++j)
            for (int k = -1; k <= 1; ++k) sum += in(z + i, y + j, x + k);
    out(z, y, x) = sum / 27;
}
"""
ADD = """
void add(const In* in, int count, Out out, int z, int y, int x, const float* p) {
    float sum = 0;
    for (int i = 0; i < count; ++i) sum += in[i](z, y, x);
    out(z, y, x) = sum;
}
"""


class Program:
    """What all of them use: the blocks of a volume, by their places in a grid."""

    def __init__(self, application: SparkApplication, path: str, folder: Path) -> None:
        self.application, self.path, self.folder = application, path, folder
        self.shuffles = ShuffleManager(application)
        with open_volume(path) as volume:
            self.shape, self.scene = volume.shape, automatic_scene(volume)
        self.edges = triple(-(-n // GRID) for n in self.shape)
        self.places = [triple(place) for place in np.ndindex(GRID, GRID, GRID)]

    def read(self, halo: int = 0) -> Any:
        """Pairs of a place and the block there, which its Worker reads from the file."""
        rdd = self.application.spark.parallelize(self.places, len(self.places))
        return rdd.map(partial(read_block, path=self.path, edges=self.edges, shape=self.shape, halo=halo))

    def plan(self, angle: float = 0.0) -> ImagePlan:
        turned = self.scene.camera.orbited(angle, 10.0)
        return ImagePlan(replace(self.scene, camera=turned), 256, 256, self.shape)

    def draw(self, blocks: Any, plan: ImagePlan, name: str) -> None:
        images = blocks.map(partial(draw, edges=self.edges, plan=plan)).collect()
        compose_frame(images, plan).save(self.folder / f"{name}.png")


def read_block(place: Shape, path: str, edges: Shape, shape: Shape, halo: int) -> tuple[Shape, DeviceBlock]:
    start = triple(k * edge for k, edge in zip(place, edges, strict=True))
    stop = triple(min(a + edge, n) for a, edge, n in zip(start, edges, shape, strict=True))
    return place, read_gpu(path, Box(start, stop), halo)


def draw(pair: tuple[Shape, DeviceBlock], edges: Shape, plan: ImagePlan) -> Any:
    place, block = pair
    return draw_block(block, triple(k * edge for k, edge in zip(place, edges, strict=True)), plan)


def compute_and_render(program: Program) -> None:
    """1. Compute on every block and draw the result where it is: one round trip to the Worker for each block."""
    half = exec_gpu(source=SCALE, function="scale", parameters=[0.5], halo=(2, 2, 2))
    program.draw(program.shuffles.shuffle(program.read().mapValues(half), halo=2), program.plan(), "compute_and_render")


def caching(program: Program) -> None:
    """2. Keep blocks between the iterations of a loop. Without cache_gpu every iteration would read them again."""
    blocks = program.read().mapValues(cache_gpu).cache()
    for step in range(1, 4):
        scaled = blocks.mapValues(exec_gpu(source=SCALE, function="scale", parameters=[step], dtype="f4"))
        print(f"step {step}: {scaled.mapValues(recv_gpu).mapValues(np.mean).values().sum():.1f}")


def shuffle(program: Program) -> None:
    """3. Bring blocks together by a key, here that of their layer, and add them up."""
    layers = program.read().map(lambda pair: (pair[0][0], pair[1]))
    added = program.shuffles.shuffle(layers).mapValues(exec_gpu_seq(source=ADD, function="add", dtype="f4"))
    print({key: float(mean) for key, mean in added.mapValues(recv_gpu).mapValues(np.mean).collect()})


def viewer_loop(program: Program) -> None:
    """4. Show every step of a loop in a viewer: images go from the Workers to its page."""
    with connect_viewer(program.application) as shown:
        print(f"Open {shown.viewer.url}")
        for step in range(3):
            scale = exec_gpu(source=SCALE, function="scale", parameters=[1 - 0.1 * step], halo=(2, 2, 2))
            blocks = program.shuffles.shuffle(program.read().mapValues(scale), halo=2).mapValues(cache_gpu).cache()
            open_viewer(blocks.map(partial(at_first_voxel, edges=program.edges)), shown)
            shown.viewer.camera = program.plan(30.0 * step).scene.camera
            (program.folder / f"viewer{step}.png").write_bytes(shown.viewer.screenshot_png(256, 256))


def at_first_voxel(pair: tuple[Shape, DeviceBlock], edges: Shape) -> tuple[Shape, DeviceBlock]:
    place, block = pair
    return triple(k * edge for k, edge in zip(place, edges, strict=True)), block


def halo(program: Program) -> None:
    """5. Exchange halos, step by step: what shuffle(halo=1) does in one call."""
    blocks = program.read().mapValues(send_copy).mapValues(persist_gpu).cache()
    parts = blocks.flatMap(extract_halo(halo=1))
    filled = blocks.leftOuterJoin(parts.groupByKey()).mapValues(filled_halo)
    smooth = exec_gpu(source=SMOOTH, function="smooth")
    program.draw(program.shuffles.shuffle(filled.mapValues(smooth), halo=2), program.plan(), "halo")


def send_copy(block: DeviceBlock) -> DeviceBlock:
    """A block may also come from an array of a task."""
    return send_gpu(recv_gpu(block), halo=1)


def filled_halo(found: tuple[DeviceBlock, Any]) -> DeviceBlock:
    block, parts = found
    return append_halo(block, parts or (), halo=1)


def volume_rendering(program: Program) -> None:
    """6. Draw frame after frame of blocks that stay; a Worker that is lost costs only its blocks."""
    blocks = program.application.cache(program.read(halo=2).mapValues(persist_gpu))
    for step in range(3):
        program.application.retry(partial(program.draw, blocks, program.plan(40.0 * step), f"frame{step}"))


def isosurface(program: Program) -> None:
    """7. Extract a surface in every block: with a halo, it has no gaps."""
    low, high = program.scene.volumes[0].transfer.value_range
    filled = program.shuffles.shuffle(program.read().mapValues(persist_gpu), halo=1)
    surfaces = filled.map(partial(surface, edges=program.edges, shape=program.shape, value=(low + high) / 2)).collect()
    mesh = join_surfaces(surfaces)
    write_arrays(program.folder / "surface.ply", mesh.vertices, mesh.triangles)
    print(f"{len(mesh.triangles)} triangles")


def surface(pair: tuple[Shape, DeviceBlock], edges: Shape, shape: Shape, value: float) -> Any:
    place, block = pair
    return extract_surface_gpu(block, value, triple(k * edge for k, edge in zip(place, edges, strict=True)), shape)


def solver(program: Program) -> None:
    """8. Iterate until nothing changes: when does a front arrive that starts in the corner?"""
    blocks = program.application.spark.parallelize(program.places, len(program.places)).map(start_times)
    number, is_done = 0, False
    while not is_done:
        filled = program.shuffles.shuffle(blocks.mapValues(cache_gpu), halo=1, sides=SIDES)
        advanced = filled.map(advance).cache()
        is_done = not any(advanced.map(lambda one: one[2]).collect())
        blocks, number = advanced.map(lambda one: (one[0], one[1])), number + 1
    last = blocks.mapValues(recv_gpu).mapValues(np.max).values().max()
    print(f"{number} iterations, the last voxel after {last:.1f}")


def start_times(place: Shape) -> tuple[Shape, DeviceBlock]:
    times = np.full((16, 16, 16), np.inf, np.float32)
    if not any(place):
        times[0, 0, 0] = 0
    return place, send_gpu(times)


def advance(pair: tuple[Shape, DeviceBlock]) -> tuple[Shape, DeviceBlock, bool]:
    place, block = pair
    there = [side for side in SIDES if all(0 <= p + s < GRID for p, s in zip(place, side, strict=True))]
    times = cache_gpu(advance_front(block, neighbours=there))
    return place, times, any(times.value["faces"])


PROGRAMS = (compute_and_render, caching, shuffle, viewer_loop, halo, volume_rendering, isosurface, solver)


def main() -> None:
    name, path, folder = sys.argv[1:4]
    Path(folder).mkdir(parents=True, exist_ok=True)
    spark = SparkContext.getOrCreate(SparkConf().setAppName(name))
    with SparkApplication(spark) as application:
        program = Program(application, path, Path(folder))
        for run in PROGRAMS:
            if name in (run.__name__, "all"):
                run(program)


if __name__ == "__main__":
    main()
