"""How many slices a second follow the wheel, each another one, at full resolution?

Here: a scripted client over a real WebSocket, which scrolls along each axis; the slice alone, by NumPy.
Not here: slices in a browser, which decodes and paints besides; the 3D image (viewer).

    python -m benchmarks.slices [--quick] [--json FILE]

A volume of 1024³ uint16 (quick: 768³), and a page that shows one slice of it, a pixel for every voxel. The wheel turns
60 times a second (120 with a CUDA card), each time to the next slice. Every image is acknowledged as it arrives, as the
page does. The peer takes the slice from an array in memory, puts it through a grey window and encodes it as the same
JPEG, without sending it, as fast as it can.
"""

import json
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from websockets.sync.client import ClientConnection

from benchmarks.page_connection import open_page
from benchmarks.table import TARGET, Row, faster, options, report
from pellucid.client.launch import start
from pellucid.client.viewer import Viewer
from pellucid.device import devices
from pellucid.formats.protocol import Voxels
from pellucid.instance.frames.jpeg import JpegEncoder
from pellucid.instance.scene.slice_drawer import JPEG_QUALITY
from pellucid.volume.sample_volume import sample

EDGE, QUICK_EDGE = 1024, 768
SAMPLE_EDGE = 256
AXES = ("z", "y", "x")
TIMEOUT_S = 120
TARGETS = {False: 20.0, True: 60.0}
"""Slices a second, without and with a card."""
WHEEL = {False: 60.0, True: 120.0}


@dataclass(frozen=True)
class Scrolling:
    """How large the volume is along each edge, how often a second the wheel turns, and for how long."""

    edge: int
    rate: float
    seconds: float


@dataclass
class Received:
    """Of one axis. indices: of the slices that came while the wheel turned; latency_ms: from sending a place to having
    its image; exact_ms: from the last place to its exact image; nbytes: of the images."""

    indices: list[int] = field(default_factory=list)
    latency_ms: list[float] = field(default_factory=list)
    exact_ms: float = 0.0
    nbytes: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class SliceMessage:
    """The header of an image of a slice, how many bytes it has, and when it came."""

    header: dict[str, Any]
    nbytes: int
    at: float


def main() -> None:
    given = options("Slices a second while scrolling.")
    has_card = any(device.is_cuda for device in devices())
    edge = QUICK_EDGE if given.is_quick else EDGE
    scrolling = Scrolling(edge, WHEEL[has_card], 1.0 if given.is_quick else 5.0)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"sample-{edge}.npy")
        write_volume(path, edge)
        with start(roots=[path.parent]) as viewer:
            viewer.load(path)
            received = watched(viewer, scrolling)
        for axis, name in enumerate(AXES):
            rows += rows_of(name, received[name], scrolling, TARGETS[has_card])
            rows += peer_rows(path, axis, received[name], scrolling)
    size = f"{edge}³ uint16, images of {edge} × {edge}, {scrolling.seconds:g} s along each axis"
    report("slices", rows, f"{size}, the wheel turns {scrolling.rate:g} times a second", given)


def write_volume(path: Path, edge: int) -> None:
    """The product's own sample, each voxel many times, with noise that no encoder can leave out."""
    times = edge // SAMPLE_EDGE
    small = sample(SAMPLE_EDGE)
    random = np.random.default_rng(1)
    noise = random.integers(0, 2048, (edge, edge), np.uint16)
    volume = np.lib.format.open_memmap(path, "w+", np.uint16, (edge, edge, edge))
    for index in range(edge):
        plane = small[index // times].repeat(times, 0).repeat(times, 1)
        volume[index] = np.minimum(plane, 65535 - 2048) + np.roll(noise, 37 * index)
    del volume


def watched(viewer: Viewer, scrolling: Scrolling) -> dict[str, Received]:
    """Scroll along each axis, and note what comes."""
    received: dict[str, Received] = {}
    middle = [scrolling.edge // 2] * 3
    with open_page(viewer, (640, 360), ["jpeg", "png"]) as socket:
        socket.send(json.dumps({"type": "slices", "voxel": middle}))
        for axis, name in enumerate(AXES):
            view = {"axis": name, "width": scrolling.edge, "height": scrolling.edge}
            socket.send(json.dumps({"type": "show_slices", "views": [view]}))
            until_exact(socket, name, middle[axis])
            scroll(socket, axis, Scrolling(scrolling.edge, scrolling.rate, 0.5))  # Kernels, caches.
            received[name] = scroll(socket, axis, scrolling)
    return received


def scroll(socket: ClientConnection, axis: int, scrolling: Scrolling) -> Received:
    """From the middle, up and down, each time to another slice; until the last one is exact."""
    sent: dict[int, float] = {}
    places = list(along(scrolling.edge, round(scrolling.rate * scrolling.seconds)))
    received = Received()
    wheel = threading.Thread(target=turn, args=(socket, axis, places, scrolling, sent))
    started = time.perf_counter()
    wheel.start()
    for message in messages(socket):
        index, is_exact = message.header["index"], message.header["is_exact"]
        if message.header["axis"] != AXES[axis] or index not in sent:
            continue
        if message.at <= started + scrolling.seconds and index not in received.indices:
            received.indices.append(index)
            received.latency_ms.append((message.at - sent[index]) * 1000)
            received.nbytes.append(message.nbytes)
        if is_exact and index == places[-1] and len(sent) == len(places):
            received.exact_ms = (message.at - sent[index]) * 1000
            break
    wheel.join()
    return received


def along(edge: int, number: int) -> Iterator[int]:
    """So many slices, none twice: from the middle on, and around."""
    if number > edge:
        raise ValueError(f"There are {edge} slices; {number} are wanted.")
    yield from ((edge // 2 + 1 + step) % edge for step in range(number))


def turn(socket: ClientConnection, axis: int, places: list[int], scrolling: Scrolling, sent: dict[int, float]) -> None:
    started = time.perf_counter()
    for number, index in enumerate(places):
        time.sleep(max(0.0, started + number / scrolling.rate - time.perf_counter()))
        voxel = [scrolling.edge // 2] * 3
        voxel[axis] = index
        sent[index] = time.perf_counter()
        socket.send(json.dumps({"type": "slices", "voxel": voxel}))


def messages(socket: ClientConnection) -> Iterator[SliceMessage]:
    """Images of slices as they come, acknowledged; so are frames of the scene."""
    while True:
        message = socket.recv(timeout=TIMEOUT_S)
        at = time.perf_counter()
        if isinstance(message, str):
            continue
        header = json.loads(message[4 : 4 + int.from_bytes(message[:4], "little")])
        if header["type"] == "slice":
            answer = {"type": "acknowledge_slice", "axis": header["axis"], "number": header["number"]}
            socket.send(json.dumps(answer))
            yield SliceMessage(header, len(message), at)
        else:
            socket.send(json.dumps({"type": "acknowledge", "number": header["number"]}))


def until_exact(socket: ClientConnection, name: str, index: int) -> None:
    for message in messages(socket):
        header = message.header
        if header["axis"] == name and header["index"] == index and header["is_exact"]:
            return


def rows_of(name: str, received: Received, scrolling: Scrolling, target: float) -> list[Row]:
    case, rate = f"across {name}", len(received.indices) / scrolling.seconds
    return [
        faster(f"{case}: slices while scrolling", "1/s", rate, TARGET, target),
        Row(f"{case}: from the wheel to the image", "p95", "ms", p95(received.latency_ms), "-", None, None),
        Row(f"{case}: exact image at rest", "time", "ms", received.exact_ms, "-", None, None),
        Row(f"{case}: one image", "size", "kB", float(np.median(received.nbytes)) / 1000, "-", None, None),
    ]


def p95(times_ms: list[float]) -> float:
    return float(np.percentile(times_ms, 95))


def peer_rows(path: Path, axis: int, received: Received, scrolling: Scrolling) -> list[Row]:
    case, rate = f"across {AXES[axis]}: slices drawn and encoded", len(received.indices) / scrolling.seconds
    return [faster(case, "1/s", rate, "NumPy, not sent", speed(numpy_slices(path, axis)))]


def speed(draw: Callable[[int], Voxels]) -> float:
    """Slices a second, encoded as the viewer does, each another one."""
    encoder, numbers = JpegEncoder(os.cpu_count() or 1), count(1)
    draw(0)
    started, drawn = time.perf_counter(), 0
    while time.perf_counter() < started + 2:
        encoder.encode(draw(next(numbers)), JPEG_QUALITY, is_enlarged=False)
        drawn += 1
    encoder.close()
    return drawn / (time.perf_counter() - started)


def numpy_slices(path: Path, axis: int) -> Callable[[int], Voxels]:
    volume = np.load(path)
    pixels = np.full((volume.shape[1], volume.shape[2], 4), 255, np.uint8)

    def draw(number: int) -> Voxels:
        voxels = volume.take(number % volume.shape[axis], axis).astype(np.float32)
        pixels[..., :3] = (voxels * (255 / 65535) + 0.5).astype(np.uint8)[..., np.newaxis]
        return pixels

    return draw


if __name__ == "__main__":
    main()
