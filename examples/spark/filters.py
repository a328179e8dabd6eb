"""Filters on blocks that stay with Device Workers: Gaussian, median, gradient magnitude, connected components.

    spark-submit --master spark://HOST:7077 filters.py VOLUME OUTPUT.npy

Each filter is a function for every voxel that reads around it, so that a block needs a halo of its width first.
"""

import sys
from functools import partial
from typing import Any

import numpy as np

from pellucid.box import Box, Shape, triple
from pellucid.cluster.blocks import DeviceBlock
from pellucid.cluster.functions import cache_gpu, exec_gpu, read_gpu, recv_gpu
from pellucid.volume.volume import open_volume

GAUSSIAN = """
void gaussian(In in, Out out, int z, int y, int x, const float* p) {
    const int r = (int)p[1];
    float sum = 0, weights = 0;
    for (int i = -r; i <= r; ++i)
        for (int j = -r; j <= r; ++j)
            for (int k = -r; k <= r; ++k) {
                const float weight = exp(-(float)(i * i + j * j + k * k) / (2 * p[0] * p[0]));
                sum += weight * in(z + i, y + j, x + k);
                weights += weight;
            }
    out(z, y, x) = sum / weights;
}
"""
MEDIAN = """
void median(In in, Out out, int z, int y, int x, const float* p) {
    float found[27];
    int count = 0;
    for (int i = -1; i <= 1; ++i)
        for (int j = -1; j <= 1; ++j)
            for (int k = -1; k <= 1; ++k) {
                const float value = in(z + i, y + j, x + k);
                int at = count++;
                for (; at > 0 && found[at - 1] > value; --at) found[at] = found[at - 1];
                found[at] = value;
            }
    out(z, y, x) = found[13];
}
"""
GRADIENT = """
void gradient(In in, Out out, int z, int y, int x, const float* p) {
    const float a = in(z + 1, y, x) - in(z - 1, y, x), b = in(z, y + 1, x) - in(z, y - 1, x);
    const float c = in(z, y, x + 1) - in(z, y, x - 1);
    out(z, y, x) = sqrt(a * a + b * b + c * c) / 2;
}
"""
NUMBER = """
void number(In in, Out out, int z, int y, int x, const float* p) {
    const long long at = ((long long)(p[1] + z) * (int)p[4] + (int)(p[2] + y)) * (int)p[5] + (int)(p[3] + x);
    out(z, y, x) = in(z, y, x) >= p[0] ? at + 1 : 0;
}
"""
SPREAD = """
void spread(In in, Out out, int z, int y, int x, const float* p) {
    long long most = in(z, y, x);
    if (most) {
        const long long around[6] = {in(z - 1, y, x), in(z + 1, y, x), in(z, y - 1, x), in(z, y + 1, x),
                                     in(z, y, x - 1), in(z, y, x + 1)};
        for (int i = 0; i < 6; ++i) most = around[i] > most ? around[i] : most;
    }
    out(z, y, x) = most;
}
"""


def gaussian(block: DeviceBlock, sigma: float, radius: int) -> DeviceBlock:
    """Needs a halo of the radius."""
    smooth: DeviceBlock = exec_gpu(block, source=GAUSSIAN, function="gaussian", parameters=[sigma, radius], dtype="f4")
    return smooth


def median(block: DeviceBlock) -> DeviceBlock:
    """Of 3 × 3 × 3 voxels; needs a halo of 1."""
    found: DeviceBlock = exec_gpu(block, source=MEDIAN, function="median")
    return found


def gradient(block: DeviceBlock) -> DeviceBlock:
    """The length of the gradient; needs a halo of 1."""
    length: DeviceBlock = exec_gpu(block, source=GRADIENT, function="gradient", dtype="f4")
    return length


def number(block: DeviceBlock, start: Shape, shape: Shape, value: float) -> DeviceBlock:
    """Voxels from the value on have numbers of their own; start: the block's first voxel in a volume of this shape."""
    parameters = [value, *start, *shape[1:]]
    numbered: DeviceBlock = exec_gpu(block, source=NUMBER, function="number", parameters=parameters, dtype="i8")
    return numbered


def spread(block: DeviceBlock) -> DeviceBlock:
    """Voxels take the largest number beside them; when nothing changes any more, objects have one number each."""
    spread: DeviceBlock = exec_gpu(block, source=SPREAD, function="spread")
    return spread


def read(place: Shape, path: str, edges: Shape, shape: Shape) -> tuple[Shape, DeviceBlock]:
    start = triple(k * edge for k, edge in zip(place, edges, strict=True))
    stop = triple(min(a + edge, n) for a, edge, n in zip(start, edges, shape, strict=True))
    return place, read_gpu(path, Box(start, stop))


def main() -> None:
    from pyspark import SparkConf, SparkContext

    from pellucid.cluster.spark import ShuffleManager, SparkApplication

    path, output = sys.argv[1:3]
    with open_volume(path) as volume:
        shape = volume.shape
    edges = triple(-(-n // 2) for n in shape)
    places = [triple(place) for place in np.ndindex(2, 2, 2)]
    spark = SparkContext.getOrCreate(SparkConf().setAppName("filters"))
    with SparkApplication(spark) as application:
        shuffles = ShuffleManager(application)
        blocks: Any = spark.parallelize(places, 8).map(partial(read, path=path, edges=edges, shape=shape))
        blocks = shuffles.shuffle(blocks.mapValues(cache_gpu), halo=1).mapValues(median).mapValues(cache_gpu)
        blocks = shuffles.shuffle(blocks, halo=3).mapValues(partial(gaussian, sigma=1.0, radius=3)).mapValues(cache_gpu)
        lengths = shuffles.shuffle(blocks, halo=1).mapValues(gradient).mapValues(recv_gpu).collect()
    found = np.empty(shape, np.float32)
    for place, voxels in lengths:
        found[tuple(slice(k * e, k * e + n) for k, e, n in zip(place, edges, voxels.shape, strict=True))] = voxels
    np.save(output, found)


if __name__ == "__main__":
    main()
