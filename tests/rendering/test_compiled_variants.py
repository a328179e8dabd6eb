"""How much is compiled: parameters are arguments, so that few kernels serve every picture."""

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
import warp as wp

from pellucid.rendering import kernels

A_DOZEN = 12
ONLY_ON_CUDA = "pellucid.rendering.kernels.textured"
ONLY_WITHOUT_TEXTURES = "pellucid.rendering.kernels.composite"


def all_kernels() -> Iterator[tuple[str, Any]]:
    """Every kernel of the default product's pictures, and the module that has it."""
    for module in pkgutil.iter_modules(kernels.__path__, kernels.__name__ + "."):
        found = vars(import_module(module.name)).values()
        yield from ((module.name, value) for value in found if isinstance(value, wp.Kernel))


@pytest.mark.parametrize("others", [ONLY_ON_CUDA, ONLY_WITHOUT_TEXTURES])
def test_a_dozen_kernels_draw_everything(others: str) -> None:
    # Kernels of one Warp module are compiled together.
    units = {kernel.module: name for name, kernel in all_kernels() if name != others}
    assert len(units) <= A_DOZEN, f"{len(units)} would be compiled: {', '.join(sorted(units.values()))}"


def test_none_of_them_carries_code_for_gradients_of_itself() -> None:
    """Backward code doubles the time that a kernel takes to compile."""
    assert [name for name, kernel in all_kernels() if kernel.options["enable_backward"]] == []
