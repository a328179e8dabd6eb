"""From a scan to a volume.

Importing this loads nothing heavy: each name comes from its module when it is first used.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pellucid.tomo.correction.phase import Paganin as Paganin
    from pellucid.tomo.correction.rings import RingSettings as RingSettings
    from pellucid.tomo.pipeline.in_memory import reconstruct_array as reconstruct_array
    from pellucid.tomo.pipeline.live import FollowOptions as FollowOptions
    from pellucid.tomo.pipeline.live import follow as follow
    from pellucid.tomo.pipeline.preview import SlicePreview as SlicePreview
    from pellucid.tomo.pipeline.reconstruct import OutputOptions as OutputOptions
    from pellucid.tomo.pipeline.reconstruct import RunOptions as RunOptions
    from pellucid.tomo.pipeline.reconstruct import reconstruct as reconstruct
    from pellucid.tomo.recipe import Recipe as Recipe
    from pellucid.tomo.scan import Frames as Frames
    from pellucid.tomo.scan import Scan as Scan
    from pellucid.tomo.scan_files.assembly import ScanOptions as ScanOptions
    from pellucid.tomo.scan_files.registry import open_scan as open_scan
    from pellucid.tomo.simulation.detector import simulate as simulate

__all__ = [
    "FollowOptions",
    "Frames",
    "OutputOptions",
    "Paganin",
    "Recipe",
    "RingSettings",
    "RunOptions",
    "Scan",
    "ScanOptions",
    "SlicePreview",
    "follow",
    "open_scan",
    "reconstruct",
    "reconstruct_array",
    "simulate",
]  # fmt: skip

HOMES = {
    "FollowOptions": "pellucid.tomo.pipeline.live",
    "Frames": "pellucid.tomo.scan",
    "OutputOptions": "pellucid.tomo.pipeline.reconstruct",
    "Paganin": "pellucid.tomo.correction.phase",
    "Recipe": "pellucid.tomo.recipe",
    "RingSettings": "pellucid.tomo.correction.rings",
    "RunOptions": "pellucid.tomo.pipeline.reconstruct",
    "Scan": "pellucid.tomo.scan",
    "ScanOptions": "pellucid.tomo.scan_files.assembly",
    "SlicePreview": "pellucid.tomo.pipeline.preview",
    "follow": "pellucid.tomo.pipeline.live",
    "open_scan": "pellucid.tomo.scan_files.registry",
    "reconstruct": "pellucid.tomo.pipeline.reconstruct",
    "reconstruct_array": "pellucid.tomo.pipeline.in_memory",
    "simulate": "pellucid.tomo.simulation.detector",
}


def __getattr__(name: str) -> object:
    if name not in HOMES:
        raise AttributeError(f"pellucid.tomo has no {name!r}; it has {', '.join(HOMES)}")
    return getattr(importlib.import_module(HOMES[name]), name)
