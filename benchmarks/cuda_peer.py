"""A ray caster as one writes it by hand for one texture: the peer of benchmarks.render_cuda.

Here: the kernel, in CUDA C++ through CuPy, and a frame of it in host memory.
Not here: ours.

It takes the samples that ours takes, with the same table, camera and early termination, and skips nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from pellucid.formats.protocol import Voxels
from pellucid.rendering.scene import Scene

BLOCK = 8

SOURCE = r"""
__device__ float3 add(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
__device__ float3 times(float3 a, float f) { return make_float3(a.x * f, a.y * f, a.z * f); }

extern "C" __global__ void cast(unsigned long long volume, const float4* table, int rows, float scale, float offset,
                                const float3* camera, int nx, int ny, int nz, float step, uchar4* image, int size) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= size || y >= size) return;
    float3 d = add(add(camera[1], times(camera[2], x)), times(camera[3], y));
    d = times(d, rsqrtf(d.x * d.x + d.y * d.y + d.z * d.z));
    const float3 o = camera[0];
    const float ax = (-0.5f - o.x) / d.x, bx = (nx - 0.5f - o.x) / d.x;
    const float ay = (-0.5f - o.y) / d.y, by = (ny - 0.5f - o.y) / d.y;
    const float az = (-0.5f - o.z) / d.z, bz = (nz - 0.5f - o.z) / d.z;
    const float near = fmaxf(fmaxf(fminf(ax, bx), fminf(ay, by)), fmaxf(fminf(az, bz), 0.0f));
    const float far = fminf(fminf(fmaxf(ax, bx), fmaxf(ay, by)), fmaxf(az, bz));
    float r = 0.0f, g = 0.0f, b = 0.0f, a = 0.0f;
    if (far > near) {
        const int last = (int)floorf(far / step - 0.5f);
        for (int k = (int)ceilf(near / step - 0.5f); k <= last && a < 0.996f; ++k) {
            const float t = (k + 0.5f) * step;
            const float value = tex3D<float>(volume, o.x + d.x * t + 0.5f, o.y + d.y * t + 0.5f, o.z + d.z * t + 0.5f);
            const float place = fminf(fmaxf(value * scale + offset, 0.0f), rows - 1.0f);
            const float4 entry = __ldg(table + (int)place);
            const float weight = (1.0f - a) * entry.w;
            r += entry.x * weight; g += entry.y * weight; b += entry.z * weight; a += weight;
        }
    }
    const float whole = 255.0f / fmaxf(a, 1e-6f);
    image[y * size + x] = make_uchar4(fminf(r * whole, 255.0f) + 0.5f, fminf(g * whole, 255.0f) + 0.5f,
                                         fminf(b * whole, 255.0f) + 0.5f, a * 255.0f + 0.5f);
}
"""


@dataclass(frozen=True)
class Peer:
    """draw: an image on the device; frame: the same, and its way to host memory, (size, size, 4)."""

    draw: Callable[[], None]
    frame: Callable[[], Voxels]


def peer(texture: int, kind: str, shape: tuple[int, int, int], scene: Scene, size: int) -> Peer:
    """For a scene of one volume, spacing 1."""
    cupy: Any = import_module("cupy")
    cupyx: Any = import_module("cupyx")

    kernel = cupy.RawModule(code=SOURCE, options=("--use_fast_math",)).get_function("cast")
    transfer = scene.volumes[0].transfer
    table = cupy.asarray(transfer.table(scene.step))
    low, high = transfer.value_range
    rows = len(table)
    per_value = (rows - 1) / (high - low)
    scale = {"uint8": 255.0, "uint16": 65535.0}.get(kind, 1.0) * per_value
    depth, height, width = map(np.int32, shape)
    camera = cupy.asarray(_camera(scene, size), cupy.float32)
    image = cupy.empty((size, size, 4), cupy.uint8)
    on_host = cupyx.empty_pinned((size, size, 4), np.uint8)
    blocks = (-(-size // BLOCK),) * 2
    values = (np.uint64(texture), table, np.int32(rows), np.float32(scale), np.float32(0.5 - low * per_value))
    arguments = (*values, camera, width, height, depth, np.float32(scene.step), image, np.int32(size))

    def draw() -> None:
        kernel(blocks, (BLOCK, BLOCK), arguments)
        cupy.cuda.get_current_stream().synchronize()

    def frame() -> Voxels:
        kernel(blocks, (BLOCK, BLOCK), arguments)
        image.get(out=on_host)
        return on_host  # type: ignore[no-any-return]

    return Peer(draw, frame)


def _camera(scene: Scene, size: int) -> list[Any]:
    """The eye, the ray of the first pixel, and the way to the next across and down."""
    camera = scene.camera
    right, up, forward = camera.axes()
    pixel = camera.visible_height / size
    across, down = right * pixel, -up * pixel
    corner = forward * camera.distance + (across + down) * (0.5 - size / 2)
    return [*camera.position, *corner, *across, *down]
