"""Viewer: the object with which a program controls a running viewer.

Here: what is shown, screenshots, voxels back.
Not here: how it is shown (scene.view), starting and finding viewers (launch), the asynchronous version (async_viewer).
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any, Literal, Self, Unpack

import numpy as np

from pellucid.box import Box
from pellucid.client import notebook
from pellucid.client.array_transfer import ArrayTransfers, DisplayOptions
from pellucid.client.arrays import array_source
from pellucid.client.connection import Connection
from pellucid.client.login import bearer_for
from pellucid.client.models import FieldOptions, RenderedField, render_field
from pellucid.client.networks import AppliedNetwork, NetworkOptions, apply_network
from pellucid.client.scene.view import ViewerScene
from pellucid.errors import InvalidInput, ViewerUnreachable
from pellucid.formats.location import Location
from pellucid.formats.protocol import Spacing, Voxels
from pellucid.formats.shared_memory import SharedArray
from pellucid.jobs.job_state import JobState
from pellucid.rendering.geometry.shapes import Mesh, Points
from pellucid.transport.streams import StreamWriter
from pellucid.transport.wire.announcement import ArrayInfo
from pellucid.transport.wire.transfer import TransferReport
from pellucid.volume.volume import Volume

PROTOCOL = 4
SHUTDOWN_TIMEOUT_S = 10.0
POLL_S = 0.5


class ViewerLifecycle:
    """device: that draws; pid: of the viewer's process on its machine.

    end: waits for that process, where this program has started it. token: the owner's, from the viewer's record.
    """

    def __init__(self, url: str, end: Callable[[float | None], None] | None = None, *, token: str = "") -> None:
        hub_token = "" if token else bearer_for(url)
        self._connection = Connection(url, bearer=token or hub_token, is_hub=bool(hub_token))
        self._end = end
        about = self._connection.ask("GET", "/api/about")
        _check_version(about["version"], str(about.get("product", "")))
        self.device: str = about["device"]
        self.pid: int = about["pid"]
        self._unix_socket: str = about["socket"]
        self._transfer: str = about["transfer"]
        self._transfer_token: str = about["transfer_token"]

    @property
    def url(self) -> str:
        """A link that opens the viewer in a browser, as the owner. It works once, within ten minutes; each access
        creates a new one."""
        return self._connection.link(f"code={self.code}")

    @property
    def address(self) -> str:
        """Of the page, without any secret."""
        return self._connection.address

    @property
    def code(self) -> str:
        """A code that opens the viewer once, behind ``#code=``."""
        return str(self._connection.ask("POST", "/api/codes")["code"])

    @property
    def port(self) -> int:
        return self._connection.port

    @property
    def links(self) -> dict[str, str]:
        """Links to share: ``view`` shows the image, ``control`` also changes the view, ``own`` allows everything.
        They work until they are revoked or the viewer stops."""
        return {name: self.share(name) for name in ("view", "control", "own")}

    def share(self, capability: str, name: str = "") -> str:
        """A link to share, for view, control or own. The same name returns the same link until it is revoked."""
        if capability not in ("view", "control", "own"):
            raise InvalidInput(f"Unknown capability {capability!r}.", remedy="Use view, control or own.")
        made = self._connection.ask("POST", "/api/shares", {"capability": capability, "name": name})
        return self._connection.link(str(made["url"]).removeprefix("#"))

    def revoke(self, link: str) -> None:
        """Revoke a link from ``share`` or ``links``; pages opened with it are closed."""
        secret = link.partition("#")[2].partition("&")[0]
        for one in self._connection.ask("GET", "/api/shares"):
            if secret and secret == one["url"].removeprefix("#").partition("&")[0]:
                self._connection.ask("DELETE", f"/api/shares/{one['id']}")
                return
        raise InvalidInput("The viewer has no such link.", remedy="Use a link from share() that was not revoked.")

    def compare(self, is_on: bool = True, arrangement: Literal["beside", "over"] = "beside") -> None:
        """Keep the scene as it is now beside the one that changes; what is shown next is compared with it.

        arrangement: "beside", or "over": the page shows both at full size with a line to drag, or their difference.
        """
        self._connection.ask("PUT", "/api/compare", {"is_on": is_on, "arrangement": arrangement})

    def show_training(self, state: Mapping[str, object] | None) -> None:
        """How far a training is (TrainingState of the protocol); None: show none any more."""
        self._connection.ask("DELETE" if state is None else "PUT", "/api/training", state)

    def wait(self) -> None:
        """Wait until the viewer stops: in the page, by Ctrl-C here, or by its idle timeout."""
        if self._end is not None:
            return self._end(None)
        while self.is_running:
            time.sleep(POLL_S)
        return None

    @property
    def is_running(self) -> bool:
        try:
            self._connection.ask("GET", "/api/about")
        except ViewerUnreachable:
            return False
        return True

    @property
    def state(self) -> JobState:
        """running or ended; of one that the agent keeps, all that is known there."""
        return JobState("running" if self.is_running else "ended")

    def shutdown(self) -> None:
        """Stop the viewer, for all who watch it. Does nothing if it has already stopped."""
        with suppress(ViewerUnreachable):
            self._connection.ask("POST", "/api/shutdown")
        if self._end is not None:
            self._end(SHUTDOWN_TIMEOUT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()


How = Literal["replace", "add", "labels"]
"""replace: alone; add: beside what is there; labels: as coloured labels over it."""


class Viewer(ViewerLifecycle, ViewerScene):
    """A running viewer. Every method returns when it is done, and can be called from any thread."""

    def __init__(self, url: str, end: Callable[[float | None], None] | None = None, *, token: str = "") -> None:
        super().__init__(url, end, token=token)
        self._lanes = ArrayTransfers(self._connection, self._unix_socket, self._transfer, self._transfer_token)

    # What is shown

    def render_volume(
        self,
        volume: object,
        spacing: Spacing | None = None,
        *,
        unit: str = "",
        name: str = "",
        how: How = "replace",
        cancel: Event | None = None,
    ) -> None:
        """Show a (z, y, x) array of NumPy, CuPy or PyTorch, a Volume, memory from ``allocate``, or a file.

        spacing: distance between voxel centres along (z, y, x), in ``unit``; a file or a Volume has its own. cancel:
        set it from another thread to stop the transfer. ``last_transfer`` then reports how it went.
        """
        if isinstance(volume, str | Path):
            volume = Location.parse(volume)
        if isinstance(volume, Volume) and not volume.location.is_memory:
            volume = volume.location
        if isinstance(volume, Location):
            if spacing is not None or unit:
                remedy = "Leave them out, or pass an array: pellucid.open(path)[...]."
                raise InvalidInput("spacing and unit cannot be given for a file.", remedy=remedy)
            return self._lanes.load(str(volume.absolute), how)
        if isinstance(volume, Volume):
            spacing, unit = spacing or volume.spacing, unit or volume.unit
        label = ArrayInfo(name, _spacing(spacing or (1.0, 1.0, 1.0)), unit)
        return self._lanes.show(array_source(volume), DisplayOptions(label, how, cancel))

    def allocate(self, shape: Sequence[int], dtype: Any) -> SharedArray:
        """Memory for a volume. Fill its ``array`` and pass it to ``render_volume``, which copies nothing if the
        viewer is on this machine. Later changes to it do not change what is shown; if you pass it again, it is
        copied like any array."""
        return SharedArray.create(shape, dtype)

    def stream(
        self,
        shape: Sequence[int],
        dtype: Any,
        spacing: Spacing | None = None,
        *,
        unit: str = "",
        name: str = "",
        how: How = "replace",
    ) -> StreamWriter:
        """A writer that shows a volume while it is made, slice by slice (``append``) or block by block (``write``).

        Use it in a ``with`` statement; when that ends, the volume is complete. Voxels that were not written are NaN, or
        the smallest integer, or 0 for labels.
        """
        label = ArrayInfo(name, _spacing(spacing or (1.0, 1.0, 1.0)), unit)
        return self._lanes.stream(shape, dtype, DisplayOptions(label, how))

    @property
    def last_transfer(self) -> TransferReport | None:
        """How the last array was sent: the lane, the number of bytes and the speed; None before the first."""
        return self._lanes.last

    def load(self, path: str | Path, *, how: How = "replace") -> None:
        """Show a file on the viewer's machine: a volume (``scan.h5:/entry/data``), points, or a mesh."""
        self._lanes.load(str(Location.parse(path).absolute), how)

    def render_points(self, positions: Any, values: Any, *, how: How = "replace") -> None:
        """Show spheres at (n, 3) positions (x, y, z) in world units, with radii proportional to their (n,) values."""
        self._lanes.show_points(
            Points(np.asarray(positions), np.asarray(values)), DisplayOptions(ArrayInfo("points"), how)
        )

    def render_mesh(self, vertices: Any, triangles: Any, *, how: How = "replace") -> None:
        """Show (m, 3) triangles, indices into (n, 3) vertices (x, y, z) in world units."""
        self._lanes.show_mesh(Mesh(np.asarray(vertices), np.asarray(triangles)), DisplayOptions(ArrayInfo("mesh"), how))

    def render_field(self, model: object, **options: Unpack[FieldOptions]) -> RenderedField:
        """Show a PyTorch module, or ``"my.py:Model"`` on the viewer's machine (docs/how-to/draw-a-model.md)."""
        return render_field(self._connection, self._lanes.same_host, model, options)

    def apply_network(self, network: str | Path, **options: Unpack[NetworkOptions]) -> AppliedNetwork:
        """Draw the labels that a network gives to a volume, while they are computed: what is seen comes first.

        network: an ONNX file, a bioimageio.yaml, its folder, or a package of bioimage.io (.zip) on this machine.
        Options: layer, the index of the volume; threshold for label 1 (of a network with one output); what a bare ONNX
        file does not state: axes, such as bczyx; halo in voxels; preprocess and postprocess, such as ``sigmoid``.
        """
        return apply_network(self._connection, network, options)

    # What comes back

    def screenshot(self, width: int = 1280, height: int = 720) -> Voxels:
        """The exact image as (height, width, 4) uint8, RGBA. It needs no browser."""
        pixels = self._connection.exchange("GET", "/api/screenshot", width=width, height=height, format="raw")
        return np.frombuffer(pixels, np.uint8).reshape(height, width, 4).copy()

    def screenshot_png(self, width: int = 1280, height: int = 720) -> bytes:
        """The exact image as the bytes of a PNG file."""
        return self._connection.exchange("GET", "/api/screenshot", width=width, height=height, format="png")

    def retrieve_volume(self, box: Box | None = None, *, layer: int = 0) -> Voxels:
        """The voxels (z, y, x) of a box; without one, of the clipping box."""
        if box is None and layer < len(volumes := self.scene.volumes):
            box = volumes[layer].clip
        return self._lanes.retrieve(layer, "" if box is None else str(box))

    def __repr__(self) -> str:
        return f"Viewer({self._connection.address!r}, device={self.device!r})"

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return notebook.mimebundle(self)


def _check_version(version: int, product: str) -> None:
    """Refuse a viewer that other versions of this program start. product: its version of Pellucid."""
    if version == PROTOCOL:
        return
    is_newer = version > PROTOCOL
    what = f"The viewer is {'newer' if is_newer else 'older'} than this program: "
    what += f"it uses version {version} of the protocol (Pellucid {product}), this program version {PROTOCOL}."
    newer = f"Install Pellucid {product} for this program." if is_newer else "Start the viewer again with this version."
    raise InvalidInput(what, remedy=newer)


def _spacing(spacing: Any) -> tuple[float, ...]:
    try:
        numbers = tuple(float(one) for one in spacing)
    except (TypeError, ValueError):
        numbers = ()
    if len(numbers) != 3 or not all(0 < one < float("inf") for one in numbers):
        raise InvalidInput(f"Invalid spacing: {spacing!r}.", remedy="Use three positive numbers, along (z, y, x).")
    return numbers
