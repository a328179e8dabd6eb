"""Slices in a viewer as they are made.

Here: stream_to_viewer: a viewer that runs or is started, and a stream into it.
Not here: making slices (tomo), streams (transport), viewers (client).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import cbrt, ceil, prod

import numpy as np

from pellucid import progress
from pellucid.box import Box, triple
from pellucid.cli.browser import has_browser, open_browser
from pellucid.client.launch import connect, start
from pellucid.client.viewer import Viewer
from pellucid.formats.protocol import Layout, Voxels

MAX_BYTES = 2**30
"""Of what is streamed: of a larger volume, every second voxel, or every third."""


def viewer_at(url: str, device: str | None = None) -> Viewer:
    """The viewer of an address; without one, a new one that stays when this command ends."""
    if url:
        return connect(url)
    viewer = start(device=device, keep=True)
    progress.note(f"Viewer: {viewer.url}")
    if has_browser():
        open_browser(viewer.url)
    return viewer


def stream_stride(layout: Layout) -> int:
    """Voxels to go on by, along every axis, for a stream that a viewer can hold."""
    size = prod(layout.levels[0].shape) * layout.dtype.itemsize
    return ceil(cbrt(size / MAX_BYTES))


@contextmanager
def stream_to_viewer(viewer: Viewer, layout: Layout, name: str) -> Iterator[Callable[[Box, Voxels], None]]:
    """Takes slabs, in any order, and shows them."""
    level, step = layout.levels[0], stream_stride(layout)
    shape = triple(-(-length // step) for length in level.shape)
    z, y, x = (step * edge for edge in level.spacing)
    with viewer.stream(shape, layout.dtype, (z, y, x), unit=layout.unit, name=name) as stream:

        def show(box: Box, voxels: Voxels) -> None:
            first = triple(-start % step for start in box.start)
            some = voxels[tuple(slice(start, None, step) for start in first)]
            begin = triple((start + by) // step for start, by in zip(box.start, first, strict=True))
            if some.size:
                stream.write(np.ascontiguousarray(some), begin)

        yield show
