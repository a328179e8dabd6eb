"""How fast does a running scan get onto the screen, slice by slice, while its image keeps up?

    python -m benchmarks.stream [--quick] [--json FILE]

A viewer is started, and a page watches it at 1280 × 720. The same 2048 slices of 1024² uint16 (quick: 256) are sent at
once and as a stream, in turns; both count until all of it is there and shown. An image counts when it is another one.
The camera stays still: what is drawn while slices come is drawn because they came.
"""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from unittest import mock

import numpy as np
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

from benchmarks.page_connection import open_page
from benchmarks.table import TARGET, Row, faster, interleave, options, report
from pellucid import progress
from pellucid.client.launch import start
from pellucid.client.viewer import Viewer
from pellucid.formats.protocol import Voxels
from pellucid.transport import client
from pellucid.transport.lanes.lane import machine
from pellucid.volume.sample_volume import sample

SLICES, QUICK_SLICES, EDGE = 2048, 256, 1024
REPEATS = 3
SHARE = 0.8
IMAGES_PER_SECOND = 1.0
SIZE = (1280, 720)


@dataclass
class Seen:
    """What a page sees. arrived: when, in seconds."""

    arrived: list[float] = field(default_factory=list)


def main() -> None:
    given = options("A running scan on the screen.")
    scan = scan_of(QUICK_SLICES if given.is_quick else SLICES)
    rows: list[Row] = []
    with progress.use(progress.Silent()), start() as viewer, watching(viewer) as seen:
        for lane in ("shm", "tcp"):
            rows += measured(viewer, scan, lane, seen)
    size = f"{len(scan)} slices of {EDGE}² uint16 ({scan.nbytes / 2**30:g} GiB), a page of {SIZE[0]} × {SIZE[1]}"
    report("stream", rows, f"{size}, median of {REPEATS}, taking turns", given)


def scan_of(count: int) -> Voxels:
    """A sample, repeated until it is so large."""
    part = sample(256)
    times = EDGE // len(part)
    return np.tile(part, (-(-count // len(part)), times, times))[:count]


def measured(viewer: Viewer, scan: Voxels, lane: str, seen: Seen) -> list[Row]:
    spans: list[tuple[float, float]] = []

    def at_once() -> None:
        viewer.render_volume(scan)

    def streamed() -> None:
        began = time.perf_counter()
        with viewer.stream(scan.shape, scan.dtype) as writer:
            for one in scan:
                writer.append(one)
        spans.append((began, time.perf_counter()))

    # Over TCP it is as if the program ran elsewhere.
    with mock.patch.object(client, "machine", machine if lane == "shm" else lambda: ""):
        seconds = interleave({"at once": at_once, "streamed": streamed}, REPEATS)
    rates = {name: scan.nbytes / 1e9 / taken for name, taken in seconds.items()}
    images = sum(began < at < ended for at in seen.arrived for began, ended in spans)
    per_second = images / sum(ended - began for began, ended in spans)
    case = f"stream, {lane}, until it is shown"
    return [
        faster(case, "GB/s", rates["streamed"], f"{SHARE} × at once", SHARE * rates["at once"]),
        faster(case, "images/s", per_second, TARGET, IMAGES_PER_SECOND),
    ]


@contextmanager
def watching(viewer: Viewer) -> Iterator[Seen]:
    seen = Seen()
    with open_page(viewer, SIZE, ["jpeg"]) as socket:
        eyes = threading.Thread(target=_watch, args=(socket, seen), daemon=True)
        eyes.start()
        yield seen
    eyes.join()


def _watch(socket: ClientConnection, seen: Seen) -> None:
    """Take and acknowledge frames until the end."""
    last = b""
    try:
        for message in socket:
            if isinstance(message, bytes):
                length = int.from_bytes(message[:4], "little")
                header, image = json.loads(message[4 : 4 + length]), message[4 + length :]
                socket.send(json.dumps({"type": "acknowledge", "number": header["number"]}))
                if image != last:
                    seen.arrived.append(time.perf_counter())
                last = image
    except ConnectionClosed:
        return


if __name__ == "__main__":
    main()
