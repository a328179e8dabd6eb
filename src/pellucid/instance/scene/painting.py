"""Painting labels: brush and eraser.

Here: paint, a path of the brush that becomes a revision of the scene; save, the labels as a new file.
Not here: which voxels a brush touches (volume.brush), undo of voxels (painting_history), whose turn it is
(painting_turns).

The file that labels were opened from is never changed: the first path makes a copy in memory, which the layer shows
from then on.
"""

import asyncio
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

import numpy as np

from pellucid.box import Box
from pellucid.errors import InvalidInput, OutputExists
from pellucid.formats.protocol import Spacing, Voxels
from pellucid.formats.shared_memory import SharedArray
from pellucid.instance.protocol.measuring import PaintRequest
from pellucid.instance.scene import loading
from pellucid.instance.scene.history import ScenePair
from pellucid.instance.scene.painting_history import PaintedVolume
from pellucid.instance.scene.slice_plans import AXES
from pellucid.instance.session import Session
from pellucid.rendering.scene import VolumeLayer
from pellucid.volume.brush import BrushPath
from pellucid.workers.array_store import OwnedArray
from pellucid.workers.protocol import requests
from pellucid.workers.protocol.replies import VolumeFacts

MAX_BRUSH_VOXELS = 2**24
"""Of the box around a path of the brush."""
MAX_BRUSH_WORK = 2**28
"""Of the boxes around its parts, together: some seconds."""
ENDINGS = (".zarr", ".h5", ".hdf5")


@dataclass(frozen=True)
class Brush:
    """A path, and the volume that it is for."""

    path: BrushPath
    spacing: Spacing
    whole: Box

    @property
    def box(self) -> Box:
        return self.path.box(self.spacing, self.whole)


async def paint(session: Session, request: PaintRequest, by: str) -> int:
    """Give the voxels that a brush touches a label; the revision of the scene. by: who, for steps of undo, and turns.

    May be cancelled until the voxels are being changed.
    """
    async with session.painting_turns.of(by):
        layer, facts = _labels_layer(session, request.layer)
        _check_label(request.label, facts.dtype)
        brush = _brush(request, layer, facts)
        _check_reach(brush)
        mask = await touched(brush)
        return await asyncio.shield(_change_voxels(session, request, by, brush, mask))


async def touched(brush: Brush) -> Voxels:
    """Which voxels of its box it touches; cancelled, it ends soon."""
    cancel = threading.Event()
    try:
        return await asyncio.to_thread(brush.path.mask, brush.spacing, brush.box, cancel)
    finally:
        cancel.set()


async def _change_voxels(session: Session, request: PaintRequest, by: str, brush: Brush, mask: Voxels) -> int:
    async with session.painting_turns.voxels:
        layer, facts = _labels_layer(session, request.layer)
        if _brush(request, layer, facts) != brush:
            raise InvalidInput(f"Layer {request.layer} was replaced while it was painted.", remedy="Paint again.")
        painted = await _painted(session, layer, facts)
        number, box = next(session.painted.numbers), brush.box
        boxes = await asyncio.to_thread(painted.go_to, layer.edit if layer.source == painted.source else 0)
        if await asyncio.to_thread(painted.paint, number, box, mask, request.label, request.only):
            _show(session, request, replace(layer, source=painted.source, edit=number), by)
            boxes = [*boxes, box]
        if boxes:
            session.painted_changed(painted.source, boxes)
        known, source = painted.known, painted.source
        session.history.forget(lambda pair: any(_is_gone(one, source, known) for one in pair.scene.volumes))
        return session.history.revision


def _check_label(label: int, dtype: str) -> None:
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    if not low <= label <= high:
        raise InvalidInput(f"Label {label} does not fit into {dtype}.", remedy=f"Use {low} to {high}.")


def _check_reach(brush: Brush) -> None:
    box = brush.box
    if box.size > MAX_BRUSH_VOXELS:
        what = f"The brush covers {box.size:,} voxels."
        raise InvalidInput(what, remedy="Use a smaller brush, or a shorter path.")
    if (work := brush.path.work(brush.spacing, box)) > MAX_BRUSH_WORK:
        what = f"The path of the brush covers {work:,} voxels."
        raise InvalidInput(what, remedy="Use a smaller brush, or fewer points.")


def _is_gone(layer: VolumeLayer, source: str, known: set[int]) -> bool:
    return layer.source == source and layer.edit not in known


def _show(session: Session, request: PaintRequest, layer: VolumeLayer, by: str) -> None:
    scene = session.history.scene
    volumes = (*scene.volumes[: request.layer], layer, *scene.volumes[request.layer + 1 :])
    pair = ScenePair(replace(scene, volumes=volumes), session.history.other)
    run = f"{by}/paint {request.gesture}" if request.gesture else ""
    session.change(pair, run=run, is_moving=request.is_moving)


def _labels_layer(session: Session, number: int) -> tuple[VolumeLayer, VolumeFacts]:
    volumes = session.history.scene.volumes
    layer = volumes[number] if number < len(volumes) else None
    facts = session.catalogue.facts(layer.source) if layer is not None else None
    if layer is None or facts is None or layer.labels is None:
        raise InvalidInput(f"Layer {number} has no labels.", remedy="Choose a layer that was opened as labels.")
    if facts.times > 1:
        remedy = "Convert one time step to a file of its own, and open that."
        raise InvalidInput("Labels with several time steps cannot be painted.", remedy=remedy)
    return layer, facts


def _spacing(layer: VolumeLayer, facts: VolumeFacts) -> Spacing:
    """As the labels stand in the world: a brush is round there."""
    z, y, x = (abs(a * b) for a, b in zip(facts.spacing, reversed(layer.transform.scale), strict=True))
    return (z, y, x)


def _brush(request: PaintRequest, layer: VolumeLayer, facts: VolumeFacts) -> Brush:
    axis, spacing = None if request.axis is None else AXES.index(request.axis), _spacing(layer, facts)
    return Brush(BrushPath(request.points, request.radius * min(spacing), axis), spacing, Box.whole(facts.shape))


async def _painted(session: Session, layer: VolumeLayer, facts: VolumeFacts) -> PaintedVolume:
    """The copy that a layer's paths go to, made for the first one."""
    session.painted.keep(session.worker.arrays)
    painted = session.painted.find(layer.source)
    if painted is not None:
        return painted
    question = lambda request: requests.Retrieve(request, layer.source, None)  # noqa: E731
    with session.idle.held_off():
        _, shared = await asyncio.wrap_future(session.worker.send_request("copying the labels", question))
        copy: SharedArray = shared
        source = f"memory:{uuid4().hex}"
        handed = OwnedArray(copy, facts.spacing, facts.unit)
        await asyncio.wrap_future(session.worker.use_array(source, handed))
    session.catalogue.add_copy(source, layer.source)
    painted = PaintedVolume(layer.source, source, copy)
    session.painted.add(painted)
    return painted


async def save(session: Session, number: int, path: str) -> str:
    """Write the labels of a layer to a new Zarr or HDF5 file, whole or not at all; its path."""
    layer, _ = _labels_layer(session, number)
    target = session.roots.require_allowed(path)
    if not target.lower().endswith(ENDINGS):
        raise InvalidInput(f"{path} is not the name of a Zarr or HDF5 file.", remedy="Use a name such as labels.zarr.")
    if Path(target).exists():
        raise OutputExists(path)
    question = lambda request: requests.Export(  # noqa: E731
        request, layer.source, None, target, session.history.scene.time, is_replaced=False
    )
    with session.idle.held_off(), session.worker_events.busy("loading"):
        await asyncio.wrap_future(session.worker.send_request("saving the labels", question))
    loading.tell_layers(session)
    return target
