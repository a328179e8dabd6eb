"""The same medium in Mitsuba 3: a cloud whose extinction goes with its values, in even light and under a far lamp.

Here: the scene for both programs, and the light that each finds.
Not here: the table (mitsuba).
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.device import Device, LaunchRange
from pellucid.formats.protocol import Voxels
from pellucid.rendering.camera import Camera, framing
from pellucid.rendering.cinematic.options import Cinematic
from pellucid.rendering.drawing.device_renderer import DeviceRenderer
from pellucid.rendering.drawing.draw_pass import DrawRegion
from pellucid.rendering.light import Light
from pellucid.rendering.scene import Scene, VolumeLayer
from pellucid.rendering.transfer import TransferFunction
from pellucid.volume.volume import Volume

GREY = 0.906332
"""As a colour of a screen; as an albedo it is 0.8."""
ALBEDO, ANISOTROPY = 0.8, 0.4
POINTS = 256
"""Of the curve of opacity, which is to be an exponential one: linear in between."""


@dataclass(frozen=True)
class Cloud:
    """voxels: uint8, 0 at the border. densest: extinction of 255, per voxel."""

    voxels: Voxels
    densest: float
    camera: Camera
    towards: tuple[float, float, float]


def cloud_of(voxels: Voxels, densest: float) -> Cloud:
    """A cloud seen from a corner, with the lamp above it."""
    inner = np.zeros_like(voxels)
    inner[1:-1, 1:-1, 1:-1] = voxels[1:-1, 1:-1, 1:-1]
    z, y, x = (float(n) for n in voxels.shape)
    camera = framing((0.0, 0.0, 0.0), (x, y, z), direction=(1.0, 0.8, 0.3), up=(0.0, 0.0, 1.0))
    return Cloud(inner, densest, camera, (0.0, 0.0, 1.0))


# Ours


def our_light(cloud: Cloud, device: Device, size: int, even_light: Path, *, seed: int = 0) -> Callable[[int], Voxels]:
    """A function from paths of each pixel to the light (size, size, 3) that they find, with what is behind the cloud.

    even_light: an environment of 1 from everywhere.
    """
    at = np.linspace(0, 1, POINTS)
    opacities = tuple(zip(at.tolist(), (1 - np.exp(-cloud.densest * at)).tolist(), strict=True))
    transfer = TransferFunction(((0.0, (GREY,) * 3),), opacities, (0.0, 255.0))
    volume = Volume.from_array(cloud.voxels)
    layer = VolumeLayer(str(volume.location), transfer, shading="cinematic")
    cinematic = Cinematic(
        environment=str(even_light), surface=0.0, anisotropy=ANISOTROPY, lamp_deg=0.0, scatterings=4096,
        is_denoised=False, seed=seed,
    )  # fmt: skip
    x, y, z = cloud.towards
    scene = Scene((layer,), cloud.camera, light=Light(direction=(-x, -y, -z)), cinematic=cinematic)
    painter = DeviceRenderer(device)
    fields = painter.load(scene)

    def light(paths: int) -> Voxels:
        tracing = painter.start_paths(scene, fields, DrawRegion((size, size), samples=paths))
        tracing.draw(LaunchRange((size, size)))
        sums = tracing.total.sums.light.numpy() / paths
        found: Voxels = sums[..., :3] + (1 - sums[..., 3:])
        return found

    return light


# Theirs


def their_light(cloud: Cloud, size: int, variant: str) -> Callable[[int], Voxels]:
    """The same by Mitsuba's volpath."""
    mitsuba = import_module("mitsuba")
    mitsuba.set_variant(variant)
    scene = mitsuba.load_dict(_description(mitsuba, cloud, size))

    def light(paths: int) -> Voxels:
        found: Voxels = np.array(mitsuba.render(scene, spp=paths))[..., :3]
        return found

    return light


def _description(mitsuba: Any, cloud: Cloud, size: int) -> dict[str, Any]:
    place = mitsuba.ScalarTransform4f
    z, y, x = cloud.voxels.shape
    # A voxel's middle lies at whole numbers of the world.
    in_world = place().translate([-0.5, -0.5, -0.5]).scale([x, y, z])
    grid = mitsuba.VolumeGrid(np.ascontiguousarray(cloud.voxels[..., None], np.float32) / 255)
    medium = {
        "type": "heterogeneous",
        "albedo": ALBEDO,
        "sigma_t": {"type": "gridvolume", "grid": grid, "to_world": in_world},
        "scale": cloud.densest,
        "phase": {"type": "hg", "g": ANISOTROPY},
    }
    camera = cloud.camera
    film = {"type": "hdrfilm", "width": size, "height": size, "rfilter": {"type": "box"}, "pixel_format": "rgb"}
    look = place().look_at(origin=list(camera.position), target=list(camera.target), up=list(camera.up))
    return {
        "type": "scene",
        "integrator": {"type": "volpath", "max_depth": -1},
        "sensor": {
            "type": "perspective", "fov": camera.field_of_view_deg, "fov_axis": "y", "to_world": look,
            "near_clip": 0.1, "far_clip": 1e5, "film": film, "sampler": {"type": "independent"},
        },
        "around": {"type": "constant", "radiance": 1.0},
        "lamp": {"type": "directional", "direction": [-n for n in cloud.towards], "irradiance": float(np.pi)},
        "cloud": {
            "type": "cube", "to_world": in_world.translate([0.5, 0.5, 0.5]).scale([0.5, 0.5, 0.5]),
            "bsdf": {"type": "null"}, "interior": medium,
        },
    }  # fmt: skip
