"""How a viewer feels: from a hand that moves to an image that follows, stage by stage.

Here: a scripted client over a real WebSocket, dragging; JPEG and H.264.
Not here: a browser, which decodes and paints besides.

    python -m benchmarks.viewer [--quick] [--json FILE]

Without a GPU: the bonsai at 1280 × 720, and 60 cameras a second while dragging. With one: 1024³ voxels at 1920 × 1080,
and 120, so that the hand is never what is waited for. Every frame is acknowledged as it arrives. Between drags the
client waits for the exact image.
"""

import json
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from websockets.sync.client import ClientConnection

from benchmarks.page_connection import open_page
from benchmarks.sample_scans import SHARED, enlarged
from benchmarks.table import TARGET, Row, faster, options, report, shorter
from pellucid.client.connection import Connection
from pellucid.client.launch import start
from pellucid.client.viewer import Viewer
from pellucid.dataclass_json import from_json
from pellucid.device import devices
from pellucid.rendering.camera import Camera
from pellucid.volume.sample_volume import sample

TIMEOUT_S = 120


@dataclass(frozen=True)
class Figures:
    """What is to be reached: frames a second at least; milliseconds at most, and seconds to the exact image.

    rate: how often a second the hand moves.
    """

    rate: float
    frames_per_second: float
    first_ms: float
    encoded_ms: float
    exact_s: float


CPU, CUDA = Figures(60.0, 10.0, 120.0, 120.0, 2.0), Figures(120.0, 60.0, 30.0, 30.0, 2.0)


@dataclass(frozen=True)
class Drags:
    """How many, how long, and how often a second the hand moves."""

    count: int
    seconds: float
    rate: float


@dataclass
class Seen:
    """Of every drag: frames, seconds, milliseconds to its first frame, seconds to rest.

    Of each frame while dragging: milliseconds from the input's arrival until it was encoded, by the instance's clock;
    and from the client's sending the input until it had the frame; the part of the pixels that it has.
    """

    frames: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    first_ms: list[float] = field(default_factory=list)
    encoded_ms: list[float] = field(default_factory=list)
    latency_ms: list[float] = field(default_factory=list)
    exact_s: list[float] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)


def main() -> None:
    given = options("A viewer, from input to image.")
    is_cuda = any(device.is_cuda for device in devices())
    size, figures = ((1920, 1080), CUDA) if is_cuda else ((1280, 720), CPU)
    drags, seconds = (3, 1.0) if given.is_quick else (12, 2.0)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        source = volume_in(Path(folder), 1024 if is_cuda else 256)
        for encodings in (["jpeg", "png"], ["jpeg", "png", "h264"]):
            viewer = start(roots=[source.parent])
            try:
                viewer.load(source)
                seen = watched(viewer, size, encodings, Drags(drags, seconds, figures.rate))
                rows += rows_of(encodings[-1].replace("png", "jpeg"), seen, figures, viewer)
            finally:
                viewer.shutdown()
    report("viewer", rows, f"{source.name} at {size[0]} × {size[1]}, {drags} drags of {seconds:g} s", given)


def volume_in(folder: Path, edge: int) -> Path:
    """A scan where it is at hand and large enough, else the product's own sample."""
    bonsai = SHARED / "volumes" / "bonsai.nrrd"
    if edge == 256 and bonsai.exists():
        return bonsai
    path = folder / f"sample-{edge}.npy"
    np.save(path, enlarged(sample(256), edge // 256))
    return path


def watched(viewer: Viewer, size: tuple[int, int], encodings: list[str], drags: Drags) -> Seen:
    """Drag so often, and note what comes."""
    seen = Seen()
    with open_page(viewer, size, encodings) as socket:
        camera = viewer.camera
        until_exact(socket, [])
        for _ in range(drags.count):
            camera = drag(socket, camera, drags, seen)
    return seen


def drag(socket: ClientConnection, camera: Camera, drags: Drags, seen: Seen) -> Camera:
    rate, seconds = drags.rate, drags.seconds
    cameras = [camera.turned(90.0 * step / rate) for step in range(1, round(rate * seconds) + 1)]
    frames: list[tuple[float, dict[str, Any]]] = []
    started = time.time()
    hand = threading.Thread(target=move, args=(socket, cameras, started, rate))
    hand.start()
    until_exact(socket, frames, last=cameras[-1])
    hand.join()
    stopped = started + (len(cameras) - 1) / rate
    moving = [(at, header) for at, header in frames if not header["is_exact"] and at <= stopped]
    seen.frames.append(len(moving))
    seen.seconds.append(seconds)
    seen.first_ms.append((frames[0][0] - started) * 1000)
    seen.encoded_ms += [sum(header["times_ms"].values()) for _, header in moving]
    seen.latency_ms += [at * 1000 - header["input_sent_at_ms"] for at, header in moving]
    seen.shares += [share_of(header) for _, header in moving]
    seen.exact_s.append(frames[-1][0] - stopped)
    return cameras[-1]


def share_of(header: dict[str, Any]) -> float:
    return float(header["width"] * header["height"] / (header["full_width"] * header["full_height"]))


def move(socket: ClientConnection, cameras: list[Camera], started: float, rate: float) -> None:
    """A hand: so many cameras a second, the last one at rest."""
    for number, camera in enumerate(cameras):
        time.sleep(max(0.0, started + number / rate - time.time()))
        is_moving = number < len(cameras) - 1
        look = {
            "type": "set_camera",
            "camera": asdict(camera),
            "is_moving": is_moving,
            "sent_at_ms": time.time() * 1000,
        }
        socket.send(json.dumps(look))


def until_exact(
    socket: ClientConnection, frames: list[tuple[float, dict[str, Any]]], last: Camera | None = None
) -> None:
    """Take and acknowledge frames until the exact one, from a camera if that is given."""
    while True:
        message = socket.recv(timeout=TIMEOUT_S)
        if isinstance(message, str):
            continue
        header = json.loads(message[4 : 4 + int.from_bytes(message[:4], "little")])
        frames.append((time.time(), header))
        socket.send(json.dumps({"type": "acknowledge", "number": header["number"]}))
        if header["is_exact"] and (last is None or from_json(Camera, header["camera"], "camera") == last):
            return


def rows_of(encoding: str, seen: Seen, figures: Figures, viewer: Viewer) -> list[Row]:
    rate = sum(seen.frames) / sum(seen.seconds)
    rows = [
        faster(f"{encoding}: frames while dragging", "1/s", rate, TARGET, figures.frames_per_second),
        _p95(f"{encoding}: first image of a drag", seen.first_ms, figures.first_ms),
        _p95(f"{encoding}: from input to encoded frame", seen.encoded_ms, figures.encoded_ms),
        Row(f"{encoding}: from input to frame at the client", "p95", "ms", p95(seen.latency_ms), "-", None, None),
        shorter(f"{encoding}: exact image after rest", "s", max(seen.exact_s), TARGET, figures.exact_s, "longest"),
    ]
    stages = Connection(viewer.url).ask("GET", "/api/statistics")["stages"]
    for stage in ("input", "render", "encode", "wire"):
        times = stages[stage]
        rows.append(Row(f"{encoding}: {stage}", "median", "ms", times["median"], "-", None, None))
        rows.append(Row(f"{encoding}: {stage}", "p95", "ms", times["p95"], "-", None, None))
    return rows


def p95(times_ms: list[float]) -> float:
    return float(np.percentile(times_ms, 95))


def _p95(case: str, times_ms: list[float], target_ms: float) -> Row:
    return shorter(case, "ms", p95(times_ms), TARGET, target_ms, "p95")


if __name__ == "__main__":
    main()
