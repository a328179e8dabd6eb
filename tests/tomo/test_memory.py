"""Slabs are planned within the memory of a card, whatever their width. Use on the CPU is measured in test_pipeline."""

import pytest

from pellucid.errors import NotEnoughMemory
from pellucid.tomo.correction.rings import RingSettings
from pellucid.tomo.pipeline.memory_model import CUDA_SHARE, SlabSize, card_bytes, device_budget, slices_at_once
from pellucid.tomo.recipe import Recipe

H200 = 139 * 2**30
RECIPES = [
    Recipe(rings=RingSettings("vo-all")),
    Recipe(method="gridding", rings=RingSettings("vo-all"), zingers=0.2),
    Recipe(method="sirt"),
]


@pytest.mark.parametrize("recipe", RECIPES, ids=["direct", "gridding", "sirt"])
@pytest.mark.parametrize(("columns", "views"), [(4432, 3600), (13000, 6000)])
def test_slabs_of_eight_at_the_widest_detectors_fit(columns: int, views: int, recipe: Recipe) -> None:
    size = SlabSize(8, views, columns, columns, 2, 4)
    assert slices_at_once(size, recipe, H200) == 8
    assert 4 * 8 * views * columns < card_bytes(size, recipe, 8) <= CUDA_SHARE * H200


def test_a_smaller_card_takes_fewer_slices_and_the_least_is_refused() -> None:
    size = SlabSize(64, 6000, 13000, 13000, 2, 4)
    recipe = Recipe(method="gridding", rings=RingSettings("vo-all"))
    counts = [slices_at_once(size, recipe, gib * 2**30) for gib in (139, 80, 40, 24)]
    assert counts == sorted(counts, reverse=True) and counts[0] == 16 and counts[-1] < 8
    with pytest.raises(NotEnoughMemory, match="--bin 2"):
        slices_at_once(size, recipe, 4 * 2**30)


def test_joined_views_are_counted() -> None:
    narrow, joined = SlabSize(8, 2000, 1000, 1000, 2, 4), SlabSize(8, 2000, 1000, 1900, 2, 4)
    assert card_bytes(joined, Recipe(), 8) > card_bytes(narrow, Recipe(), 8)


@pytest.mark.parametrize(("gib", "turns"), [(139, 2), (5, 1)])
def test_two_threads_compute_on_a_card_only_where_both_fit(gib: int, turns: int) -> None:
    class Card:
        def free_bytes(self) -> int:
            return gib * 2**30

    recipe, size = Recipe(method="gridding", rings=RingSettings("vo-all")), SlabSize(16, 2048, 2048, 2048, 2, 4)
    budget = device_budget(size, recipe, Card())  # type: ignore[arg-type]
    assert budget.turns == turns and budget.at_once == 16
    assert turns * card_bytes(size, recipe, 16) <= CUDA_SHARE * gib * 2**30
