"""Loading files, arrays and saved states into the scene.

Here: load, show_array, retrieve, restore, save; taking a scene, and letting go of arrays that nothing shows.
Not here: reading (workers), names that may be opened (access.roots).
"""

import asyncio
import json
from concurrent.futures import Future
from dataclasses import replace

from pellucid.box import Box
from pellucid.errors import InvalidInput, PellucidError
from pellucid.formats.location import Location
from pellucid.formats.shared_memory import SharedArray
from pellucid.instance.access.guest_limits import check_texts
from pellucid.instance.access.scene_checks import check_kinds, check_sources
from pellucid.instance.protocol.http_bodies import Loaded, SavedState
from pellucid.instance.scene.catalogue import How, kinds_of, placed
from pellucid.instance.scene.history import ScenePair
from pellucid.instance.scene.saved_states import VERSION
from pellucid.instance.scene.slice_plans import CrossHairPlace
from pellucid.instance.session import Session
from pellucid.rendering.layers.label_placement import place_labels
from pellucid.rendering.scene import Scene, VolumeLayer
from pellucid.workers.array_store import OwnedArray
from pellucid.workers.protocol import replies, requests


def load_first(session: Session, source: str) -> None:
    """Before there is a loop: describe, draw a small image of a small volume to refuse what cannot be drawn, and take
    it. A large volume is drawn only once its page is open: reading all of it takes longer than opening the page."""
    location = Location.parse(source)
    if not (location.is_memory or location.is_remote):
        session.roots.add_opened(location.local.absolute().parent)
    described: replies.SourceDescribed = session.worker.send_request(
        "describing", lambda request: requests.Describe(request, source, aspect=session.fitter.aspect)
    ).result()
    pair = placed(ScenePair(session.history.scene), described, "replace")
    if described.facts is None or not described.facts.is_estimated:
        session.worker.screenshot(requests.ViewSpec(pair.scene, 64, 64)).result()
    session.catalogue.add(source, described)
    session.history.begin(pair)
    session.fitter.camera = pair.scene.camera
    _remember(session, source)


def restore_first(session: Session, state: SavedState) -> None:
    """Called before the event loop runs. A viewer started with a saved state may open the folders in it."""
    pair = scenes_of(state)
    every = pair.sources
    for source in every:
        location = Location.parse(source)
        if ".." in f"{location.path}/{location.dataset}".split("/"):
            raise InvalidInput(
                f"The state contains the path {source}, which leaves its folder.", remedy="Save it again without '..'."
            )
        if not (location.is_memory or location.is_remote):
            session.roots.add(location.local.absolute().parent)
    check_sources(session, pair, "own")
    for text in state.shadings.values():
        session.shadings.add_received(text)
    for source in every:
        question = lambda request, source=source: requests.Describe(request, source)  # noqa: E731
        session.catalogue.add(source, session.worker.send_request("describing", question).result())
    session.history.begin(pair)


async def load(session: Session, source: str, how: How, name: str = "") -> Loaded:
    """Describe a source and put it into the scene."""
    aspect = session.fitter.aspect
    question = lambda request: requests.Describe(request, source, how == "labels", aspect)  # noqa: E731
    with session.idle.held_off(), session.worker_events.busy("loading"):
        described = await asyncio.wrap_future(session.worker.send_request("describing", question))
    session.catalogue.add(source, described)
    if name:
        session.catalogue.names[source] = name
    warning = _mismatch(session, described) if how == "labels" else ""
    place(session, described, how)
    if described.facts is not None and described.facts.is_estimated:
        measure(session, source)
    if how == "replace":
        await asyncio.to_thread(_remember, session, source)
    return Loaded(session.history.revision, warning, remedy="Check that they belong to this volume." if warning else "")


def _remember(session: Session, source: str) -> None:
    """Add a file to the recent ones, unless it is gone with this viewer: an array, an upload, the sample."""
    location = Location.parse(source)
    if location.is_memory or (not location.is_remote and location.local.is_relative_to(session.tasks.folder)):
        return
    session.recent.add(source)


def place(session: Session, described: replies.SourceDescribed, how: How) -> VolumeLayer | None:
    """Show what was described, labels on the volume that they belong to; the layer that a volume became."""
    if how == "labels":
        described = replace(described, volume=_over_volume(session, described))
    take(session, placed(session.history.pair, described, how))
    if session.history.scene.camera == described.camera:
        session.fitter.camera = described.camera
    return described.volume


def _volumes(session: Session) -> list[tuple[VolumeLayer, replies.VolumeFacts]]:
    """Those in the scene that are no labels, as far as they are known."""
    layers = (layer for layer in session.history.scene.volumes if layer.labels is None)
    return [(layer, facts) for layer in layers if (facts := session.catalogue.facts(layer.source)) is not None]


def _over_volume(session: Session, described: replies.SourceDescribed) -> VolumeLayer | None:
    labels, grid = described.volume, described.facts
    if labels is None or grid is None:
        return labels
    for layer, volume in _volumes(session):
        if found := place_labels(labels, grid, layer, volume):
            return found
    return labels


def _mismatch(session: Session, described: replies.SourceDescribed) -> str:
    """That labels are neither as large as a volume of the scene nor made from it at a lower resolution; else ""."""
    labels, grid, volumes = described.volume, described.facts, _volumes(session)
    if labels is None or grid is None or not volumes:
        return ""
    if any(place_labels(labels, grid, *volume) or _same_extent(grid, volume[1]) for volume in volumes):
        return ""
    return f"The labels have {_size(grid)} voxels (x, y, z), which does not fit the volume of {_size(volumes[0][1])}."


def _same_extent(one: replies.VolumeFacts, other: replies.VolumeFacts) -> bool:
    """By their spacing, to a voxel."""
    lengths = zip(one.shape, one.spacing, other.shape, other.spacing, strict=True)
    return all(abs(n * a - m * b) <= max(a, b) for n, a, m, b in lengths)


def _size(facts: replies.VolumeFacts) -> str:
    """In the order in which the page states it: x × y × z."""
    return " × ".join(map(str, reversed(facts.shape)))


def measure(session: Session, source: str) -> None:
    """Read all voxels while the first image is shown, and broadcast what was found."""
    question = lambda request: requests.MeasureValues(request, source)  # noqa: E731
    loop = asyncio.get_running_loop()

    def tell(done: "Future[replies.Measured]") -> None:
        if done.exception() is None and not loop.is_closed():
            loop.call_soon_threadsafe(_was_measured, session, source, done.result())

    session.worker.send_request("measuring", question).add_done_callback(tell)


def _was_measured(session: Session, source: str, measured: replies.Measured) -> None:
    session.catalogue.measured(source, measured)
    session.slicing.refresh()
    tell_layers(session)


def tell_layers(session: Session) -> None:
    for layers in session.catalogue.messages(session.history):
        session.broadcast(layers)


def take(session: Session, pair: ScenePair) -> None:
    """Show another scene, with its own camera."""
    session.delivery.forget()
    session.change(pair)


async def show_array(session: Session, id: str, handed: OwnedArray, how: How, name: str) -> int:
    """A volume, points or a mesh in memory that was handed over; arrays that nothing shows any more are let go."""
    source = f"memory:{id}"
    # Beside others it may have to share the device with them, and labels are kept otherwise there.
    handed = replace(handed, is_next=how == "replace")
    with session.idle.held_off():
        await asyncio.wrap_future(session.worker.use_array(source, handed))
    try:
        loaded = await load(session, source, how, name)
    except PellucidError:
        session.worker.forget_array(source)
        raise
    release_unused_arrays(session)
    return loaded.revision


def release_unused_arrays(session: Session) -> None:
    """Arrays are large: what is not shown goes, and with it the way back to it."""
    shown = session.history.pair.sources
    unused = session.worker.arrays - shown
    session.history.forget(lambda pair: bool(pair.sources & unused))
    for source in unused:
        session.worker.forget_array(source)
        session.catalogue.forget(source)
    if unused:
        session.scene_changed()


async def retrieve(session: Session, layer: int, box: str) -> SharedArray:
    """The voxels of a layer, or of a box of it (z0:z1,y0:y1,x0:x1; empty for all)."""
    volumes = session.history.scene.volumes
    if not 0 <= layer < len(volumes):
        raise InvalidInput(f"The scene has no layer {layer}.", remedy=f"Use a number below {len(volumes)}.")
    source = volumes[layer].source
    known = session.catalogue.facts(source)
    wanted, time = Box.parse(box, known.shape) if box and known is not None else None, session.history.scene.time
    question = lambda request: requests.Retrieve(request, source, wanted, time)  # noqa: E731
    with session.idle.held_off():
        _, shared = await asyncio.wrap_future(session.worker.send_request("retrieving voxels", question))
    voxels: SharedArray = shared
    return voxels


def save(session: Session) -> SavedState:
    """Everything that is needed to show the same image again."""
    scene, other = session.history.scene, session.history.other
    shadings = session.shadings.sources(scene) | (session.shadings.sources(other) if other else {})
    documents = [None if one is None else json.loads(one.to_json()) for one in (scene, other)]
    return SavedState(VERSION, documents[0], documents[1], shadings, session.slicing.voxel)


def scenes_of(state: SavedState) -> ScenePair:
    """The scenes of a saved state, checked."""
    if state.version != VERSION:
        raise InvalidInput(
            f"The state has version {state.version}, not {VERSION}.", remedy="Update Pellucid to open it."
        )
    return ScenePair(_scene(state.scene), None if state.other is None else _scene(state.other))


def _known_kinds(session: Session, pair: ScenePair) -> dict[str, frozenset[str]]:
    known = session.catalogue
    return {source: known.kinds(source) for source in pair.sources if known.has(source)}


def _scene(document: object) -> Scene:
    check_texts(document)
    try:
        return Scene.from_json(json.dumps(document, allow_nan=False))
    except ValueError as error:  # NaN and infinity are no JSON: a page could not read the scene.
        raise InvalidInput("The state contains NaN or infinity.", remedy="Save it again.") from error


async def restore(session: Session, state: SavedState) -> int:
    """Show a saved state. Shadings in it wait for approval, unless they are compiled here already."""
    pair = check_sources(session, scenes_of(state), "own")
    for text in state.shadings.values():
        session.shadings.add_received(text)
    await describe_new(session, pair)
    take(session, pair)
    session.shadings_changed()
    if state.cross_hair is not None:
        session.slicing.set(CrossHairPlace(state.cross_hair, 0), "")
        session.broadcast(session.slicing.message())
    return session.history.revision


def has_new(session: Session, pair: ScenePair) -> bool:
    """Whether scenes name what has not been described yet."""
    return bool(_new(session, pair))


def _new(session: Session, pair: ScenePair) -> set[str]:
    """What the present scenes name is being loaded where it is not described."""
    return {one for one in pair.sources - session.history.pair.sources if not session.catalogue.has(one)}


def check_known(session: Session, pair: ScenePair) -> None:
    """Refuse a layer whose source is something else than the layer shows."""
    check_kinds(pair, _known_kinds(session, pair))


async def describe_new(session: Session, pair: ScenePair) -> None:
    """Describe what scenes name and is not known yet. What cannot be opened, or is something else than its layer
    shows, is refused, and then nothing is changed."""
    found: dict[str, replies.SourceDescribed] = {}
    with session.idle.held_off():
        for source in sorted(_new(session, pair)):
            question = lambda request, source=source: requests.Describe(request, source)  # noqa: E731
            found[source] = await asyncio.wrap_future(session.worker.send_request("describing", question))
    kinds = {source: kinds_of(described) for source, described in found.items()}
    check_kinds(pair, kinds | _known_kinds(session, pair))
    for source, described in found.items():
        session.catalogue.add(source, described)
