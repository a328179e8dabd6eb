"""Labels that a network gives to a volume of the scene, drawn while they are computed.

Here: start: the layer of labels, the task that fills it, and what the user looks at meanwhile.
Not here: the network (infer, workers.compute), painting labels (painting).
"""

import asyncio
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from pellucid.errors import Cancelled, InvalidInput, NotEnoughMemory, NotFound, PellucidError, WorkerLost
from pellucid.formats.shared_memory import SharedArray
from pellucid.infer.network_files.package import is_package, unpack
from pellucid.instance.protocol.network_bodies import NetworkRequest, NetworkStarted
from pellucid.instance.scene import loading
from pellucid.instance.session import Session
from pellucid.rendering.scene import VolumeLayer
from pellucid.settings import available_memory_bytes
from pellucid.workers.array_store import OwnedArray
from pellucid.workers.protocol import requests
from pellucid.workers.protocol.replies import VolumeFacts

ENDINGS = (".onnx", ".yaml", ".yml")
FOCUS_S = 0.2
"""Between two looks at what the user looks at."""


async def start(session: Session, request: NetworkRequest) -> NetworkStarted:
    """Add a layer of labels over a volume, and begin to fill it."""
    network = await asyncio.to_thread(_network_path, session, request.path)
    layer, facts = _volume_layer(session, request.layer)
    if session.tasks.applying is not None:
        raise InvalidInput("Another network is being applied.", remedy="Wait until it is finished, or stop it.")
    if (needs := prod(facts.shape)) > (has := available_memory_bytes()):
        raise NotEnoughMemory(needs=needs, has=has, remedy="Open a coarser level, or apply it with `pellucid segment`.")
    target = await _add_labels(session, facts, f"{_shown_name(network)} of {session.catalogue.name(layer.source)}")
    time = session.history.scene.time
    waiting: list[Future[Any]] = []
    is_stopped: list[bool] = []
    worker = session.pool.get("compute")

    async def work(id: str) -> None:
        session.tasks.applying = id
        question = lambda number: requests.ApplyNetwork(  # noqa: E731
            number, layer.source, target, network, request.axes, request.halo, request.preprocess, request.postprocess,
            request.threshold, time,
        )  # fmt: skip
        follower = asyncio.get_running_loop().create_task(_follow(session, layer.source, target, cancel))
        try:
            waiting.append(worker.send_request("applying a network", question))
            await asyncio.wrap_future(waiting[0])
        except WorkerLost as error:
            if is_stopped:  # It did not return, and its process was ended.
                raise Cancelled(f"Applying {_shown_name(network)}") from error
            raise
        except Cancelled:
            raise
        except PellucidError:
            if session.tasks.status(id).done == 0:
                _remove(session, target)
            raise
        finally:
            follower.cancel()
            session.tasks.applying = None

    def cancel() -> None:
        is_stopped.append(True)
        for future in waiting:
            worker.stop(future)

    task = session.tasks.start(f"Applying {_shown_name(network)}", work, cancel)
    return NetworkStarted(task, _index_of(session, target) or 0, session.history.revision)


def _network_path(session: Session, path: str) -> str:
    network = Path(session.roots.require_allowed(path))
    if not network.is_file():
        raise NotFound(path)
    if is_package(network):
        folder = session.tasks.folder / "networks" / uuid4().hex / network.stem
        folder.mkdir(parents=True)
        return str(unpack(network, folder))
    if network.suffix.lower() not in ENDINGS:
        remedy = "Choose an ONNX file, a bioimageio.yaml, or a package of bioimage.io (.zip)."
        raise InvalidInput(f"{path} is not a network.", remedy=remedy)
    return str(network)


def _shown_name(network: str) -> str:
    """Of its file; of a manifest, which all have the same name, that of its folder."""
    path = Path(network)
    return path.name if path.suffix.lower() == ".onnx" else path.parent.name


def _volume_layer(session: Session, number: int) -> tuple[VolumeLayer, VolumeFacts]:
    volumes = session.history.scene.volumes
    layer = volumes[number] if number < len(volumes) else None
    facts = session.catalogue.facts(layer.source) if layer is not None else None
    if layer is None or facts is None or layer.labels is not None:
        raise InvalidInput(
            f"Layer {number} does not contain a volume of values.",
            remedy="Choose a volume that was not opened as labels.",
        )
    return layer, facts


async def _add_labels(session: Session, facts: VolumeFacts, name: str) -> str:
    """A layer of labels, all 0 so far; its source."""
    shared = SharedArray.create(facts.shape, np.dtype(np.uint8))
    id = uuid4().hex
    await loading.show_array(session, id, OwnedArray(shared, facts.spacing, facts.unit), "labels", name)
    return f"memory:{id}"


def _remove(session: Session, target: str) -> None:
    """Labels that nothing was written to."""
    pair = session.history.pair
    volumes = tuple(layer for layer in pair.scene.volumes if layer.source != target)
    session.change(replace(pair, scene=replace(pair.scene, volumes=volumes)))
    loading.release_unused_arrays(session)


def _index_of(session: Session, source: str) -> int | None:
    volumes = session.history.scene.volumes
    return next((number for number, layer in enumerate(volumes) if layer.source == source), None)


async def _follow(session: Session, source: str, target: str, cancel: Any) -> None:
    """Report to the Worker what the user looks at; stop it when the labels are closed."""
    last = None
    with suppress(asyncio.CancelledError):
        while target in session.worker.arrays:
            focus = focus_of(session, source, target)
            if focus != last:
                session.pool.get("compute").send(focus)
                last = focus
            await asyncio.sleep(FOCUS_S)
        cancel()


def focus_of(session: Session, source: str, target: str) -> requests.SetFocus:
    """What the user looks at, in voxels of a volume."""
    number = _index_of(session, source)
    if number is None:
        return requests.SetFocus(target)
    layer, facts = session.history.scene.volumes[number], session.catalogue.facts(source)
    if facts is None:
        return requests.SetFocus(target)
    matrix, shift = layer.transform.world_to_voxel(facts.spacing)
    x, y, z = (float(n) for n in matrix @ np.asarray(session.history.scene.camera.position) + shift)
    cross_hair = session.slicing.voxel if session.slicing.layer == number else None
    return requests.SetFocus(target, cross_hair, (z, y, x), layer.clip)
