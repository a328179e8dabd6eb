"""fV-SRN and NGP with their published settings on a GPU: PyTorch's step as a CUDA graph, and a kernel for hash grids.

Here: GraphTrainer, HashKernels.
Not here: the networks (pellucid.neural.models), AMGSRN, which has a fused step (pellucid.neural.cuda_training).
"""

import math
import time
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import grid_sample

from pellucid.neural.network import FieldNetwork, HashGrid
from pellucid.neural.samples import VolumeSamples
from pellucid.neural.training import BETAS, Training

STEPS, BATCH, RATE = 50_000, 100_000, 0.01
MILESTONES, FALL = (0.4, 0.6, 0.8), 0.33
"""After these parts of all steps, the rate falls to this part."""
EPSILON = 1e-8
WATCHED = 250
"""Steps after which the time is looked at."""
SOURCE = r"""
struct Level { int cells, side; unsigned rows, first; };
struct Corner { int x, y, z; float a, b, c; };

__device__ float split(float position, int cells, int& cell) {
  position = fminf(fmaxf((position + 1.f)*(0.5f*cells), 0.f), (float)cells);
  cell = min((int)position, cells - 1);
  return position - cell;
}

__device__ unsigned corner_of(const Level& level, const Corner& at, int corner, float& weight) {
  int i = corner & 1, j = corner >> 1 & 1, k = corner >> 2;
  unsigned x = at.x + i, y = at.y + j, z = at.z + k;
  weight = (i ? at.a : 1.f - at.a)*(j ? at.b : 1.f - at.b)*(k ? at.c : 1.f - at.c);
  long long nodes = (long long)level.side*level.side*level.side;
  unsigned dense = x + (y + z*level.side)*level.side, hashed = (x ^ y*2654435761u ^ z*805459861u) % level.rows;
  return level.first + (nodes <= level.rows ? dense : hashed);
}

__device__ Corner locate(const float* points, int i, const Level& level) {
  Corner at;
  at.a = split(points[3*i], level.cells, at.x);
  at.b = split(points[3*i + 1], level.cells, at.y);
  at.c = split(points[3*i + 2], level.cells, at.z);
  return at;
}

extern "C" __global__ void encode(
    const float* points, const float2* table, const Level* levels, float2* out, int count) {
  int i = blockIdx.x*blockDim.x + threadIdx.x; if (i >= count) return;
  const Level level = levels[blockIdx.y];
  Corner at = locate(points, i, level);
  float2 sum = make_float2(0.f, 0.f);
  for (int corner = 0; corner < 8; ++corner) {
    float weight; float2 row = table[corner_of(level, at, corner, weight)];
    sum.x += weight*row.x; sum.y += weight*row.y;
  }
  out[(long long)i*gridDim.y + blockIdx.y] = sum;
}

extern "C" __global__ void spread(
    const float* points, const float2* gradient, const Level* levels, float* table, int count) {
  int i = blockIdx.x*blockDim.x + threadIdx.x; if (i >= count) return;
  const Level level = levels[blockIdx.y];
  Corner at = locate(points, i, level);
  float2 own = gradient[(long long)i*gridDim.y + blockIdx.y];
  for (int corner = 0; corner < 8; ++corner) {
    float weight; unsigned row = corner_of(level, at, corner, weight);
    asm volatile("red.relaxed.gpu.global.add.v2.f32 [%0], {%1,%2};"
      :: "l"(table + 2*row), "f"(weight*own.x), "f"(weight*own.y) : "memory");
  }
}
"""


class HashKernels(HashGrid):
    """A hash grid whose rows are looked up by one kernel for all levels, and so are its gradients."""

    def __init__(self, grid: HashGrid) -> None:
        super().__init__(grid.resolutions, 1)
        self.tables = grid.tables
        lengths = [len(table) for table in grid.tables]
        rows = [(cells, cells + 1, length) for cells, length in zip(grid.resolutions, lengths, strict=True)]
        firsts = np.cumsum([0, *lengths[:-1]])
        levels = torch.tensor([(*row, int(first)) for row, first in zip(rows, firsts, strict=True)], dtype=torch.int32)
        self.register_buffer("levels", levels.to(grid.tables[0].device))

    def forward(self, points: Tensor) -> Tensor:
        return _Encoding.apply(points.contiguous(), torch.cat(list(self.tables)), self.levels)


class _Encoding(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(context: Any, points: Tensor, table: Tensor, levels: Tensor) -> Tensor:
        context.save_for_backward(points, levels)
        context.rows = len(table)
        out = torch.empty(len(points), 2 * len(levels), device=points.device)
        _launch("encode", points, table, levels, out)
        return out

    @staticmethod
    def backward(context: Any, *gradients: Tensor) -> tuple[None, Tensor, None]:
        points, levels = context.saved_tensors
        table = torch.zeros(context.rows, 2, device=points.device)
        _launch("spread", points, gradients[0].contiguous(), levels, table)
        return None, table, None


_compiled: dict[str, Any] = {}


def _launch(name: str, points: Tensor, given: Tensor, levels: Tensor, out: Tensor) -> None:
    import cupy

    if not _compiled:
        module = cupy.RawModule(code=SOURCE, options=("--std=c++17",))
        _compiled.update({one: module.get_function(one) for one in ("encode", "spread")})
    pointers = [np.uintp(one.data_ptr()) for one in (points, given, levels, out)]
    with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
        blocks = (-(-len(points) // 256), len(levels))
        _compiled[name](blocks, (256,), (*pointers, np.int32(len(points))))


class GraphTrainer:
    """Trains a network in place, with any positions as its points."""

    def __init__(self, network: FieldNetwork, samples: VolumeSamples, batch: int = BATCH) -> None:
        self._network = network
        if network.hash_grid is not None:
            network.hash_grid = HashKernels(network.hash_grid)
        device, (low, high) = samples.voxels.device, samples.value_range
        self._voxels = ((samples.voxels.float() - low) / ((high - low) or 1.0))[None, None]
        self._points = torch.zeros(batch, 3, device=device)
        self._random = torch.Generator(device).manual_seed(42)
        self._rate = torch.tensor(RATE, device=device)
        self._sum = torch.zeros((), device=device)
        transforms = {id(group.transforms) for group in network.grid_groups()}
        self._parameters = [one for one in network.parameters() if id(one) not in transforms]
        self._optimiser = torch.optim.Adam(self._parameters, self._rate, BETAS, EPSILON, capturable=True)
        torch.backends.cuda.matmul.allow_tf32 = True  # As published.
        self._graph = self._recorded()

    def train(self, steps: int = STEPS, seconds: float = math.inf) -> Training:
        result, start = Training(), time.monotonic()
        for step in range(steps):
            if step in {int(part * steps) for part in MILESTONES}:
                self._rate.mul_(FALL)
            self._draw()
            self._graph.replay()
            result.steps = step + 1
            if result.steps % WATCHED == 0:
                result.losses.append(float(self._sum) / WATCHED)
                self._sum.zero_()
                if time.monotonic() - start > seconds:
                    break
        torch.cuda.synchronize()
        result.seconds = time.monotonic() - start
        return result

    def _draw(self) -> None:
        self._points.uniform_(-1, 1, generator=self._random)

    def _recorded(self) -> torch.cuda.CUDAGraph:
        """The graph of a step. Steps before, which warm libraries up, are undone."""
        before = [one.detach().clone() for one in self._parameters]
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self._draw()
                self._step()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        self._optimiser.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            self._step()
        with torch.no_grad():
            for parameter, value in zip(self._parameters, before, strict=True):
                parameter.copy_(value)
            for moments in self._optimiser.state.values():
                for moment in moments.values():
                    moment.zero_()
            self._sum.zero_()
        return graph

    def _step(self) -> None:
        places = self._points[None, None, None]
        truth = grid_sample(self._voxels, places, align_corners=True).reshape(-1)
        loss = (self._network(self._points) - truth).square().mean()
        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self._optimiser.step()
        self._sum += loss.detach()
