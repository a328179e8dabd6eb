"""Which bricks are loaded, kept and let go."""

import numpy as np
import pytest

from pellucid.device import choose
from pellucid.fields.bricks.brick_field import BrickField
from pellucid.fields.bricks.pool import BRICK_VOXELS, BrickPool
from pellucid.formats.protocol import Voxels
from pellucid.volume.volume import Volume

BRICK_BYTES = BRICK_VOXELS


def brick(value: int) -> list[Voxels]:
    return [np.full((1, BRICK_VOXELS), value, np.uint8)]


def test_the_least_recently_used_goes_first() -> None:
    pool = BrickPool(choose("cpu"), np.dtype("uint8"), slots=3, page_count=10)
    nothing = np.empty(0, np.int64)
    for page in (4, 5, 6):
        pool.place(np.array([page]), brick(page), nothing)
    pool.use(np.array([4]))
    pool.place(np.array([7]), brick(7), kept=np.array([5]))
    assert pool.holds(np.array([4, 5, 6, 7])).tolist() == [True, True, False, True]
    table = pool.table.numpy()
    assert sorted(table[[4, 5, 7]]) == [0, 1, 2]
    assert table[6] == -1
    assert (pool._host.view(np.uint8)[table[7]] == 7).all()


def test_a_brick_that_is_there_is_replaced_where_it_is() -> None:
    pool = BrickPool(choose("cpu"), np.dtype("uint8"), slots=2, page_count=4)
    nothing = np.empty(0, np.int64)
    pool.place(np.array([1]), brick(1), nothing)
    before = pool.table.numpy().copy()
    pool.place(np.array([1]), brick(9), nothing)
    assert np.array_equal(pool.table.numpy(), before)
    assert (pool._host.view(np.uint8)[before[1]] == 9).all()


@pytest.fixture
def volume() -> Volume:
    return Volume.from_array(np.random.default_rng(0).integers(0, 255, (128, 128, 128), dtype=np.uint8))


def see(field: BrickField, weights: dict[int, float]) -> None:
    """As if rays had seen these bricks of level 0."""
    field.prepare_frame()
    wanted = np.zeros(64, np.float32)
    wanted[list(weights)] = list(weights.values())
    field._wanted.assign(wanted)


def test_the_most_visible_bricks_come_first(volume: Volume) -> None:
    field = BrickField(volume, choose("cpu"), 6 * BRICK_BYTES + 40_000)
    assert field.slots == 6
    see(field, {0: 1.0, 21: 5.0, 42: 3.0})
    assert field.load_missing()
    assert field.bricks_read == 4
    assert field.visible().is_full.all()
    assert field.visible().weights.tolist() == [5, 3, 1]
    assert not field.load_missing()


def test_where_there_is_no_room_coarser_bricks_cover_all(volume: Volume) -> None:
    field = BrickField(volume, choose("cpu"), 12 * BRICK_BYTES + 40_000)
    see(field, {number: 1.0 + (number in (5, 6)) for number in range(64)})
    assert field.load_missing()
    seen = field.visible()
    # One of the coarsest level, eight of level 1, and three of level 0: the two that are seen most and one more.
    assert field.bricks_read == 12
    assert seen.is_full.sum() == 3
    assert seen.is_full[:2].all()
    assert not field.has_room


def test_bricks_come_in_the_background(volume: Volume) -> None:
    field = BrickField(volume, choose("cpu"), 80 * BRICK_BYTES + 40_000)
    see(field, dict.fromkeys(range(64), 1.0))
    rounds = 0
    while field.load_missing(wait=False):
        rounds += 1
    assert rounds > 1
    assert field.visible().is_full.all()
    field.close()
    assert len(field.visible().boxes()) == 64
