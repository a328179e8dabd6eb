"""Light from all around a scene.

Here: the three built-in environments and reading one from a file, as a map of all directions.
Not here: how strong it is and where it is turned (options), looking a direction up (kernels.path_tracing.scattering).
"""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np

from pellucid.errors import InvalidInput
from pellucid.formats.flat.radiance_maps import read_radiance_map
from pellucid.formats.protocol import Voxels

ROWS = 64


def environment_map(name: str) -> Voxels:
    """(rows, columns, 3) float32, linear: from straight up (row 0) to straight down; the middle column is ahead (-z),
    and columns go to the right."""
    if name in BUILT_IN_LIGHTS:
        return _built_in(name)
    if Path(name).suffix.lower() not in (".hdr", ".exr"):
        remedy = f"Choose {', '.join(BUILT_IN_LIGHTS)}, or a file that ends in .hdr or .exr."
        raise InvalidInput(f"Unknown environment {name!r}.", remedy=remedy)
    return read_radiance_map(Path(name))


@lru_cache
def _built_in(name: str) -> Voxels:
    down, around = np.meshgrid((np.arange(ROWS) + 0.5) / ROWS, (np.arange(2 * ROWS) + 0.5) / ROWS - 1, indexing="ij")
    polar, azimuth = np.pi * down, np.pi * around
    x, y = np.sin(polar) * np.sin(azimuth), np.cos(polar)
    z = -np.sin(polar) * np.cos(azimuth)
    light: Voxels = BUILT_IN_LIGHTS[name](x, y, z).astype(np.float32)
    return light


def _studio(x: Voxels, y: Voxels, z: Voxels) -> Voxels:
    """A grey room, a large soft light above, a cool one to the right and a warm one behind to the left."""
    room = 0.16 + 0.14 * (0.5 + 0.5 * y)
    above = 1.6 * np.exp(-(((1 - y) / 0.25) ** 2))
    right = 0.8 * np.exp(-(((1 - (0.94 * x + 0.2 * y + 0.28 * z)) / 0.16) ** 2))
    behind = 1.0 * np.exp(-(((1 - (-0.8 * x + 0.25 * y - 0.55 * z)) / 0.12) ** 2))
    return _tinted(room + above, (1.0, 1.0, 1.0)) + _tinted(right, (0.8, 0.9, 1.0)) + _tinted(behind, (1.0, 0.85, 0.7))


def _sky(x: Voxels, y: Voxels, z: Voxels) -> Voxels:
    """Blue above, bright at the horizon, ground below."""
    up = np.clip(y, 0, 1)
    blue = _tinted(1 - np.sqrt(up), (0.75, 0.8, 0.85)) + _tinted(np.sqrt(up), (0.3, 0.5, 0.95))
    ground = _tinted(np.ones_like(y), (0.2, 0.17, 0.14))
    share = np.clip(0.5 + y / 0.1, 0, 1)[..., None]
    mixed: Voxels = share * blue + (1 - share) * ground
    return mixed


def _overcast(x: Voxels, y: Voxels, z: Voxels) -> Voxels:
    """Even and white, three times as bright above as at the horizon; a pale ground."""
    return _tinted(np.where(y > 0, (1 + 2 * y) / 3, 0.25 + 0.08 * (1 + y)), (0.98, 1.0, 1.0))


def _tinted(level: Voxels, color: tuple[float, float, float]) -> Voxels:
    tinted: Voxels = level[..., None] * np.array(color)
    return tinted


BUILT_IN_LIGHTS: dict[str, Callable[[Voxels, Voxels, Voxels], Voxels]] = {
    "studio": _studio,
    "sky": _sky,
    "overcast": _overcast,
}
