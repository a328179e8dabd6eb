"""EGL's devices, and which of them is a GPU that CUDA numbers.

Here: cuda_device_index.
Not here: contexts (context).
"""

import ctypes

LOADERS = ("libEGL.so.1", "libEGL.so")
MAX_DEVICES = 64
EGL_CUDA_DEVICE_NV = 0x323A


def cuda_device_index(number: int) -> int | None:
    """The position of a GPU among EGL's devices; None where EGL cannot tell, and where the first one is taken."""
    library = _loader()
    if library is None:
        return None
    query = _extension(library, b"eglQueryDevicesEXT", ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    attribute = _extension(library, b"eglQueryDeviceAttribEXT", ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
    if query is None or attribute is None:
        return None
    devices, count = (ctypes.c_void_p * MAX_DEVICES)(), ctypes.c_int()
    if not query(MAX_DEVICES, devices, ctypes.byref(count)):
        return None
    for index in range(count.value):
        found = ctypes.c_ssize_t(-1)
        if attribute(devices[index], EGL_CUDA_DEVICE_NV, ctypes.byref(found)) and found.value == number:
            return index
    return None


def _loader() -> ctypes.CDLL | None:
    for name in LOADERS:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def _extension(library: ctypes.CDLL, name: bytes, *arguments: type) -> "ctypes._FuncPointer | None":
    library.eglGetProcAddress.restype = ctypes.c_void_p
    library.eglGetProcAddress.argtypes = (ctypes.c_char_p,)
    address = library.eglGetProcAddress(name)
    return ctypes.CFUNCTYPE(ctypes.c_uint, *arguments)(address) if address else None
