"""Pellucid: volumetric scans from the detector to an image.

>>> import pellucid
>>> pellucid.Box((0, 0, 0), (2, 3, 4)).size
24

Importing this loads nothing heavy: each name comes from its home when it is first used.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pellucid.box import Box as Box
    from pellucid.client.async_viewer import connect_async as connect_async
    from pellucid.client.async_viewer import start_async as start_async
    from pellucid.client.launch import connect as connect
    from pellucid.client.launch import instances as instances
    from pellucid.client.launch import start as start
    from pellucid.client.login import login as login
    from pellucid.client.login import logout as logout
    from pellucid.client.viewer import Viewer as Viewer
    from pellucid.conversion.convert import convert as convert
    from pellucid.conversion.convert import pyramid as pyramid
    from pellucid.formats.hdf5.parallel.shared_io import read_shared as read_shared
    from pellucid.formats.hdf5.parallel.shared_io import write_parallel as write_parallel
    from pellucid.rendering.camera import Camera as Camera
    from pellucid.rendering.first_view.volumes import automatic_scene as automatic_scene
    from pellucid.rendering.renderer import render as render
    from pellucid.rendering.renderer import render_progressive as render_progressive
    from pellucid.rendering.scene import Scene as Scene
    from pellucid.rendering.transfer import TransferFunction as TransferFunction
    from pellucid.tomo.pipeline.reconstruct import reconstruct as reconstruct
    from pellucid.volume.blocks import Block as Block
    from pellucid.volume.blocks import split as split
    from pellucid.volume.blocks import stitch as stitch
    from pellucid.volume.series import Series as Series
    from pellucid.volume.series import open_series as open_series
    from pellucid.volume.volume import Volume as Volume
    from pellucid.volume.volume import open_volume as open

__version__ = "0.1.0"

__all__ = [
    "Block", "Box", "Camera", "Scene", "Series", "TransferFunction", "Viewer", "Volume", "automatic_scene", "connect",
    "connect_async", "convert", "instances", "login", "logout", "open", "open_series", "pyramid", "read_shared",
    "reconstruct", "render", "render_progressive", "split", "start", "start_async", "stitch", "write_parallel",
]  # fmt: skip

HOMES = {
    "automatic_scene": "pellucid.rendering.first_view.volumes:automatic_scene",
    "Block": "pellucid.volume.blocks:Block",
    "Box": "pellucid.box:Box",
    "Camera": "pellucid.rendering.camera:Camera",
    "Scene": "pellucid.rendering.scene:Scene",
    "Series": "pellucid.volume.series:Series",
    "TransferFunction": "pellucid.rendering.transfer:TransferFunction",
    "Volume": "pellucid.volume.volume:Volume",
    "Viewer": "pellucid.client.viewer:Viewer",
    "connect": "pellucid.client.launch:connect",
    "connect_async": "pellucid.client.async_viewer:connect_async",
    "convert": "pellucid.conversion.convert:convert",
    "instances": "pellucid.client.launch:instances",
    "login": "pellucid.client.login:login",
    "logout": "pellucid.client.login:logout",
    "start": "pellucid.client.launch:start",
    "start_async": "pellucid.client.async_viewer:start_async",
    "open": "pellucid.volume.volume:open_volume",
    "open_series": "pellucid.volume.series:open_series",
    "pyramid": "pellucid.conversion.convert:pyramid",
    "render": "pellucid.rendering.renderer:render",
    "render_progressive": "pellucid.rendering.renderer:render_progressive",
    "reconstruct": "pellucid.tomo.pipeline.reconstruct:reconstruct",
    "read_shared": "pellucid.formats.hdf5.parallel.shared_io:read_shared",
    "split": "pellucid.volume.blocks:split",
    "stitch": "pellucid.volume.blocks:stitch",
    "write_parallel": "pellucid.formats.hdf5.parallel.shared_io:write_parallel",
}


def __getattr__(name: str) -> object:
    if name not in HOMES:
        raise AttributeError(f"pellucid has no {name!r}; it has {', '.join(HOMES)}")
    module, _, attribute = HOMES[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
