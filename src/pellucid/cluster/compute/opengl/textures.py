"""Blocks as textures, and images as blocks.

Here: GlTransfer: copies between a block and OpenGL, on the GPU where its driver shares buffers; BlockTextures.
Not here: the context (context), drawing (drawing).
"""

import logging
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.cluster.compute.registry import BlockView
from pellucid.device import Device, runtime
from pellucid.errors import InvalidInput
from pellucid.formats.protocol import Voxels

if TYPE_CHECKING:
    from moderngl import Context, Framebuffer, Texture3D

LOG = logging.getLogger(__name__)
MAX_TEXTURES = 64
KINDS = {"u1": ("f1", 255.0), "u2": ("nu2", 65535.0), "f4": ("f4", 1.0)}
"""By the type of the voxels: that of the texture, and the value that its 1.0 stands for. Others become float32."""
SHARED, COPIED = "shared", "copied"


class GlTransfer:
    """path: "shared" or "copied"."""

    def __init__(self, context: "Context", device: Device) -> None:
        self._context, self._device = context, device
        self.path = SHARED if device.is_cuda and self._can_share() else COPIED

    def to_texture(self, voxels: Any, texture: "Texture3D") -> None:
        """voxels: an array of the texture's size, of NumPy or of Warp."""
        if self.path == COPIED or isinstance(voxels, np.ndarray):
            texture.write(np.ascontiguousarray(on_host(voxels)).data.cast("B"))
            return
        warp = runtime.start()
        source = voxels.contiguous().flatten()
        buffer = self._context.buffer(reserve=source.size * np.dtype(warp.dtype_to_numpy(source.dtype)).itemsize)
        with runtime.LOCK:
            shared = self._registered(buffer, warp.RegisteredGLBuffer.WRITE_DISCARD)
            warp.copy(shared.map(source.dtype, source.shape), source)
            shared.unmap()
            del shared
        texture.write(buffer)
        buffer.release()

    def to_block(self, parts: "list[tuple[Framebuffer, int, int]]", output: BlockView) -> None:
        """parts: of a framebuffer, the number of an attachment and of its components; the output has all of them, in
        this order, along its last axis. The first row of the output is the last one of the framebuffer."""
        rows, width, _ = output.shape
        first = 0
        for frame, attachment, components in parts:
            raw = frame.read(components=components, attachment=attachment, dtype="f4", alignment=1)
            image = np.frombuffer(raw, np.float32).reshape(rows, width, components)[::-1]
            self._write(output, first, components, image)
            first += components

    def _write(self, output: BlockView, first: int, components: int, image: Voxels) -> None:
        core = output.core
        if isinstance(core, np.ndarray):
            core[..., first : first + components] = image
            return
        warp = runtime.start()
        with runtime.LOCK:
            target = core[:, :, first : first + components]
            warp.copy(target, warp.array(np.ascontiguousarray(image), dtype=warp.float32, device=self._device.name))

    def _registered(self, buffer: Any, flags: int) -> Any:
        warp = runtime.start()
        return warp.RegisteredGLBuffer(buffer.glo, self._device.name, flags, fallback_to_copy=False)

    def _can_share(self) -> bool:
        """Tried with a small buffer: what a driver allows, only it knows."""
        warp = runtime.start()
        buffer = self._context.buffer(reserve=64)
        try:
            with runtime.LOCK:
                shared = self._registered(buffer, warp.RegisteredGLBuffer.NONE)
                shared.map(warp.uint8, (64,))
                shared.unmap()
                del shared
        except Exception as error:  # noqa: BLE001  # Any refusal of the driver means that voxels go through the host.
            LOG.info("CUDA and OpenGL do not share buffers: %s", error)
            return False
        finally:
            buffer.release()
        return True


class BlockTextures:
    """By the keys of their blocks, those used last at the end. A block without a key is copied every time."""

    def __init__(self, context: "Context", transfer: GlTransfer) -> None:
        self._context, self._transfer = context, transfer
        self._known: OrderedDict[str, tuple[Texture3D, float]] = OrderedDict()

    def get(self, key: str, view: BlockView) -> "tuple[Texture3D, float]":
        """The texture with the block and its halo, and the value that its 1.0 stands for."""
        found = self._known.pop(key, None)
        if found is None or not key:
            if found is not None:
                found[0].release()
            found = self._made(view)
        self._known[key] = found
        while len(self._known) > MAX_TEXTURES:
            self._known.popitem(last=False)[1][0].release()
        return found

    def _made(self, view: BlockView) -> "tuple[Texture3D, float]":
        name = np.dtype(view.dtype).str[1:]
        voxels = view.outer if name in KINDS else on_host(view.outer).astype(np.float32)
        kind, scale = KINDS.get(name, KINDS["f4"])
        limit = self._context.info["GL_MAX_3D_TEXTURE_SIZE"]
        if max(voxels.shape) > limit:
            what = f"A block of {voxels.shape} voxels (z, y, x) is larger than a texture can be ({limit})."
            raise InvalidInput(what, remedy="Use smaller blocks.")
        texture = self._context.texture3d(tuple(voxels.shape[::-1]), 1, None, alignment=1, dtype=kind)
        texture.filter = (self._context.LINEAR, self._context.LINEAR)
        texture.repeat_x = texture.repeat_y = texture.repeat_z = False
        self._transfer.to_texture(voxels, texture)
        return texture, scale


def on_host(voxels: Any) -> Voxels:
    found: Voxels = voxels if isinstance(voxels, np.ndarray) else voxels.numpy()
    return found
