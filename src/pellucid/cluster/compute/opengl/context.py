"""OpenGL without a window, on the device of a Worker.

Here: open_context, through EGL: the driver of the GPU, or Mesa on a CPU; GlReport, what was found.
Not here: shaders (programs), which of EGL's devices is which GPU (egl_devices).
"""

import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pellucid.cluster.compute.opengl.egl_devices import LOADERS, cuda_device_index
from pellucid.device import Device
from pellucid.errors import InvalidInput, MissingPackage

if TYPE_CHECKING:
    from moderngl import Context

GL_LIBRARIES = ("libGL.so.1", "libOpenGL.so.0", "libGL.so")
MIN_VERSION = 330
INSTALL = "Install libegl1 and libgl1-mesa-dri, or the driver of the GPU with libglvnd."


@dataclass(frozen=True)
class GlReport:
    """renderer, version: as OpenGL states them. transfer: how voxels get into a texture, and images out of it: "shared"
    on a GPU whose CUDA and OpenGL share buffers, else "copied" through the host."""

    renderer: str
    version: str
    transfer: str

    @property
    def facts(self) -> dict[str, str]:
        return asdict(self)


def open_context(device: Device) -> "Context":
    """Of the thread that calls this."""
    try:
        import moderngl
    except ImportError as error:
        raise MissingPackage("moderngl", "opengl") from error
    options: dict[str, Any] = {"standalone": True, "backend": "egl", "require": MIN_VERSION}
    if device.is_cuda:
        number = cuda_device_index(int(device.name.partition(":")[2] or 0))
        options |= {} if number is None else {"device_index": number}
    else:
        os.environ.setdefault("EGL_PLATFORM", "surfaceless")
    faults = []
    for egl in LOADERS:
        for gl in GL_LIBRARIES:
            try:
                return moderngl.create_context(**options | {"libegl": egl, "libgl": gl})
            except Exception as error:  # noqa: BLE001  # What is wrong differs from library to library, and so does its class.
                faults.append(f"{egl}: {str(error).strip() or type(error).__name__}")
    raise InvalidInput(f"OpenGL does not start on {device.name} ({faults[0]}).", remedy=INSTALL)
