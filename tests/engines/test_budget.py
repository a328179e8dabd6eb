"""Block sizes that fit, and how many at once."""

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.box import Shape
from pellucid.engines.budget import check_chunk_alignment, choose_block, max_workers
from pellucid.engines.engine import EngineOptions
from pellucid.errors import ChunkConflict, NotEnoughMemory
from pellucid.volume.blocks import split
from tests.contracts.engine_tasks import Invert

edges = st.integers(1, 40)
shapes = st.tuples(edges, edges, edges)


@given(shapes, shapes, shapes, st.integers(1, 30_000))
def test_a_block_is_whole_grains_within_the_budget(
    shape: Shape, output_chunk: Shape, requested: Shape, budget: int
) -> None:
    try:
        block = choose_block(shape, output_chunk, requested, prod, budget)
    except NotEnoughMemory:
        assert prod(min(g, n) for g, n in zip(output_chunk, shape, strict=True)) > budget
        return
    assert prod(block) <= budget
    check_chunk_alignment(split(shape, block), output_chunk)


def test_with_room_the_block_covers_the_input_chunks() -> None:
    assert choose_block((100, 512, 512), (32, 64, 64), (1, 512, 512), prod, 10**9) == (32, 512, 512)


def test_with_little_room_it_grows_where_it_lacks_most() -> None:
    assert choose_block((100, 512, 512), (32, 64, 64), (1, 512, 256), prod, 32 * 128 * 64) == (32, 128, 64)


def test_a_block_at_an_odd_place_is_refused() -> None:
    check_chunk_alignment(split((10, 4, 4), (4, 4, 4)), (2, 4, 4))
    with pytest.raises(ChunkConflict):
        check_chunk_alignment(split((10, 4, 4), (3, 4, 4)), (2, 4, 4))


@pytest.mark.parametrize(("memory", "workers"), [(10_000, 4), (3_000, 3), (1_500, 1)])
def test_memory_limits_the_workers(memory: int, workers: int, task: Invert) -> None:
    assert max_workers(task, split((8, 3, 4), (2, 3, 4)), EngineOptions(4, memory)) == workers


@pytest.fixture
def task() -> Invert:
    return Invert("in", "out", None, "log")  # type: ignore[arg-type]
