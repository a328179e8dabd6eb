"""How fast are surfaces extracted from a volume that fills a GPU, and those of many labels?

    python -m benchmarks.large_surfaces [--quick] [--json FILE]

Binary volumes with a surface that winds through all of them are made on the GPU, plane by plane, and stay there, and so
do the vertices and triangles. The targets are 1 s for 400 million triangles, and 2.5 s for 1,000 million. A volume of
97,336 labels is made there too, and 5,000 of them get surfaces, in at most 2 s. Without a GPU only a smaller volume of
labels is measured.
"""

import importlib
import time
from typing import Any

from benchmarks.label_cases import LARGE, QUICK, SMALL, label_rows
from benchmarks.table import TARGET, Row, options, report, shorter
from pellucid.device import Device, choose, runtime, synchronize
from pellucid.rendering.geometry.surface_extraction import SurfacePlace, extract_surface

TARGETS_S = {256: 1.0, 2048: 1.0, 3200: 2.5}
TRIANGLES = {256: 1e6, 2048: 400e6, 3200: 1000e6}
SLAB_PLANES = 640
REPEATS = 3


def main() -> None:
    given = options(__doc__ or "")
    device = choose()
    rows = label_rows(QUICK if given.is_quick else LARGE if device.is_cuda else SMALL, device)
    if device.is_cuda:
        rows += [case(edge, device) for edge in ((256,) if given.is_quick else (2048, 3200))]
    report("large_surfaces", rows, "binary volumes, uint8; labels, int32", given)


def case(edge: int, device: Device) -> Row:
    peer = importlib.import_module("cupy")
    volume = winding(peer, edge, TRIANGLES[edge])
    seconds, count = [], 0
    for _ in range(REPEATS + 1):
        start = time.perf_counter()
        count = extracted(volume, device)
        seconds.append(time.perf_counter() - start)
    del volume
    peer.get_default_memory_pool().free_all_blocks()
    name = f"surface of {edge}³, {count / 1e6:,.0f} million triangles"
    return shorter(name, "s", min(seconds), TARGET, TARGETS_S[edge])


def winding(peer: Any, edge: int, triangles: float) -> Any:
    """A gyroid with about so many triangles: its area in a cell of edge 1 is 3.09, with 2.2 triangles for each unit."""
    period = 3.09 * 2.2 * edge**3 / triangles
    angle = 2 * peer.pi / period * peer.arange(edge, dtype=peer.float32)
    sine, cosine = peer.sin(angle), peer.cos(angle)
    volume = peer.empty((edge, edge, edge), peer.uint8)
    for z in range(edge):
        plane = sine * cosine[:, None] + sine[:, None] * cosine[z] + sine[z] * cosine[None]
        volume[z] = plane > 0
    return volume


def extracted(volume: Any, device: Device) -> int:
    """The triangles of all slabs. A slab shares its last plane with the next one."""
    warp, count, depth = runtime.start(), 0, len(volume)
    for begin in range(0, depth, SLAB_PLANES):
        stop = min(begin + SLAB_PLANES, depth)
        slab = volume[begin : min(stop + 1, depth)]
        voxels = warp.array(ptr=slab.data.ptr, dtype=warp.uint8, shape=slab.shape, device=device.name)
        surface = extract_surface(voxels, 0.5, SurfacePlace((begin, 0, 0), is_last=stop == depth), device)
        synchronize(device)
        count += len(surface.triangles)
    return count


if __name__ == "__main__":
    main()
