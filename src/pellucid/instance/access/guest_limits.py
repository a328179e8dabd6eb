"""Limits for the requests of guests.

Here: the limits of sizes, for everyone and for guests (``view`` and ``control``), and the checks against them.
Not here: how often (message_rates), how many at once (tasks, route_rules), connections (transport.connections).
"""

import json
from dataclasses import asdict
from math import sqrt
from typing import Any

from pellucid.errors import InvalidInput, NotAllowed
from pellucid.instance.access.capabilities import allows
from pellucid.instance.protocol.movie_bodies import MovieRequest
from pellucid.instance.protocol.shared_types import Capability
from pellucid.rendering.scene import Scene

LAYER_LISTS = ("volumes", "points", "meshes", "slices")
MAX_LAYERS = 64
"""Of each kind, hidden ones among them."""
MAX_SCENE_BYTES = 2**20
MAX_GUEST_SCENE_BYTES = 2**17
"""Of the scene as JSON: it goes to every client whenever it changes."""
MAX_TEXT = 200
MAX_SOURCE_TEXT = 4096
"""Characters of a text in a scene, and of the source of a layer."""
MIN_GUEST_STEP = 0.1
"""Voxels between the samples of a ray: at the smallest step that a scene may have, an image takes minutes."""
MAX_GUEST_STRETCH = 100.0
"""The largest scale of a volume over the smallest one: the step follows the thinnest voxel of the scene."""
MAX_GUEST_PATHS, MAX_GUEST_SCATTERINGS = 1024, 64
"""Of light, in a cinematic image: for every pixel, and collisions of each."""
MAX_GUEST_REGION_VOXELS = 2**27
"""Of a region whose values are measured."""
MAX_GUEST_PIXELS = 3840 * 2160
MAX_GUEST_SLICE_PIXELS = 1920 * 1080
"""An image of a slice is not interrupted, and the owner waits while it is drawn."""
MAX_GUEST_MOVIE_PIXELS = 1920 * 1080
MAX_GUEST_MOVIE_FRAMES = 600


def check_layer_counts(document: dict[str, Any]) -> None:
    """Refuse a scene, as JSON, with too many layers; before they are built."""
    for kind in LAYER_LISTS:
        layers = document.get(kind)
        if isinstance(layers, list) and len(layers) > MAX_LAYERS:
            remedy = f"Use at most {MAX_LAYERS}; hidden ones count too."
            raise InvalidInput(f"The scene would have {len(layers):,} {kind}.", remedy=remedy)


def check_texts(value: Any, name: str = "") -> None:
    """Refuse a part of a scene, as JSON, with a text that is too long. name: of that part."""
    if isinstance(value, str):
        max_length = MAX_SOURCE_TEXT if name == "source" else MAX_TEXT
        if len(value) > max_length:
            what = f"{name or 'A text'} of the scene has {len(value):,} characters."
            raise InvalidInput(what, remedy=f"Use at most {max_length:,}.")
    elif isinstance(value, dict):
        for key, inner in value.items():
            check_texts(inner, str(key)[:MAX_TEXT])
    elif isinstance(value, list | tuple):
        for inner in value:
            check_texts(inner, name)


def check_scene_size(scene: Scene, before: Scene, capability: Capability) -> None:
    """Refuse a scene that is too long to be sent around; guests may not make a long one longer."""
    max_bytes = MAX_SCENE_BYTES
    size = scene_bytes(scene)
    if not allows(capability, "own"):
        max_bytes = max(MAX_GUEST_SCENE_BYTES, scene_bytes(before)) if size > MAX_GUEST_SCENE_BYTES else max_bytes
    if size > max_bytes:
        remedy = "Use fewer layers, points of transfer functions or colours of labels."
        raise InvalidInput(f"The scene would have {size:,} bytes; the maximum is {max_bytes:,}.", remedy=remedy)


def check_step(scene: Scene, before: Scene, capability: Capability) -> None:
    """Refuse a step that makes images slow for all clients; guests may not make a small one smaller."""
    if not allows(capability, "own") and scene.step < min(MIN_GUEST_STEP, before.step):
        remedy = f"Use {MIN_GUEST_STEP} or more, or ask the owner of the viewer."
        raise NotAllowed(f"A step of {scene.step:g} voxels is smaller than this link allows.", remedy=remedy)


def check_stretch(scene: Scene, before: Scene, capability: Capability) -> None:
    """Refuse scales that need as many steps as a small step does; guests may not make a stretched scene worse."""
    stretch = _stretch(scene)
    if not allows(capability, "own") and stretch > max(MAX_GUEST_STRETCH, _stretch(before)):
        remedy = f"Let them differ by a factor of at most {MAX_GUEST_STRETCH:g}, or ask the owner of the viewer."
        raise NotAllowed(
            f"Scales that differ by a factor of {stretch:.3g} are slower than this link allows.", remedy=remedy
        )


def _stretch(scene: Scene) -> float:
    """1 without volumes. A scale of 1 counts too: it is that of layers which come later."""
    scales = [1.0, *(abs(scale) for layer in scene.volumes for scale in layer.transform.scale)]
    return max(scales) / min(scales)


def check_paths(scene: Scene, before: Scene, capability: Capability) -> None:
    """Refuse cinematic images for which all clients would wait; guests may not make a slow one slower."""
    limits = (("samples", MAX_GUEST_PATHS), ("scatterings", MAX_GUEST_SCATTERINGS))
    for name, most in limits:
        value = getattr(scene.cinematic, name)
        if not allows(capability, "own") and value > max(most, getattr(before.cinematic, name)):
            remedy = f"Use {most} or fewer, or ask the owner of the viewer."
            raise NotAllowed(f"A cinematic image with {value:,} {name} is slower than this link allows.", remedy=remedy)


def scene_bytes(scene: Scene) -> int:
    """How long it is as JSON."""
    return len(json.dumps(asdict(scene)))


def limited_size(size: tuple[int, int], capability: Capability, max_pixels: int = MAX_GUEST_PIXELS) -> tuple[int, int]:
    """The size at which images are drawn for a client: the page enlarges them where its own is larger.

    >>> limited_size((8192, 8192), "control")
    (2880, 2880)
    """
    width, height = size
    if allows(capability, "own") or width * height <= max_pixels:
        return size
    scale = sqrt(max_pixels / (width * height))
    return max(1, int(width * scale)), max(1, int(height * scale))


def check_screenshot(width: int, height: int, capability: Capability) -> None:
    _check_pixels(width, height, MAX_GUEST_PIXELS, capability)


def check_movie(request: MovieRequest, capability: Capability) -> None:
    _check_pixels(request.width, request.height, MAX_GUEST_MOVIE_PIXELS, capability)
    seconds = request.seconds if request.path is None else request.path.duration_s
    frames = seconds * request.frames_per_second
    if not allows(capability, "own") and frames > MAX_GUEST_MOVIE_FRAMES:
        remedy = f"Choose at most {MAX_GUEST_MOVIE_FRAMES} frames: fewer seconds, or fewer frames per second."
        raise NotAllowed(f"A movie of {frames:,.0f} frames is longer than this link allows.", remedy=remedy)


def _check_pixels(width: int, height: int, max_pixels: int, capability: Capability) -> None:
    if not allows(capability, "own") and width * height > max_pixels:
        remedy = f"Choose at most {max_pixels:,} pixels, or ask the owner of the viewer."
        raise NotAllowed(f"An image of {width} x {height} pixels is larger than this link allows.", remedy=remedy)
