"""How fast do blocks get from Worker to Worker, and how fast are images of them made?

    python -m benchmarks.cluster [--quick] [--json FILE]

Two Device Workers on this machine (on a GPU where there is one, which they share). "Exchange": each pulls all blocks of
the other and reads every byte. Peers, where they are installed: Spark's groupByKey, Dask and Ray, each with two workers
of one core, in the way that they choose. "Halo": eight blocks get the voxels of their neighbours. "Frame": an image of
a volume in eight blocks that stay, beside one process that draws the whole volume with all cores, and beside sending
the blocks for every image.
"""

import importlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.table import Row, attempt, interleave, options, report, shorter, unavailable
from pellucid.box import Shape, triple
from pellucid.cluster.blocks import DeviceBlock
from pellucid.cluster.functions import exec_gpu, persist_gpu
from pellucid.cluster.group import WorkerGroup
from pellucid.cluster.halos import append_halo, plan_halos
from pellucid.cluster.handles import Handle
from pellucid.cluster.images.frames import ImagePlan, compose_frame, draw_block
from pellucid.device import choose
from pellucid.formats.protocol import Voxels
from pellucid.rendering.first_view.volumes import automatic_scene
from pellucid.rendering.renderer import Renderer
from pellucid.volume.sample_volume import sample
from pellucid.volume.volume import Volume

REPEATS = 5
TARGETS_S = {"shared memory": 0.15, "TCP": 0.7}
HALO_TARGET_S = 0.02
ROWS = """
void rows(In in, Out out, int z, int y, int x, const float* p) {
    float sums[16] = {};
    for (int i = 0; i < in.width; i += 16)
        for (int k = 0; k < 16; ++k) sums[k] += in(z, y, i + k);
    float sum = 0;
    for (int k = 0; k < 16; ++k) sum += sums[k];
    out(z, y, x) = sum;
}
"""
"""As NumPy adds: one sum would wait for every addition, not for memory."""


def main() -> None:
    given = options(__doc__ or "")
    rows = [*exchanges(given.is_quick), *halos(given.is_quick), *frames(given.is_quick)]
    device = choose()
    report("cluster", rows, f"two Workers on {device.name} ({device.label})", given)


@contextmanager
def workers(nbytes: int, *, prefers_local: bool = True) -> Iterator[WorkerGroup]:
    device = "cuda:0" if choose().is_cuda else "cpu"
    with WorkerGroup.local(2, device, memory_bytes=nbytes, prefers_local=prefers_local) as group:
        yield group


def each(group: WorkerGroup, work: Callable[[Any], object], found: Sequence[tuple[Any, Any]]) -> None:
    """Work on things of each Worker, one after the other there, in (worker, thing) pairs."""

    def on(worker: Any) -> None:
        for one in (thing for where, thing in found if where == worker):
            work(one)

    with ThreadPoolExecutor(len(group.workers)) as pool:
        list(pool.map(on, group.workers))


# Exchange


def exchanges(is_quick: bool) -> list[Row]:
    count, shape = (16, (16, 64, 1024)) if is_quick else (64, (64, 64, 1024))
    mib = count * 4 * shape[0] * shape[1] * shape[2] // 2**20
    rows, peers = [], {name: peer_s(name, count, shape) for name in PEERS}
    for lane, is_local in (("shared memory", True), ("TCP", False)):
        with workers(4 * mib * 2**20, prefers_local=is_local) as group:
            ours = interleave({"ours": exchange_of(group, count, shape)}, REPEATS)["ours"]
        case = f"exchange {count} blocks, {mib} MiB, {lane}"
        rows.append(shorter(case, "s", ours, "target", TARGETS_S[lane] * mib / 1024))
        rows += [_peer(case, ours, name, seconds) for name, seconds in peers.items()]
    return rows


def exchange_of(group: WorkerGroup, count: int, shape: Shape) -> Callable[[], None]:
    voxels = np.ones(shape, np.float32)
    handles = [group.send(voxels, group.workers[number % 2]) for number in range(count)]
    moves = [(group.workers[1 - number % 2], handle) for number, handle in enumerate(handles)]
    summed = exec_gpu(source=ROWS, function="rows", shape=(shape[0], shape[1], 1))

    def pull(move: tuple[Any, Handle]) -> None:
        worker, handle = move
        result = persist_gpu(summed(DeviceBlock.moved(handle, worker)))
        result.release()  # It runs now.

    return lambda: each(group, pull, [(move[0], move) for move in moves])


def peer_s(name: str, count: int, shape: Shape) -> float | None:
    """Seconds; None where it is not installed."""
    module, measure = PEERS[name]
    return attempt(lambda: measure(count, shape)) if find_spec(module) else None


def _peer(case: str, ours: float, name: str, found: float | None) -> Row:
    return unavailable(case, name, "not installed") if found is None else shorter(case, "s", ours, name, found)


def spark(count: int, shape: Shape) -> float:
    from pyspark import SparkConf, SparkContext

    conf = SparkConf().setMaster("local[2]").set("spark.ui.enabled", "false").set("spark.driver.memory", "3g")
    context = SparkContext.getOrCreate(conf.set("spark.log.level", "ERROR"))
    seconds = []
    for _ in range(2):
        made = context.parallelize(range(count), 2).map(lambda key: (key, np.ones(shape, np.float32)))
        start = time.perf_counter()
        made.map(lambda pair: (pair[0] + 1, pair[1])).groupByKey(2).mapValues(
            lambda arrays: float(sum(one.sum() for one in arrays))
        ).collect()
        seconds.append(time.perf_counter() - start)
    context.stop()
    return min(seconds)


def dask(count: int, shape: Shape) -> float:
    peer = importlib.import_module("distributed")
    seconds = []
    with peer.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster, peer.Client(cluster) as client:
        names = sorted(client.scheduler_info()["workers"])
        for _ in range(3):
            made = [client.submit(np.ones, shape, np.float32, workers=[names[n % 2]], pure=False) for n in range(count)]
            peer.wait(made)
            start = time.perf_counter()
            sums = [client.submit(np.sum, one, workers=[names[1 - n % 2]]) for n, one in enumerate(made)]
            client.gather(sums)
            seconds.append(time.perf_counter() - start)
            del made, sums
    return min(seconds)


def ray(count: int, shape: Shape) -> float:
    peer = importlib.import_module("ray")
    peer.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    seconds = []
    try:
        holders = [peer.remote(num_cpus=1)(Holder).remote() for _ in range(2)]
        for _ in range(3):
            made = [holders[n % 2].make.remote(shape) for n in range(count)]
            refs = [one for (one,) in peer.get(made)]
            start = time.perf_counter()
            peer.get([holders[1 - n % 2].total.remote(one) for n, one in enumerate(refs)])
            seconds.append(time.perf_counter() - start)
            del made, refs
    finally:
        peer.shutdown()
    return min(seconds)


class Holder:
    """An actor of Ray."""

    def make(self, shape: Shape) -> list[Any]:
        return [importlib.import_module("ray").put(np.ones(shape, np.float32))]

    def total(self, voxels: Voxels) -> float:
        return float(voxels.sum())


PEERS: dict[str, tuple[str, Callable[[int, Shape], float]]] = {
    "Spark groupByKey": ("pyspark", spark),
    "Dask": ("distributed", dask),
    "Ray": ("ray", ray),
}
"""With the module that each needs."""


# Halos


def halos(is_quick: bool) -> list[Row]:
    edge = 64 if is_quick else 256
    with workers(24 * edge**3 * 8) as group:
        voxels = np.ones((edge,) * 3, np.uint8)
        places = [triple(place) for place in np.ndindex(2, 2, 2)]
        handles = {place: group.send(voxels, group.workers[n % 2], (1, 1, 1)) for n, place in enumerate(places)}
        plan = plan_halos({place: (handle, (edge,) * 3) for place, handle in handles.items()}, 1)
        found = [(handle.worker, (place, handle)) for place, handle in handles.items()]

        def fill(one: tuple[Shape, Handle]) -> None:
            place, handle = one
            filled = append_halo(DeviceBlock(handle), plan[place]).handle  # It runs now.
            if filled.version != 1:
                raise ValueError("The halo was not filled in place.")

        ours = interleave({"ours": lambda: each(group, fill, found)}, REPEATS)["ours"]
    return [shorter(f"halo of 8 blocks of {edge}³", "s", ours, "target", HALO_TARGET_S)]


# Frames


def frames(is_quick: bool) -> list[Row]:
    edge, size = (64, 512) if is_quick else (256, 1024)
    whole = np.ascontiguousarray((sample(edge) >> 8).astype(np.uint8))
    volume = Volume.from_array(whole)
    scene = automatic_scene(volume)
    plan = ImagePlan(scene, size, size, whole.shape)
    with workers(40 * edge**3 + 64 * 20 * size * size) as group:
        blocks = _blocks(group, whole)
        resent = lambda: _frame(_blocks(group, whole), plan, is_released=True)  # noqa: E731
        with Renderer() as renderer:
            renderer.add(volume)
            seconds = interleave(
                {
                    "ours": lambda: _frame(blocks, plan),
                    "one process": lambda: renderer.render(scene, size, size),
                    "sent every time": resent,
                },
                REPEATS,
            )
    case = f"frame of {edge}³ in 8 blocks, {size}²"
    return [shorter(case, "s", seconds["ours"], name, seconds[name]) for name in ("one process", "sent every time")]


def _blocks(group: WorkerGroup, whole: Voxels) -> list[tuple[Shape, DeviceBlock]]:
    half = whole.shape[0] // 2
    handles = {}
    for number, place in enumerate(np.ndindex(2, 2, 2)):
        start = triple(half * k for k in place)
        part = whole[tuple(slice(at, at + half) for at in start)]
        handles[triple(place)] = (start, group.send(part, group.workers[number % 2], (2, 2, 2)))
    plan = plan_halos({place: (handle, (half,) * 3) for place, (_, handle) in handles.items()}, 2)
    return [(start, append_halo(DeviceBlock(one), plan[place], 2)) for place, (start, one) in handles.items()]


def _frame(blocks: Sequence[tuple[Shape, DeviceBlock]], plan: ImagePlan, *, is_released: bool = False) -> None:
    compose_frame([draw_block(block, start, plan) for start, block in blocks], plan)
    if is_released:
        for _, block in blocks:
            block.release()


if __name__ == "__main__":
    with suppress(KeyError):
        del os.environ["SPARK_HOME"]
    main()
