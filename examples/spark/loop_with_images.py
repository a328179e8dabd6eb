"""A Spark program whose blocks stay with Device Workers: it smooths a volume in a loop, and draws it after every step.

    spark-submit --master spark://HOST:7077 loop_with_images.py FOLDER

Voxels move between Workers only where blocks touch, and the driver receives images.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
from pyspark import SparkConf, SparkContext

from pellucid.box import Shape, triple
from pellucid.cluster.spark import (
    BlockImage,
    DeviceBlock,
    ImagePlan,
    ShuffleManager,
    SparkApplication,
    cache_gpu,
    compose_frame,
    draw_block,
    exec_gpu,
    persist_gpu,
    send_gpu,
)
from pellucid.rendering.camera import Camera
from pellucid.rendering.scene import Scene, VolumeLayer
from pellucid.rendering.transfer import TransferFunction

EDGE, GRID, STEPS = 32, 2, 3
SIDE = EDGE * GRID
SMOOTH = """
void smooth(In in, Out out, int z, int y, int x, const float* p) {
    float around = in(z - 1, y, x) + in(z + 1, y, x) + in(z, y - 1, x) + in(z, y + 1, x);
    around += in(z, y, x - 1) + in(z, y, x + 1);
    out(z, y, x) = (1 - p[0]) * in(z, y, x) + p[0] * around / 6;
}
"""


def read(place: Shape) -> tuple[Shape, Any]:
    """The block at a place in the grid: noise in a ball. A real program opens a file here."""
    z, y, x = (np.arange(EDGE) + EDGE * k for k in place)
    ball = (z[:, None, None] - SIDE / 2) ** 2 + (y[:, None] - SIDE / 2) ** 2 + (x - SIDE / 2) ** 2 < (0.45 * SIDE) ** 2
    noise = np.random.default_rng(list(place)).random((EDGE, EDGE, EDGE), np.float32)
    return place, np.where(ball, noise, 0).astype(np.float32)


def plan_of(angle: float) -> ImagePlan:
    middle = (SIDE / 2, SIDE / 2, SIDE / 2)
    camera = Camera((SIDE / 2, -2.0 * SIDE, SIDE / 2), middle, (0.0, 0.0, 1.0)).orbited(angle, 25)
    colors = ((0.0, (0.1, 0.2, 0.7)), (1.0, (1.0, 0.8, 0.3)))
    transfer = TransferFunction(colors, ((0.0, 0.0), (0.4, 0.0), (1.0, 0.4)))
    return ImagePlan(Scene((VolumeLayer("noise", transfer),), camera), 256, 256, (SIDE, SIDE, SIDE))


def draw(pair: tuple[Shape, DeviceBlock], plan: ImagePlan) -> BlockImage:
    place, block = pair
    return draw_block(block, triple(EDGE * k for k in place), plan)


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    places = [triple(place) for place in np.ndindex(GRID, GRID, GRID)]
    spark = SparkContext.getOrCreate(SparkConf().setAppName("loop with images"))
    with SparkApplication(spark) as application:
        shuffles = ShuffleManager(application)
        blocks = spark.parallelize(places, len(places)).map(read).mapValues(send_gpu).mapValues(persist_gpu)
        smooth = exec_gpu(source=SMOOTH, function="smooth", parameters=[0.8])
        for step in range(STEPS):
            plan = plan_of(20 * step)
            filled = shuffles.shuffle(blocks, halo=2)
            frame = compose_frame(filled.map(lambda pair, plan=plan: draw(pair, plan)).collect(), plan)
            frame.save(folder / f"step{step}.png")
            print(f"step {step}: an image of {len(places)} blocks, mean {frame.rgba[..., :3].mean():.1f}")
            blocks = filled.mapValues(smooth).mapValues(cache_gpu)


if __name__ == "__main__":
    main()
