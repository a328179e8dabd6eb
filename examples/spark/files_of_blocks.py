"""A Spark program that takes blocks from files whose names say where they are, and writes blocks with the same names.

    spark-submit --master spark://HOST:7077 files_of_blocks.py FOLDER OUTPUT

FOLDER has files such as block_0_0_1.npy: the position (z, y, x) of the block in a grid. Spark reads them, so it may
also be a folder of HDFS (hdfs://...) or of S3 (s3a://...). Blocks are smoothed with the voxels of their neighbours.
"""

import io
import re
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pyspark import SparkConf, SparkContext

from pellucid.box import Shape, triple
from pellucid.cluster.spark import (
    DeviceBlock,
    ShuffleManager,
    SparkApplication,
    cache_gpu,
    exec_gpu,
    persist_gpu,
    recv_gpu,
    send_gpu,
)

NAME = re.compile(r"block_(\d+)_(\d+)_(\d+)\.npy$")
SMOOTH = """
void smooth(In in, Out out, int z, int y, int x, const float* p) {
    float sum = 0;
    for (int i = -1; i <= 1; ++i)
        for (int j = -1; j <= 1; ++j)
            for (int k = -1; k <= 1; ++k) sum += in(z + i, y + j, x + k);
    out(z, y, x) = sum / 27;
}
"""


def block_of(file: tuple[str, bytes]) -> tuple[Shape, DeviceBlock]:
    """Its position in the grid, and the block."""
    path, content = file
    found = NAME.search(path)
    if found is None:
        raise ValueError(f"{path} does not have a name such as block_0_0_1.npy.")
    return triple(map(int, found.groups())), send_gpu(np.load(io.BytesIO(bytes(content))))


def write(pair: tuple[Shape, Any], folder: str) -> None:
    (z, y, x), voxels = pair
    np.save(Path(folder) / f"block_{z}_{y}_{x}.npy", voxels)


def main() -> None:
    folder, output = sys.argv[1:3]
    Path(output).mkdir(parents=True, exist_ok=True)
    spark = SparkContext.getOrCreate(SparkConf().setAppName("files of blocks"))
    with SparkApplication(spark) as application:
        files = spark.binaryFiles(f"{folder}/block_*.npy")
        blocks = files.map(block_of).mapValues(persist_gpu)
        smooth = exec_gpu(source=SMOOTH, function="smooth", dtype="f4")
        filled = ShuffleManager(application).shuffle(blocks, halo=1)
        filled.mapValues(smooth).mapValues(cache_gpu).mapValues(recv_gpu).foreach(partial(write, folder=output))


if __name__ == "__main__":
    main()
