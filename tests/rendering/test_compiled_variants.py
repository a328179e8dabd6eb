"""How much is compiled: parameters are arguments, so that few kernels serve every picture."""

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
import warp as wp

from pellucid.rendering import kernels
from pellucid.rendering.kernels import path_tracing, rays
from pellucid.rendering.kernels.path_tracing import texture_walk, textured_paths
from pellucid.rendering.kernels.textured import composite as textured_composite
from pellucid.rendering.kernels.textured import light_rays as textured_light

MAX_CASTERS = 14
"""With the kernel that follows paths of light."""
MAX_UNITS = 19
"""What one machine may compile in all: ray casters, points, meshes, slices, light, paths, and what finishes a
picture."""


def all_kernels() -> Iterator[tuple[str, Any]]:
    """Every kernel of the default product's pictures, and the module that has it."""
    for module in pkgutil.iter_modules(kernels.__path__, kernels.__name__ + "."):
        found = vars(import_module(module.name)).values()
        yield from ((module.name, value) for value in found if isinstance(value, wp.Kernel))


def test_few_ray_casters_draw_everything() -> None:
    casters = {kernel: name for name, kernel in all_kernels() if any(_is_layer(one.type) for one in kernel.adj.args)}
    assert len(casters) <= MAX_CASTERS, f"{len(casters)}: {', '.join(sorted(casters.values()))}"


def test_few_more_are_for_one_texture_alone() -> None:
    """On CUDA, where they take the place of one of those above."""
    apart = [textured_paths.trace_textured, textured_composite.composite_lit_through_whole]
    modules = [textured_paths, textured_composite, texture_walk, textured_light]
    found = {one for module in modules for one in vars(module).values() if isinstance(one, wp.Kernel)}
    assert found == set(apart)
    assert not any(one.options["enable_backward"] for one in apart)
    assert not {one.module for one in apart} & {kernel.module for _, kernel in all_kernels()}


def _is_layer(kind: Any) -> bool:
    return kind is path_tracing.TracedScene or rays.LayerStruct in (kind, getattr(kind, "dtype", None))


@pytest.mark.parametrize("others", ["packets", "composite_texture"])
def test_little_is_compiled_on_any_machine(others: str) -> None:
    """Without what is only for the other kind of device; kernels of one Warp module are compiled together."""
    units = {kernel.module: name for name, kernel in all_kernels() if not name.endswith(others)}
    assert len(units) <= MAX_UNITS, f"{len(units)} would be compiled: {', '.join(sorted(units.values()))}"


def test_none_of_them_carries_code_for_gradients_of_itself() -> None:
    """Backward code doubles the time that a kernel takes to compile."""
    assert [name for name, kernel in all_kernels() if kernel.options["enable_backward"]] == []
