"""From a scan to an array in memory: for scripts and notebooks whose volume fits there.

Here: reconstruct_array.
Not here: volumes in files, resumed and reported (pipeline), the steps (slabs).
"""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from pellucid import progress, settings
from pellucid.device import Array, choose, primitives
from pellucid.engines.stopping import stopping_when
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.tomo.correction.beam import check_light, check_share, saturation_warnings
from pellucid.tomo.correction.frame_check import frame_warnings
from pellucid.tomo.correction.missing_pixels import filled_sentences
from pellucid.tomo.geometry.field_of_view import width_warnings
from pellucid.tomo.geometry.offset_check import offset_warnings
from pellucid.tomo.methods.gridding_cpu import reuse_buffers
from pellucid.tomo.pipeline.memory_model import SLICES_AT_ONCE
from pellucid.tomo.pipeline.planning import plan_scan
from pellucid.tomo.pipeline.slabs import SlabPlan, SlabStatistics, make_slab
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.report import AngleReport
from pellucid.tomo.scan import Scan


def reconstruct_array(
    scan: Scan,
    recipe: Recipe | None = None,
    *,
    device: str | None = None,
    out: Voxels | None = None,
    account: SlabStatistics | None = None,
) -> Voxels:
    """All slices of a scan as (slice, row, column) float32, in attenuation per cm if the pixel size is known.

    out: the array to write to; reused memory is faster than new memory. account: collects statistics and warnings.
    """
    scan = scan.in_angle_order()
    check_light(scan)
    for warning in (*frame_warnings(scan), *saturation_warnings(scan)):
        progress.note(warning)
    whole = plan_scan(scan, recipe or Recipe(), choose(device))
    found = whole.detector
    at_border = offset_warnings(scan, found.recipe, found.axis)
    for warning in (*found.axis_warnings, *at_border, *width_warnings(scan, found.recipe, found.axis, (0, scan.rows))):
        progress.note(warning)
    if whole.preparation is not None:
        remedy = "Use pellucid.tomo.reconstruct()."
        raise InvalidInput("reconstruct_array() does not support phase, binning or roll.", remedy=remedy)
    plan = replace(whole.slabs, scale=whole.scale)
    for warning in AngleReport.of(plan.geometry(scan.angles_rad, (0, 1))).warnings:
        progress.note(warning)
    out = _checked(out, (scan.rows, plan.edge(scan), plan.edge(scan)))
    account = account or SlabStatistics()
    clipped_before, filled_before = account.clipped, account.filled
    slabs = [(first, min(scan.rows, first + SLICES_AT_ONCE)) for first in range(0, scan.rows, SLICES_AT_ONCE)]
    stop = threading.Event()
    with reuse_buffers(), progress.task("Reconstructing", total=out.size, unit="voxels") as bar, _threads(stop) as pool:
        made = {pool.submit(_make, scan, rows, plan, out, stop): rows[1] - rows[0] for rows in slabs}
        for done in as_completed(made):
            account.add(vars(done.result()))
            bar.advance(made[done] * out[0].size)
    check_share(scan, (account.clipped - clipped_before) / scan.pixels)
    for warning in filled_sentences(account.filled - filled_before):
        progress.note(warning)
    return out


def _checked(out: Voxels | None, shape: tuple[int, int, int]) -> Voxels:
    if out is None:
        return np.empty(shape, np.float32)
    if out.shape != shape or out.dtype != np.float32 or not out.flags.writeable:
        what = f"Invalid output array: {out.dtype} of shape {out.shape}."
        raise InvalidInput(what, remedy=f"Pass a writable float32 array of shape {shape} (z, y, x).")
    return out


@contextmanager
def _threads(stop: threading.Event) -> Iterator[ThreadPoolExecutor]:
    """One reads and copies while another computes. When one fails, or is interrupted, the others stop at their next
    step, and what has not begun is left."""
    pool = ThreadPoolExecutor(max(2, settings.current().threads))
    try:
        yield pool
    except BaseException:
        stop.set()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _make(scan: Scan, rows: tuple[int, int], plan: SlabPlan, out: Voxels, stop: threading.Event) -> SlabStatistics:
    account, room = SlabStatistics(), primitives(plan.device)

    def put(start: int, slices: Array) -> None:
        first = rows[0] + start
        room.to_host(slices, out=out[first : first + len(slices)])

    with stopping_when(stop.is_set):
        raw, account.filled = scan.projections.read_filled(rows=rows)
        make_slab(raw, scan, rows, plan, account, put)
    return account
