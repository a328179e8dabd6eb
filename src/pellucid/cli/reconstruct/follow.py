"""``pellucid reconstruct --follow``: three slices of a scan that is still being written, in a viewer.

Here: the slices as planes of a streamed volume, and as an image beside the output.
Not here: making them (tomo.pipeline.live), arguments (reconstruct).
"""

import time
from contextlib import ExitStack
from dataclasses import replace
from math import ceil
from pathlib import Path

import numpy as np

from pellucid import progress
from pellucid.box import Shape
from pellucid.cli.replaced_files import save_marked_image
from pellucid.client.viewer import Viewer
from pellucid.errors import ViewerUnreachable
from pellucid.formats.protocol import Voxels
from pellucid.rendering.scene import SliceLayer
from pellucid.rendering.transfer import TransferFunction
from pellucid.tomo.pipeline.live import FollowOptions, OrthogonalSlices, follow
from pellucid.transport.streams import StreamWriter
from pellucid.volume.slice_sheet import grey_levels, grey_window

MAX_EDGE = 256
"""Voxels along an edge in the viewer; the image beside the output has all."""

TIMEOUT_S = 30.0
GAP = 8


def follow_scan(what: FollowOptions, viewer: Viewer, image: Path | None) -> int:
    """Show the slices until the scan ends; the exit code."""
    shown: _SliceStream | None = None
    with ExitStack() as stack:
        for cross in follow(what):
            if shown is None:
                shown = stack.enter_context(_SliceStream(viewer, cross, Path(what.source).name))
            shown.show(cross)
            if image is not None:
                _save(cross, image)
            progress.note(f"{cross.views} views, axis at column {cross.axis:.2f}")
    if shown is None:
        progress.note("No projections received yet.")
    return 0 if shown else 1


class _SliceStream(ExitStack):
    """A streamed volume of which only three planes are filled, drawn as slices."""

    def __init__(self, viewer: Viewer, cross: OrthogonalSlices, name: str) -> None:
        super().__init__()
        shape, pixel_um = cross.shape, cross.pixel_size_um
        self._viewer, self._step, self._middle = viewer, ceil(max(shape) / MAX_EDGE), tuple(n // 2 for n in shape)
        self._edge = (pixel_um or 1.0) * self._step
        rows, height, width = (ceil(length / self._step) for length in shape)
        unit, spacing = "um" if pixel_um else "", (self._edge,) * 3
        opened = viewer.stream((rows, height, width), np.float32, spacing, unit=unit, name=name)
        self._stream: StreamWriter = self.enter_context(opened)
        self._has_slices = False

    def show(self, cross: OrthogonalSlices) -> None:
        z, y, x = (at // self._step for at in self._middle)
        xy, xz, yz = (image[:: self._step, :: self._step] for image in (cross.xy, cross.xz, cross.yz))
        for block, start in ((xy[None], (z, 0, 0)), (xz[:, None], (0, y, 0)), (yz[:, :, None], (0, 0, x))):
            self._stream.write(np.ascontiguousarray(block), start)
        low, high = grey_window(np.concatenate([xy.ravel(), xz.ravel(), yz.ravel()]))
        transfer = TransferFunction(value_range=(low, high))
        if self._has_slices:
            for number in range(3):
                self._viewer.change("slices", number, "transfer", value=transfer)
        else:
            self._cut((x, y, z), transfer)

    def _cut(self, places: Shape, transfer: TransferFunction) -> None:
        """Slices in the place of the volume, once it is in the scene."""
        until = time.monotonic() + TIMEOUT_S
        while not (volumes := self._viewer.scene.volumes):
            if time.monotonic() > until:
                raise ViewerUnreachable(self._viewer.address, "it does not show what is streamed to it")
            time.sleep(0.05)
        source = volumes[0].source
        x, y, z = ((place + 0.5) * self._edge for place in places)
        slices = (
            SliceLayer.across(source, "x", x, transfer=transfer),
            SliceLayer.across(source, "y", y, transfer=transfer),
            SliceLayer.across(source, "z", z, transfer=transfer),
        )
        hidden = tuple(replace(layer, is_visible=False) for layer in volumes)
        self._viewer.scene = replace(self._viewer.scene, slices=slices, volumes=hidden)
        self._has_slices = True


def _save(cross: OrthogonalSlices, path: Path) -> None:
    """The three slices below one another, pixel by pixel."""
    from PIL import Image

    images = (cross.xy, cross.xz, cross.yz)
    low, high = grey_window(np.concatenate([image.ravel() for image in images]))
    gap: Voxels = np.zeros((GAP, cross.xy.shape[1]), np.float32) + low
    stacked = np.concatenate([cross.xy, gap, cross.xz, gap, cross.yz])
    save_marked_image(Image.fromarray(grey_levels(stacked, low, high)), path)
