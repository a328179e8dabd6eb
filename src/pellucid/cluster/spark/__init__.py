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
    recv_gpu,
    send_gpu,
    unpersist_gpu,
)
from pellucid.cluster.spark.application import SparkApplication
from pellucid.cluster.spark.options import SparkOptions

__all__ = [
    "DeviceBlock",
    "SparkApplication",
    "SparkOptions",
    "cache_gpu",
    "exec_gpu",
    "exec_gpu_seq",
    "persist_gpu",
    "recv_gpu",
    "send_gpu",
    "unpersist_gpu",
]
