"""How fast are slices reconstructed from sinograms, and how do others do it?

    python -m benchmarks.reconstruct [--quick] [--json FILE]

Filter and back projection, sinograms in memory to slices in memory, seconds for a slice. On the CPU beside ASTRA's FBP,
scikit-image's iradon and algotom's FBP, all on the same sinogram, with how alike the slices are (iradon turns about
half a column further on where the width is even). The fast method is compared with our direct one at twice the width.
Where there is a CUDA device: the rate of direct back projection, slabs as wide as those of SPring-8, and 2048 views to
2048³ from host array to host array, with the time of every step; copying goes on beside computing, by many threads.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.table import TARGET, Row, faster, interleave, options, report, shorter, unavailable
from pellucid.device import Array, Device, choose, primitives, synchronize
from pellucid.formats.protocol import Voxels
from pellucid.tomo.correction.rings import RingSettings
from pellucid.tomo.methods.direct import ParallelGeometry, back_project
from pellucid.tomo.methods.filters import filter_sinograms
from pellucid.tomo.methods.gridding import reconstruct_by_gridding
from pellucid.tomo.methods.gridding_cpu import reuse_buffers
from pellucid.tomo.pipeline.in_memory import reconstruct_array
from pellucid.tomo.pipeline.slabs import SlabStatistics
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan import Frames, Scan

TARGET_UPDATES_CUDA = 1.0e12
LONG_UPDATES = 2.0e12
"""With more, the peer would take minutes."""

TARGET_WHOLE_S = {"none": 3.0, "vo-all": 5.0}
TARGET_FAST = 10.0
SLABS = ((4432, 3600), (13000, 6000))
"""Columns and views at SPring-8."""


@dataclass(frozen=True)
class Size:
    """columns, views: of the comparison with peers. slices: that ours makes at once; its time is divided by them."""

    columns: int
    views: int
    slices: int
    repeats: int
    whole: int

    def __str__(self) -> str:
        return f"{self.columns}² slices from {self.views} views"


FULL = Size(columns=1024, views=900, slices=16, repeats=3, whole=2048)
QUICK = Size(columns=256, views=225, slices=16, repeats=3, whole=256)


def main() -> None:
    given = options("Reconstruction of slices.")
    size, device = QUICK if given.is_quick else FULL, choose()
    rows = [*peer_rows(size), *fast_rows(size)]
    if device.is_cuda:
        rows += [*rate_rows(size, device), *whole_rows(size, device)]
        rows += [row for shape in SLABS if size is FULL for row in slab_rows(*shape, device)]
    report("reconstruct", rows, str(size), given)


def disc_sinograms(slices: int, views: int, columns: int) -> tuple[Voxels, Any]:
    """A disc beside the middle, the same in every slice, and the angles of a half turn."""
    angles = np.arange(views) * np.pi / views
    radius, away = 0.3 * columns, 0.1 * columns
    places = np.arange(columns) - (columns - 1) / 2 - away * np.cos(angles)[:, None]
    sinogram = (0.02 * np.sqrt(np.maximum(radius**2 - places**2, 0))).astype(np.float32)
    return np.repeat(sinogram[None], slices, axis=0), angles


# Peers, on the CPU


def peer_rows(size: Size) -> list[Row]:
    sinograms, angles = disc_sinograms(size.slices, size.views, size.columns)
    ours = partial(direct, sinograms, angles, choose("cpu"), "shepp-logan")
    peers: dict[str, Callable[[Voxels, Any], Callable[[], object]]] = {
        "ASTRA FBP": astra_fbp,
        "scikit-image iradon": skimage_iradon,
        "algotom FBP": algotom_fbp,
    }
    mine, rows = ours()[0], []
    for name, make in peers.items():
        try:
            peer = make(sinograms[0], angles)
        except ImportError as error:
            rows.append(unavailable("filter and back projection", name, str(error)))
            continue
        made: list[Any] = []
        taken = interleave({"ours": ours, name: partial(_keep, peer, made)}, size.repeats)
        rows.append(shorter(f"direct, {size}", "s a slice", taken["ours"] / size.slices, name, taken[name]))
        likeness = decibels(np.asarray(made[-1]), mine)
        rows.append(Row("the same slice", "likeness", "dB", likeness, name, None, None))
    return rows


def _keep(make: Callable[[], object], made: list[Any]) -> None:
    made.append(make())


def decibels(other: Voxels, mine: Voxels) -> float:
    """How alike two slices are, within the circle that all views see: peak to noise."""
    away = np.arange(len(mine)) - (len(mine) - 1) / 2
    inside = away[:, None] ** 2 + away**2 < (0.95 * len(mine) / 2) ** 2
    error = np.sqrt(np.mean((other - mine)[inside] ** 2, dtype=np.float64))
    return float(20 * np.log10(np.ptp(mine[inside]) / error))


def direct(sinograms: Array, angles: Any, device: Device, name: str) -> Array:
    geometry = ParallelGeometry.shared(angles, (sinograms.shape[2] - 1) / 2, len(sinograms))
    filtered = filter_sinograms(sinograms, name, padding="none", device=device)
    return back_project(filtered, geometry, device)


def gridded(sinograms: Array, angles: Any, device: Device, name: str) -> Array:
    geometry = ParallelGeometry.shared(angles, (sinograms.shape[2] - 1) / 2, len(sinograms))
    return reconstruct_by_gridding(sinograms, geometry, name, padding="none", device=device)


def astra_fbp(sinogram: Voxels, angles: Any) -> Callable[[], object]:
    astra = import_module("astra")
    columns = sinogram.shape[1]
    rays = astra.create_proj_geom("parallel", 1.0, columns, angles)
    volume = astra.create_vol_geom(columns, columns)
    projector = astra.create_projector("linear", rays, volume)
    measured, made = astra.data2d.create("-sino", rays, sinogram), astra.data2d.create("-vol", volume)
    request = astra.astra_dict("FBP")
    request |= {"ProjectorId": projector, "ProjectionDataId": measured, "ReconstructionDataId": made}
    request["option"] = {"FilterType": "shepp-logan"}

    def run() -> object:
        algorithm = astra.algorithm.create(request)
        astra.algorithm.run(algorithm)
        astra.algorithm.delete(algorithm)
        return astra.data2d.get_shared(made)

    return run


def skimage_iradon(sinogram: Voxels, angles: Any) -> Callable[[], object]:
    iradon = import_module("skimage.transform").iradon
    return partial(iradon, sinogram.T, theta=np.degrees(angles), filter_name="shepp-logan", circle=True)


def algotom_fbp(sinogram: Voxels, angles: Any) -> Callable[[], object]:
    fbp = import_module("algotom.rec.reconstruction").fbp_reconstruction
    middle = (sinogram.shape[1] - 1) / 2
    return partial(fbp, sinogram, middle, angles=angles, filter_name="shepp-logan", apply_log=False, gpu=False)


def fast_rows(size: Size) -> list[Row]:
    """The fast method beside the direct one, at twice the width and as many views as columns."""
    device, columns = choose(), 2 * size.columns
    sinograms, angles = disc_sinograms(size.slices, columns, columns)
    rows = primitives(device).to_device(sinograms)

    def timed(method: Callable[[Array, Any, Device, str], Array]) -> None:
        method(rows, angles, device, "chesler")
        synchronize(device)

    with reuse_buffers():  # As while a volume is made.
        taken = interleave({"gridding": partial(timed, gridded), "direct": partial(timed, direct)}, size.repeats)
    ratio = taken["direct"] / taken["gridding"]
    case = f"gridding against direct, {columns}² from {columns} views, {device.kind.upper()}"
    each = [taken[name] / size.slices for name in ("gridding", "direct")]
    rows = [shorter(case, "s a slice", each[0], "ours, direct", each[1])]
    return rows if device.is_cuda else [*rows, faster("the same", "x", ratio, TARGET, TARGET_FAST)]


# On CUDA


def rate_rows(size: Size, device: Device) -> list[Row]:
    """Updates per second of direct back projection, of slabs of eight slices; ASTRA's beside it, card to card."""
    whole = (size.whole, size.whole)
    shapes = (whole, *(SLABS if size is FULL else ()))
    return [row for columns, views in shapes for row in _rate_rows(columns, views, device)]


def _rate_rows(columns: int, views: int, device: Device, slices: int = 8) -> list[Row]:
    room = primitives(device)
    angles = np.arange(views) * np.pi / views
    sinograms = room.zeros((slices, views, columns), np.float32)
    geometry = ParallelGeometry.shared(angles, (columns - 1) / 2, slices, is_circle=False)

    def run() -> None:
        back_project(sinograms, geometry, device)
        synchronize(device)

    updates, case = slices * views * columns**2, f"direct, {slices} slices of {columns}² from {views} views"
    ours = updates / interleave({"ours": run}, 3)["ours"]
    rows = [faster(case, "updates/s", ours, TARGET, TARGET_UPDATES_CUDA)]
    if updates < LONG_UPDATES:
        try:
            theirs = updates / interleave({"ASTRA": astra_cuda(sinograms, angles)}, 3)["ASTRA"]
            rows.append(faster(case, "updates/s", ours, "ASTRA BP3D_CUDA", theirs))
        except ImportError as error:
            rows.append(unavailable(case, "ASTRA BP3D_CUDA", str(error)))
    return rows


def astra_cuda(sinograms: Array, angles: Any) -> Callable[[], object]:
    """Back projection alone, all slices at once, from memory of the card to memory of the card."""
    astra, cupy = import_module("astra"), import_module("cupy")
    direct_bp = import_module("astra.experimental").direct_BP3D
    slices, _, columns = sinograms.shape
    rays = astra.create_proj_geom("parallel3d", 1.0, 1.0, slices, columns, angles)
    projector = astra.create_projector("cuda3d", rays, astra.create_vol_geom(columns, columns, slices))
    made = cupy.zeros((slices, columns, columns), np.float32)

    def run() -> object:
        direct_bp(projector, made, sinograms)
        cupy.cuda.runtime.deviceSynchronize()
        return made

    return run


def whole_rows(size: Size, device: Device) -> list[Row]:
    """All slices of a cube, host array to host array, with and without ring removal; the fast method."""
    edge = size.whole
    scan, made = _scan(edge, edge, edge), np.ones((edge, edge, edge), np.float32)
    rows = []
    for rings, target in TARGET_WHOLE_S.items():
        recipe = Recipe(method="gridding", center=(edge - 1) / 2, rings=RingSettings(rings))
        seconds: dict[str, float] = {}

        def run(recipe: Recipe = recipe, seconds: dict[str, float] = seconds) -> None:
            account = SlabStatistics()
            reconstruct_array(scan, recipe, device=device.name, out=made, account=account)
            seconds |= account.seconds

        taken = interleave({"ours": run}, size.repeats)["ours"]
        rows.append(shorter(f"{edge} views to {edge}³, rings {rings}", "s", taken, TARGET, target))
        rows += [Row(f"of all threads: {step}", "time", "s", spent, "", None, None) for step, spent in seconds.items()]
    return rows


def slab_rows(columns: int, views: int, device: Device, slices: int = 8) -> list[Row]:
    """A slab as wide as detectors are: all steps, host array to host array, and what it takes of a card."""
    pool = import_module("cupy").get_default_memory_pool()
    scan, made = _scan(views, slices, columns), np.ones((slices, columns, columns), np.float32)
    rows = []
    for method in ("gridding", "direct"):
        pool.free_all_blocks()
        recipe = Recipe(method=method, center=(columns - 1) / 2, rings=RingSettings("vo-all"))
        work = partial(reconstruct_array, scan, recipe, device=device.name, out=made)
        taken = interleave({"ours": work}, 2)["ours"]
        case = f"{slices} slices of {columns}² from {views} views, {method}, rings vo-all"
        rows.append(Row(case, "rate", "slices/s", slices / taken, "", None, None))
        size = pool.total_bytes() / 2**30
        rows.append(shorter("memory of the card", "GiB", size, "the card", device.total_bytes / 2**30, "most"))
    return rows


def _scan(views: int, slices: int, columns: int) -> Scan:
    """Noise, 16 bits."""
    noise = np.random.default_rng(0).integers(18_000, 20_000, (slices, columns), np.uint16)
    raw = np.empty((views, slices, columns), np.uint16)
    for view in range(views):
        raw[view] = np.roll(noise, 7 * view, axis=1)
    flats, darks = (Frames.from_array(np.full((1, slices, columns), counts, np.uint16)) for counts in (30_000, 100))
    return Scan("noise", "array", Frames.from_array(raw), np.arange(views) * np.pi / views, flats, darks)


if __name__ == "__main__":
    main()
