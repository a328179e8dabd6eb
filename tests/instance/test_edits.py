"""Patches: what they change, and what they leave."""

from dataclasses import replace

import pytest

from pellucid.errors import InvalidInput
from pellucid.instance.edits import patched, settings_of
from pellucid.instance.protocol import Patch, Settings
from pellucid.rendering.colors import color_points
from pellucid.rendering.scene import Isosurface, Scene, VolumeLayer
from pellucid.rendering.transfer import TransferFunction

TRANSFER = TransferFunction(color_points("bone", 0.5), ((0.0, 0.0), (1.0, 1.0)), (10.0, 20.0))
SCENE = Scene((VolumeLayer("ball.npy", TRANSFER),))


def test_settings_are_read_from_the_scene() -> None:
    assert settings_of(SCENE) == Settings((10.0, 20.0), "bone", "composite", "gradient", 17.5)


def test_only_what_is_named_changes() -> None:
    changed = patched(SCENE, Patch(0, value_range=(12.0, 14.0), color_map="viridis"))
    transfer = replace(TRANSFER, value_range=(12.0, 14.0), colors=color_points("viridis", 0.5))
    assert changed == Scene((VolumeLayer("ball.npy", transfer),))


def test_a_surface_is_chosen_where_none_was_named() -> None:
    (layer,) = patched(SCENE, Patch(0, mode="isosurface")).volumes
    assert (layer.mode, layer.isosurfaces) == ("isosurface", (Isosurface(17.5),))
    (layer,) = patched(SCENE, Patch(0, mode="isosurface", isovalue=11.0)).volumes
    assert layer.isosurfaces == (Isosurface(11.0),)


@pytest.mark.parametrize("patch", [Patch(0, value_range=(3.0, 3.0)), Patch(0, color_map="mud")])
def test_what_cannot_be_is_refused(patch: Patch) -> None:
    with pytest.raises(InvalidInput):
        patched(SCENE, patch)
