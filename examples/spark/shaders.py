"""A Spark program that draws blocks with OpenGL shaders of its own, where the blocks are.

    spark-submit --master spark://HOST:7077 shaders.py VOLUME FOLDER

The shader looks for the first sample above a value, and lights it. It reads into the halo: no seams.
"""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pyspark import SparkConf, SparkContext

from pellucid.box import Box, Shape, triple
from pellucid.cluster.spark import (
    DeviceBlock,
    ImagePlan,
    SparkApplication,
    compose_frame,
    draw_block_gl,
    init_gl,
    persist_gpu,
    read_gpu,
)
from pellucid.rendering.first_view.volumes import automatic_scene
from pellucid.volume.volume import open_volume

FRAGMENT = """
uniform float least;
vec3 slope(vec3 p) {
    vec3 x = vec3(1, 0, 0), y = vec3(0, 1, 0), z = vec3(0, 0, 1);
    return vec3(voxel(p + x) - voxel(p - x), voxel(p + y) - voxel(p - y), voxel(p + z) - voxel(p - z));
}
void main() {
    vec3 ray = ray_through(at), from = entry(at, ray);
    int steps = int(2.0 * distance(at, from)) + 1;
    for (int i = 0; i < steps; ++i) {
        vec3 p = from + ray * (float(i) + 0.5) / 2.0;
        if (voxel(p) < least) continue;
        float light = abs(dot(normalize(slope(p) + 1e-6), ray));
        color = vec4(light * vec3(1.0, 0.8, 0.6), 1.0);
        break;
    }
}
"""


def read(place: Shape, path: str, edges: Shape, shape: Shape) -> tuple[Shape, DeviceBlock]:
    start = triple(k * edge for k, edge in zip(place, edges, strict=True))
    stop = triple(min(a + edge, n) for a, edge, n in zip(start, edges, shape, strict=True))
    return start, read_gpu(path, Box(start, stop), halo=2)


def draw(pair: tuple[Shape, DeviceBlock], plan: ImagePlan, least: float) -> Any:
    start, block = pair
    return draw_block_gl(block, start, plan, fragment=FRAGMENT, uniforms={"least": least})


def main() -> None:
    path, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    with open_volume(path) as volume:
        shape, scene = volume.shape, automatic_scene(volume)
    low, high = scene.volumes[0].transfer.value_range
    edges = triple(-(-n // 2) for n in shape)
    places = [triple(place) for place in np.ndindex(2, 2, 2)]
    spark = SparkContext.getOrCreate(SparkConf().setAppName("shaders"))
    with SparkApplication(spark) as application:
        rdd = spark.parallelize(places, 8).map(partial(read, path=path, edges=edges, shape=shape))
        blocks = application.cache(rdd.mapValues(persist_gpu))
        print(blocks.mapValues(init_gl).map(lambda pair: pair[1].value).first())
        for angle in range(0, 90, 30):
            plan = ImagePlan(replace(scene, camera=scene.camera.orbited(angle, 10.0)), 256, 256, shape)
            images = blocks.map(partial(draw, plan=plan, least=(low + high) / 2)).collect()
            compose_frame(images, plan).save(folder / f"shaders{angle}.png")


if __name__ == "__main__":
    main()
