"""A network of feature grids on a GPU, in the layout of the kernels.

Here: can_train_fused; CudaModel: parameters, their optimiser state, gradients and updates, and values of all voxels.
Not here: what a step does and when (cuda_training). The kernels are CUDA source beside this module.
"""

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pellucid.neural.network import FieldNetwork
from pellucid.neural.samples import VolumeSamples

HIDDEN = 64
MAX_GRIDS = 64
BLOCKS = 132 * 3
_VOXELS = {torch.uint8: "unsigned char", torch.int16: "short", torch.float32: "float"}
_GRID = np.dtype(
    [("transform", "f4", 12), ("nx", "i4"), ("ny", "i4"), ("nz", "i4"), ("cells", "i4"), ("cell", "i8"), ("node", "i8")]
)


def can_train_fused(network: object) -> bool:
    """Whether the network has the structure that the kernels are written for."""
    if not isinstance(network, FieldNetwork) or network.hash_grid or isinstance(network.frequencies, Tensor):
        return False
    shapes = [tuple(weights.shape) for weights in network.weights]
    is_small = [columns for _, columns in shapes] == [HIDDEN, HIDDEN, 1]
    return is_small and network.activation == "relu" and len(_halves(network)) <= MAX_GRIDS


def have_same_grids(saved: np.ndarray[Any, np.dtype[np.uint8]], grids: np.ndarray[Any, Any]) -> bool:
    """Whether grids as bytes differ in nothing but their transforms: kernels trust their sizes and places."""
    names = [name for name in _GRID.names or () if name != "transform"]
    return all(np.array_equal(saved.view(_GRID)[name], grids[name]) for name in names)


def _halves(network: FieldNetwork) -> list[tuple[int, int, int]]:
    """Grids of two features, as (group, grid, first feature); adaptive ones first."""
    found = [
        (number, grid, feature)
        for number, group in enumerate(network.grid_groups())
        for grid in range(group.features.shape[0])
        for feature in range(0, group.features.shape[1], 2)
    ]
    return sorted(found, key=lambda one: not network.grid_groups()[one[0]].is_adaptive)


class CudaModel:
    """Parameters of a network on a GPU. batch: points of a training step."""

    def __init__(self, network: FieldNetwork, samples: VolumeSamples, batch: int, *, at_voxels: bool) -> None:
        self._network, self._voxels = network, samples.voxels
        self._device = samples.voxels.device
        self._low, high = samples.value_range
        self._scale = 1.0 / ((high - self._low) or 1.0)
        self._stream = torch.cuda.Stream(self._device)
        self._halves = _halves(network)
        self._adaptive = sum(network.grid_groups()[group].is_adaptive for group, _, _ in self._halves)
        self._inputs = -(-2 * len(self._halves) // 16) * 16
        self._count = max(batch // 128, 1) * 128
        self._stream.wait_stream(torch.cuda.current_stream(self._device))  # The network may still be on its way.
        with torch.cuda.stream(self._stream):
            self._allocate()
            self._compile(at_voxels)
            self._load()

    def values(self) -> Tensor:
        """Values of all voxels as the kernels see them, 0 to 1 for the range, axes (z, y, x)."""
        nz, ny, nx = self._voxels.shape
        out = torch.empty(nz, ny, nx, device=self._device)
        steps = [2.0 / (n - 1) if n > 1 else 0.0 for n in (nx, ny, nz)]
        starts = [-1.0 if n > 1 else 0.0 for n in (nx, ny, nz)]
        with torch.cuda.stream(self._stream):
            sizes = [np.int32(n) for n in (nx, ny, nz)]
            numbers = [np.float32(value) for value in (*starts, *steps)]
            self._launch("values_on", 132 * 8, 128, *self._model(), *numbers, *sizes, out, np.float32(0), np.float32(1))
            self._stream.synchronize()
        return out

    def _allocate(self) -> None:
        groups = self._network.grid_groups()
        shapes = [groups[group].features.shape[2:] for group, _, _ in self._halves]
        nodes = [math.prod(shape) for shape in shapes]
        cells = [math.prod(n + 1 for n in shape) for shape in shapes]
        self._first_nodes = np.cumsum([0, *nodes])
        self._grids = np.zeros(len(shapes), _GRID)
        for number, (nz, ny, nx) in enumerate(shapes):
            group, grid, _ = self._halves[number]
            transform = groups[group].transforms[grid].detach().cpu().numpy().reshape(-1)
            first = int(sum(cells[:number]))
            self._grids[number] = (transform, nx, ny, nz, cells[number], first, self._first_nodes[number])
        self._most_cells, self._most_nodes = max(cells), max(nodes)

        def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.zeros(*shape, dtype=dtype, device=self._device)

        total, count, inputs = int(self._first_nodes[-1]), self._count, self._inputs
        self._grid_bytes = torch.from_numpy(self._grids.view(np.uint8).copy()).to(self._device)
        self._nodes, self._node_m, self._node_v = (zeros(total, 2) for _ in range(3))
        self._packed = zeros(sum(cells), 8, 2, dtype=torch.half)
        self._cell_gradients = zeros(sum(cells), 16)
        self._features = zeros(count, inputs, dtype=torch.half)
        self._h1, self._h2, self._d1, self._d2 = (zeros(count, HIDDEN, dtype=torch.half) for _ in range(4))
        self._error, self._dy = zeros(count), zeros(count, 1, dtype=torch.half)
        self._loss, self._sums = zeros(2), zeros(2)
        self._step, self._rate, self._transform_rate = zeros(1, dtype=torch.int32), zeros(1), zeros(1)
        size = inputs * HIDDEN + HIDDEN * HIDDEN + HIDDEN
        self._weights, self._weight_m, self._weight_v, self._weight_gradients = (zeros(size) for _ in range(4))
        self._weight_halves = zeros(size, dtype=torch.half)
        self._rounding, self._rounded_share, self._coding_weight = zeros(len(shapes)), zeros(1), zeros(1)
        self._ranks = zeros(total, 2)
        self._rho, self._target = zeros(count), zeros(count)
        self._transform_gradients = zeros(max(self._adaptive, 1), 13)
        self._transform_m, self._transform_v = zeros(max(self._adaptive, 1), 12), zeros(max(self._adaptive, 1), 12)

    def _compile(self, at_voxels: bool) -> None:
        import cupy

        defines = [f"-DGRIDS={len(self._halves)}", f"-DINPUTS={self._inputs}", f"-DVOXEL={_VOXELS[self._voxels.dtype]}"]
        options = ("--std=c++17", "--use_fast_math", *defines, *(("-DAT_VOXELS",) if at_voxels else ()))
        source = "".join(Path(__file__).with_name(name).read_text() for name in ("evaluation.cu", "training.cu"))
        self._module = cupy.RawModule(code=source, options=(*options, *_header_options()))
        rows = 4 * 32 * (self._inputs + 8 + 2 * (HIDDEN + 8)) * 2
        self._shared = self._weights.numel() * 2 + len(self._halves) * _GRID.itemsize + rows
        self._module.get_function("step").max_dynamic_shared_size_bytes = self._shared

    def _load(self) -> None:
        groups = self._network.grid_groups()
        with torch.no_grad():
            for number, (group, grid, feature) in enumerate(self._halves):
                values = groups[group].features[grid, feature : feature + 2]
                target = self._nodes[self._first_nodes[number] : self._first_nodes[number + 1]]
                target[:, : len(values)] = values.reshape(len(values), -1).T.to(self._device)
            first = self._network.weights[0]
            self._weights[: self._inputs * HIDDEN].reshape(self._inputs, HIDDEN)[self._rows()] = first.detach().to(
                self._device
            )
            rest = torch.cat([weights.detach().reshape(-1) for weights in list(self._network.weights)[1:]])
            self._weights[self._inputs * HIDDEN :] = rest.to(self._device)
            self._weight_halves.copy_(self._weights)
        self._pack()

    def _load_ranks(self, ranks: list[Tensor]) -> None:
        """ranks: of the features of every grid group, as they are rounded one after the other."""
        for number, (group, grid, feature) in enumerate(self._halves):
            values = ranks[group][grid, feature : feature + 2]
            target = self._ranks[self._first_nodes[number] : self._first_nodes[number + 1]]
            target[:, : len(values)] = values.reshape(len(values), -1).T

    def _rows(self) -> Tensor:
        """Rows of our first layer that hold those of the network's, in its order."""
        groups = self._network.grid_groups()
        of_half = {half: number for number, half in enumerate(self._halves)}
        rows = [
            2 * of_half[(number, grid, feature - feature % 2)] + feature % 2
            for number, group in enumerate(groups)
            for grid in range(group.features.shape[0])
            for feature in range(group.features.shape[1])
        ]
        return torch.tensor(rows, device=self._device)

    def store(self) -> None:
        """Put parameters back into the network, rounded where that was asked for."""
        with torch.no_grad(), torch.cuda.stream(self._stream):
            self._store_grids()
            self._store_weights()
        # The network is read on another stream, which does not wait for these copies: while other processes used the
        # GPU, grids of before were read.
        self._stream.synchronize()

    def _store_grids(self) -> None:
        groups = self._network.grid_groups()
        grids = self._grid_bytes.cpu().numpy().view(_GRID)
        for number, (group, grid, feature) in enumerate(self._halves):
            values = self._nodes[self._first_nodes[number] : self._first_nodes[number + 1]]
            step = self._rounding[number]
            values = torch.where(step > 0, torch.round(values / step.clamp(min=1e-30)) * step, values)
            own = groups[group].features[grid, feature : feature + 2]
            own.copy_(values.T[: len(own)].reshape(own.shape))
            groups[group].transforms[grid] = torch.from_numpy(grids["transform"][number].reshape(3, 4).copy())

    def _store_weights(self) -> None:
        matrix = self._weights[: self._inputs * HIDDEN].reshape(self._inputs, HIDDEN)
        self._network.weights[0].copy_(matrix[self._rows()])
        position = self._inputs * HIDDEN
        for weights in list(self._network.weights)[1:]:
            weights.copy_(self._weights[position : position + weights.numel()].reshape(weights.shape))
            position += weights.numel()

    def _pack(self) -> None:
        blocks = (-(-self._most_cells // 256), len(self._halves))
        self._launch("pack", blocks, 256, self._nodes, self._packed, self._grid_bytes)

    def _compute_gradients(self, scale: np.float32) -> None:
        self._cell_gradients.zero_()
        activations = (self._features, self._h1, self._h2, self._d1, self._d2, self._error, self._dy)
        volume = (self._voxels, *self._sizes(), np.float32(self._low), np.float32(self._scale))
        arguments = (*self._model(), *volume, self._step, self._cell_gradients, *activations, self._loss)
        self._launch("step", BLOCKS, 128, *arguments, np.int32(self._count), scale, shared=self._shared)
        sizes = [self._inputs * HIDDEN, HIDDEN * HIDDEN, HIDDEN]
        products = [(self._features, self._d1), (self._h1, self._d2), (self._h2, self._dy)]
        position = 0
        for size, (left, right) in zip(sizes, products, strict=True):
            self._weight_gradients[position : position + size] = _product(left, right).reshape(-1)
            position += size

    def _update(self, inverse: np.float32) -> None:
        blocks = (-(-self._most_nodes // 256), len(self._halves))
        grids = (self._nodes, self._node_m, self._node_v, self._cell_gradients, self._grid_bytes)
        schedule = (self._rate, self._step, inverse)
        self._launch("update_grids", blocks, 256, *grids, *schedule, *self._coding())
        self._pack()
        count = self._weights.numel()
        weights = (self._weights, self._weight_m, self._weight_v, self._weight_gradients, self._weight_halves)
        self._launch("update_weights", -(-count // 256), 256, *weights, np.int32(count), *schedule)

    def _coding(self) -> tuple[Tensor, ...]:
        """What rounds features, and makes them cheap to code."""
        return self._rounding, self._rounded_share, self._coding_weight, self._ranks

    def _sizes(self) -> tuple[np.int32, ...]:
        return tuple(np.int32(n) for n in self._voxels.shape[::-1])

    def _model(self) -> list[Any]:
        second = self._weight_halves[self._inputs * HIDDEN :]
        return [self._packed, self._grid_bytes, self._weight_halves, second, second[HIDDEN * HIDDEN :]]

    def _launch(self, name: str, blocks: int | tuple[int, int], threads: int, *arguments: Any, shared: int = 0) -> None:
        pointers = [np.uintp(one.data_ptr()) if isinstance(one, Tensor) else one for one in arguments]
        grid = blocks if isinstance(blocks, tuple) else (blocks,)
        with _cupy_stream(self._stream):
            self._module.get_function(name)(grid, (threads,), tuple(pointers), shared_mem=shared)


def _product(left: Tensor, right: Tensor) -> Tensor:
    """left.T @ right, summed in float32."""
    try:
        return torch.mm(left.T, right, out_dtype=torch.float32)
    except (TypeError, RuntimeError):  # PyTorch before 2.8
        return (left.T @ right).float()


def _header_options() -> tuple[str, ...]:
    """Options that name the folders of the toolkit's headers, which the source includes."""
    folders = [os.environ.get(name, "") for name in ("CUDA_PATH", "CUDA_HOME")]
    found = [Path(folder) / "include" for folder in (*folders, "/usr/local/cuda") if folder]
    return tuple(f"-I{folder}" for folder in found if folder.is_dir())


def _cupy_stream(stream: torch.cuda.Stream) -> Any:
    import cupy

    if hasattr(cupy.cuda.Stream, "from_external"):
        return cupy.cuda.Stream.from_external(stream)
    return cupy.cuda.ExternalStream(stream.cuda_stream)
