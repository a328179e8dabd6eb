"""A look before the long run: single slices, and one slice with several centers.

Here: preview_rows and try_centers.
Not here: pictures of them (cli), whole volumes (pipeline).
"""

from collections.abc import Sequence
from dataclasses import replace

from pellucid.device import Device, primitives
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels
from pellucid.tomo.planning import plan_slabs
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan import Scan
from pellucid.tomo.slabs import Account, SlabPlan, make_slab


def preview_rows(scan: Scan, rows: Sequence[int], plan: SlabPlan) -> list[Voxels]:
    """The slices of some rows of a scan, exactly as the whole volume would have them, in attenuation per pixel."""
    return [_slice(scan, _read(scan, row), row, plan) for row in rows]


def try_centers(scan: Scan, row: int, centers: Sequence[float], recipe: Recipe, device: Device) -> list[Voxels]:
    """One slice of a scan with the axis at each of some columns of that row."""
    raw = _read(scan, row)
    recipes = [replace(recipe, center=center, tilt=0.0) for center in centers]
    return [_slice(scan, raw, row, plan_slabs(scan, one, device)) for one in recipes]


def _read(scan: Scan, row: int) -> Voxels:
    if not 0 <= row < scan.rows:
        raise InvalidInput(f"There is no row {row} in {scan.name}.", do=f"Give one from 0 to {scan.rows - 1}.")
    return scan.projections.read(rows=(row, row + 1))


def _slice(scan: Scan, raw: Voxels, row: int, plan: SlabPlan) -> Voxels:
    made: list[Voxels] = []
    room = primitives(plan.device)
    make_slab(raw, scan, (row, row + 1), plan, Account(), lambda _, images: made.append(room.to_host(images)[0]))
    return made[0]
