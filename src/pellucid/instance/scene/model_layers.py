"""A user's PyTorch model as a volume of the scene, drawn while it is evaluated.

Here: start: the volume, the task that fills it; start_first, before there is an event loop.
Not here: the model itself (neural.modules, workers.user_code), which models there are (running_models).
"""

import asyncio
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from pellucid.box import Shape
from pellucid.errors import Cancelled, InvalidInput, NotEnoughMemory, PellucidError, WorkerLost
from pellucid.formats.shared_memory import SharedArray
from pellucid.instance.protocol.model_bodies import ModelRequest, ModelStarted
from pellucid.instance.protocol.server_messages import RunningModel
from pellucid.instance.scene import loading
from pellucid.instance.scene.network_layers import FOCUS_S, focus_of
from pellucid.instance.session import Session
from pellucid.settings import available_memory_bytes
from pellucid.workers.array_store import OwnedArray
from pellucid.workers.protocol import module_requests
from pellucid.workers.protocol.replies import ModuleDrafted, ModuleOpened

DEFAULT_SHAPE: Shape = (256, 256, 256)
VALUE = np.dtype(np.float32)


@dataclass(frozen=True)
class _Draft:
    """A volume in memory, with a rough version of the model's values. path: of the model, in full."""

    request: ModelRequest
    path: str
    source: str
    opened: ModuleOpened
    batch: int


async def start(session: Session, request: ModelRequest) -> ModelStarted:
    """Show a model, and begin to evaluate it everywhere."""
    if session.tasks.evaluating is not None:
        raise InvalidInput("Another model is being evaluated.", remedy="Wait until it is finished, or stop it.")
    path = session.roots.require_allowed(request.path)
    with session.idle.held_off(), session.worker_events.busy("loading"):
        draft = await asyncio.to_thread(_draft, session, request, path)
    try:
        if session.tasks.evaluating is not None:  # It began meanwhile.
            raise InvalidInput("Another model is being evaluated.", remedy="Stop it first.")
        await loading.load(session, draft.source, request.how, draft.opened.title)
    except PellucidError:
        session.worker.forget_array(draft.source)
        raise
    loading.release_unused_arrays(session)
    task = _begin(session, draft)
    layers = [layer.source for layer in session.history.scene.volumes]
    return ModelStarted(task, layers.index(draft.source), session.history.revision)


def start_first(session: Session, request: ModelRequest) -> None:
    """Before there is a loop: what cannot be loaded is refused, and evaluation begins with the loop."""
    path = Path(request.path).expanduser().absolute()
    session.roots.add_opened(path.parent)
    draft = _draft(session, request, str(path))
    session.catalogue.names[draft.source] = draft.opened.title
    loading.load_first(session, draft.source)
    session.on_open = lambda: _begin(session, draft)


def _draft(session: Session, request: ModelRequest, path: str) -> _Draft:
    """Load the model, and fill a volume with a first impression. On any thread; it waits."""
    worker = session.pool.get("user_code")
    opened: ModuleOpened = worker.send_request(
        "loading a model", lambda number: module_requests.OpenModule(number, path, request.name)
    ).result()
    shape = request.shape or opened.shape or DEFAULT_SHAPE
    if (needs := prod(shape) * VALUE.itemsize) > (has := available_memory_bytes()):
        raise NotEnoughMemory(needs=needs, has=has, remedy="Evaluate fewer voxels with a smaller shape.")
    source = f"memory:{uuid4().hex}"
    array = OwnedArray(SharedArray.create(shape, VALUE), request.spacing)
    session.worker.use_array(source, array).result()
    question = lambda number: module_requests.DraftModule(number, path, request.name, source, request.batch or 0)  # noqa: E731
    try:
        drafted: ModuleDrafted = worker.send_request("evaluating a model", question).result()
    except PellucidError:
        session.worker.forget_array(source)
        raise
    return _Draft(request, path, source, opened, drafted.batch)


def _begin(session: Session, draft: _Draft) -> str:
    """The task that evaluates every voxel."""
    worker, source, request = session.pool.get("user_code"), draft.source, draft.request
    waiting: list[Future[Any]] = []
    is_stopped: list[bool] = []

    async def work(_: str) -> None:
        question = lambda number: module_requests.FillModule(  # noqa: E731
            number, draft.path, request.name, source, request.batch or 0
        )
        follower = asyncio.get_running_loop().create_task(_follow(session, source, cancel))
        try:
            waiting.append(worker.send_request("evaluating a model", question))
            await asyncio.wrap_future(waiting[0])
            loading.measure(session, source)
        except WorkerLost as error:
            if is_stopped:  # It did not return, and its process was ended.
                raise Cancelled(f"Evaluating {draft.opened.title}") from error
            raise
        finally:
            follower.cancel()
            session.tasks.evaluating = None
            session.models.has_ended(source)

    def cancel() -> None:
        is_stopped.append(True)
        for future in waiting:
            worker.stop(future)

    task = session.tasks.evaluating = session.tasks.start(f"Evaluating {draft.opened.title}", work, cancel)
    is_halved = draft.batch < (request.batch or draft.opened.batch)
    facts = draft.opened.title, draft.opened.device, draft.batch, is_halved
    session.models.add(RunningModel(task, source, *facts, is_running=True))
    return task


async def _follow(session: Session, source: str, cancel: Any) -> None:
    """Report to the Worker what the user looks at; stop it when the volume is closed."""
    last = None
    with suppress(asyncio.CancelledError):
        while source in session.worker.arrays:
            if (focus := focus_of(session, source, source)) != last:
                session.pool.get("user_code").send(focus)
                last = focus
            await asyncio.sleep(FOCUS_S)
        cancel()
