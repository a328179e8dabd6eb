"""Device Workers in Spark programs: what map functions call, and what the driver's program calls.

Here: the names of such a program.
Not here: how it is done (the modules), the same without Spark (cluster.group).
"""

from pellucid.cluster.blocks import DeviceBlock
from pellucid.cluster.functions import (
    cache_gpu,
    exec_gpu,
    exec_gpu_seq,
    persist_gpu,
    read_gpu,
    recv_gpu,
    send_gpu,
    unpersist_gpu,
)
from pellucid.cluster.halos import append_halo, extract_halo
from pellucid.cluster.images.frames import BlockImage, ImagePlan, compose_frame, draw_block
from pellucid.cluster.images.light import draw_blocks
from pellucid.cluster.images.shader_images import draw_block_gl
from pellucid.cluster.images.surfaces import (
    BlockSurface,
    draw_surface_gpu,
    extract_labels_gpu,
    extract_surface_gpu,
    join_labels,
    join_surfaces,
)
from pellucid.cluster.shaders import exec_gl, init_gl
from pellucid.cluster.solvers.front import advance_front
from pellucid.cluster.spark.application import SparkApplication
from pellucid.cluster.spark.options import SparkOptions
from pellucid.cluster.spark.shuffle import ShuffleManager

__all__ = [
    "BlockImage",
    "BlockSurface",
    "DeviceBlock",
    "ImagePlan",
    "ShuffleManager",
    "SparkApplication",
    "SparkOptions",
    "advance_front",
    "append_halo",
    "cache_gpu",
    "compose_frame",
    "draw_block",
    "draw_block_gl",
    "draw_blocks",
    "draw_surface_gpu",
    "exec_gl",
    "exec_gpu",
    "exec_gpu_seq",
    "extract_halo",
    "extract_labels_gpu",
    "extract_surface_gpu",
    "init_gl",
    "join_labels",
    "join_surfaces",
    "persist_gpu",
    "read_gpu",
    "recv_gpu",
    "send_gpu",
    "unpersist_gpu",
]
