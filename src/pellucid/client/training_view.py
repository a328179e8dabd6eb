"""The training of a neural field in a viewer: its preview beside the volume, and its grids as boxes that move.

Here: TrainingView.
Not here: taking snapshots (neural.training_watch), the command (cli).
"""

from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import numpy as np

from pellucid.box import Shape
from pellucid.client.viewer import Viewer
from pellucid.errors import PellucidError
from pellucid.formats.protocol import Voxels
from pellucid.volume.volume import Volume


class Snapshot(Protocol):
    """What is shown of a training: a TrainingSnapshot."""

    @property
    def name(self) -> str: ...
    @property
    def step(self) -> int: ...
    @property
    def psnr(self) -> float: ...
    @property
    def start(self) -> Shape: ...
    @property
    def values(self) -> Voxels: ...
    @property
    def grids(self) -> tuple[tuple[tuple[float, float, float], ...], ...]: ...


class TrainingView:
    """Shows a training while it goes on; a viewer that is closed meanwhile does not stop it. shape: of the preview."""

    def __init__(self, viewer: Viewer, volume: Volume, shape: Shape) -> None:
        self._viewer, self._opened, self._is_gone = viewer, ExitStack(), False
        viewer.load(str(volume.location))
        transfer = viewer.transfer
        viewer.compare()
        axes = zip(volume.spacing, volume.shape, shape, strict=True)
        z, y, x = (d * (n - 1) / max(k - 1, 1) or d for d, n, k in axes)
        self._stream = self._opened.enter_context(
            viewer.stream(shape, np.float32, (z, y, x), unit=volume.unit, name="neural field in training")
        )
        self._transfer, self._is_first = transfer, True

    def show(self, snapshot: Snapshot) -> None:
        """The preview, and where the grids are."""
        if self._is_gone:
            return
        try:
            self._stream.write(np.ascontiguousarray(snapshot.values), snapshot.start)
            if self._is_first:  # Colours as beside it, for a comparison.
                self._viewer.transfer, self._is_first = self._transfer, False
            facts = {"name": snapshot.name, "step": snapshot.step, "psnr": snapshot.psnr, "grids": snapshot.grids}
            self._viewer.show_training(facts)
        except (PellucidError, OSError):
            self._is_gone = True

    def finish(self, output: Path) -> None:
        """Show the field as it is stored."""
        with suppress(PellucidError, OSError):
            self._viewer.show_training(None)
            self._opened.close()
            self._viewer.load(str(output))
            self._viewer.transfer = self._transfer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with suppress(PellucidError, OSError):
            self._viewer.show_training(None)
            self._opened.close()
