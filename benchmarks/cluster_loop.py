"""How long does a frame take in a Spark loop, and what does it cost when a Worker is killed?

    python -m benchmarks.cluster_loop [--quick] [--json FILE]

A standalone Spark with two nodes of one core on this machine, each with a Device Worker on its CPU. A volume in eight
blocks is drawn frame after frame. Ours: blocks stay, the driver asks Spark for them once and then after losses, and the
Workers put images together. Otherwise every frame is a job of Spark, images are gathered by Spark's own groupByKey or
put together by Workers, and blocks stay, or are sent for every frame. Blocks that are sent are read by the Workers from
the file, or ("from Spark") are arrays that Spark keeps in its memory, as in programs without Workers.
"A job around it": how much longer a frame takes if it is a job of Spark, with a task for each node; "trivial job": one
that does nothing, with as many tasks.
In the sixth frame a Worker is killed; cluster_loop.png shows the time of every frame.
"""

import os
import signal
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from benchmarks.sample_scans import enlarged
from benchmarks.table import RESULTS, TARGET, Row, interleave, options, report, shorter
from pellucid.box import Box, Shape, triple
from pellucid.cluster.blocks import DeviceBlock
from pellucid.cluster.functions import persist_gpu, recv_gpu
from pellucid.cluster.images.frames import ImagePlan, compose_frame, draw_block
from pellucid.cluster.links import WorkerLink
from pellucid.cluster.spark import SparkApplication, SparkOptions, read_gpu, send_gpu
from pellucid.formats.protocol import Voxels
from pellucid.rendering.first_view.volumes import automatic_scene
from pellucid.volume.sample_volume import sample
from pellucid.volume.volume import open_volume
from tests.spark_cluster import can_run, started

AROUND_TARGET_S = 0.06
REPEATS = 5
FAILURE = 6
GRID = NODES = 2
HALO = 2
KILLED = " (a Worker is killed)"


def main() -> None:
    given = options(__doc__ or "")
    edge, size = (64, 256) if given.is_quick else (512, 512)
    if not can_run():
        raise SystemExit("Spark or Java is missing.")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "volume.npy"
        np.save(path, enlarged((sample(edge // 2) >> 8).astype(np.uint8), 2))
        with started(Path(folder)) as cluster:
            context = cluster.context("frames", **{"spark.driver.memory": "2g", "spark.executor.memory": "1g"})
            with SparkApplication(context, SparkOptions(memory_bytes=2 * edge**3 + 2**29)) as application:
                rows, failure = measured(application, str(path), size)
            context.stop()
    if not given.is_quick:
        draw_figure(failure, RESULTS / "cluster_loop.png")
    report("cluster_loop", rows, f"{edge}³ uint8 in {GRID**3} blocks, frames of {size}²", given)


def measured(application: SparkApplication, path: str, size: int) -> tuple[list[Row], list[float]]:
    """Also the seconds of the frames among which a Worker is killed."""
    with open_volume(path) as volume:
        plan = ImagePlan(automatic_scene(volume), size, size, volume.shape)
        boxes = list(volume.box.tiles(triple(-(-n // GRID) for n in volume.shape)))
    spark = application.spark
    read = spark.parallelize(boxes, len(boxes)).map(partial(block_of, path=path))
    kept = application.cache(read.mapValues(persist_gpu))
    kept.count()
    arrays = read.map(array_of).cache()
    arrays.count()
    resent = arrays.map(sent)
    one_each = kept.coalesce(NODES)
    ours, by_job = lambda: direct(application, kept, plan), "Workers, a job for each frame, blocks stay"
    forms: dict[str, Callable[[], object]] = {
        "Spark's shuffle, blocks sent from Spark": lambda: through_spark(resent, plan),
        "Workers, blocks sent from Spark": lambda: through_workers(resent, plan),
        "Spark's shuffle, blocks sent": lambda: through_spark(read, plan),
        "Spark's shuffle, blocks stay": lambda: through_spark(kept, plan),
        "Workers, blocks sent": lambda: through_workers(read, plan),
        by_job: lambda: through_workers(one_each, plan),
        "trivial job": lambda: spark.parallelize(range(NODES), NODES).map(abs).collect(),
        "ours": ours,
    }
    seconds = interleave(forms, REPEATS)
    frame, trivial = seconds.pop("ours"), seconds.pop("trivial job")
    case = f"frame in a Spark loop, {size}²"
    rows = [shorter(case, "s", frame, name, taken) for name, taken in seconds.items()]
    around = max(seconds[by_job] - frame, 1e-3)
    rows.append(shorter(f"{case}, a job around it", "s", around, TARGET, AROUND_TARGET_S))
    rows.append(shorter(f"{case}, a job around it", "s", around, "trivial job", trivial))
    taken = failing(application, ours)
    usual = median(taken[: FAILURE - 1])
    rows += [
        shorter(f"{case}, number {n}{KILLED if n == FAILURE else ''}", "s", one, "frames before", usual)
        for n, one in enumerate(taken, 1)
    ]
    return rows, taken


def failing(application: SparkApplication, draw_frame: Callable[[], object]) -> list[float]:
    """Seconds of ten frames. A Worker is killed while the sixth is drawn."""
    taken = []
    for number in range(1, 11):
        if number == FAILURE:
            kill(application)
        start = time.perf_counter()
        application.retry(draw_frame)
        taken.append(time.perf_counter() - start)
    return taken


def draw_figure(taken: list[float], path: Path) -> None:
    """Seconds of each frame as bars; that in which a Worker is killed is red."""
    width, height, foot = 60, 240, 20
    image = Image.new("RGB", (width * len(taken), height + 2 * foot), "white")
    draw = ImageDraw.Draw(image)
    for number, seconds in enumerate(taken, 1):
        left, top = width * (number - 1), foot + height * (1 - seconds / max(taken))
        draw.rectangle(
            (left + 8, top, left + width - 8, foot + height), "firebrick" if number == FAILURE else "steelblue"
        )
        draw.text((left + width / 2, top - 8), f"{seconds:.2f} s", "black", anchor="mm")
        draw.text((left + width / 2, foot + height + 10), str(number), "black", anchor="mm")
    image.save(path)


def kill(application: SparkApplication) -> None:
    worker = application.workers()[0]
    os.kill(WorkerLink(worker.address, application.credentials.token).pid, signal.SIGKILL)


def block_of(box: Box, path: str) -> tuple[Shape, DeviceBlock]:
    return box.start, read_gpu(path, box, HALO)


def array_of(pair: tuple[Shape, DeviceBlock]) -> tuple[Shape, Voxels]:
    start, block = pair
    return start, recv_gpu(block)


def sent(pair: tuple[Shape, Voxels]) -> tuple[Shape, DeviceBlock]:
    """With room for a halo, which stays empty here: filling it costs more."""
    start, voxels = pair
    return start, send_gpu(voxels, HALO)


def draw(pair: tuple[Shape, DeviceBlock], plan: ImagePlan) -> Any:
    start, block = pair
    return draw_block(block, start, plan)


def direct(application: SparkApplication, kept: Any, plan: ImagePlan) -> object:
    return compose_frame([draw(pair, plan) for pair in application.collect(kept)], plan)


def through_workers(blocks: Any, plan: ImagePlan) -> object:
    return compose_frame(blocks.map(partial(draw, plan=plan)).collect(), plan)


def through_spark(blocks: Any, plan: ImagePlan) -> object:
    """Images of blocks as arrays of Spark's, grouped by the half of the image that they are in."""
    drawn = blocks.map(partial(draw, plan=plan)).flatMap(partial(halves, height=plan.height))
    put = drawn.groupByKey(2).mapValues(partial(composited, width=plan.width, half=plan.height // 2)).collect()
    return np.concatenate([rows for _, rows in sorted(put, key=lambda one: one[0])])


def halves(image: Any, height: int) -> list[tuple[int, tuple[Shape, int, Voxels]]]:
    pixels, half = recv_gpu(image.block), height // 2
    found = []
    for number in range(2):
        begin, end = max(image.first_row, number * half), min(image.first_row + len(pixels), (number + 1) * half)
        if end > begin:
            rows = pixels[begin - image.first_row : end - image.first_row]
            found.append((number, (image.box.start, begin - number * half, rows)))
    return found


def composited(images: Any, width: int, half: int) -> Voxels:
    """Front to back; here in the order of their places, which costs the same."""
    total = np.zeros((half, width, 5), np.float32)
    for _, first, rows in sorted(images, key=lambda one: one[0]):
        target = total[first : first + len(rows)]
        target += rows * (1 - target[..., 3:4])
    return total


if __name__ == "__main__":
    main()
