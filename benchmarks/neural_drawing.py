"""How fast is a neural field decoded and drawn, beside the volume that it stands for?

    python -m benchmarks.neural_drawing [--quick] [--json FILE]

A medium model (16 grids of 2 × 32³ features, decoder 64-64): values a second at random points and in the order of rays,
bricks of a whole volume, a frame evaluated along the rays, and a frame through bricks beside one of the raw voxels in
bricks. On a GPU where there is one, else on the CPU, where the peer is the product of matrices in BLAS.
"""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.table import TARGET, Row, faster, interleave, options, report, shorter
from pellucid.device import Device, LaunchRange, choose, runtime, synchronize
from pellucid.fields.bricks.brick_field import BrickField
from pellucid.fields.neural.device_model import DeviceModel
from pellucid.fields.neural.neural_bricks import NeuralBrickField
from pellucid.formats.neural_field.container import write_file
from pellucid.formats.neural_field.field import Decoder, FeatureGrid, NeuralField
from pellucid.formats.neural_field.lattice_evaluation import kernel_values
from pellucid.formats.neural_field.neural_volume import NeuralVolume, PlacedField
from pellucid.formats.neural_field.packed_field import PackedField
from pellucid.formats.neural_field.stored_volume import Steps, to_sections
from pellucid.neural.models import make_network
from pellucid.rendering.camera import framing
from pellucid.rendering.drawing.draw_pass import DrawRegion
from pellucid.rendering.renderer import Renderer
from pellucid.rendering.scene import Scene, ShadingName, VolumeLayer
from pellucid.rendering.transfer import TransferFunction
from pellucid.volume.volume import Volume, open_volume

GRIDS, FEATURES, NODES, HIDDEN = 16, 2, 32, 64
FIFTH = 0.2
SHADINGS: tuple[ShadingName, ...] = ("none", "gradient")


@dataclass(frozen=True)
class Size:
    """side: of the volume; pixels: along the edge of the image; points: that are evaluated."""

    side: int
    pixels: int
    points: int
    repeats: int

    def __str__(self) -> str:
        return f"{self.side}³ voxels, {self.pixels}² pixels, 256 samples a ray, {self.points:,} points"


CUDA, CPU, QUICK = Size(512, 1024, 1 << 24, 9), Size(128, 256, 1 << 20, 3), Size(64, 64, 1 << 14, 1)


def main() -> None:
    given, device = options("Neural fields, decoded and drawn."), choose()
    size = QUICK if given.is_quick else CUDA if device.is_cuda else CPU
    field = medium_field()
    rows = [*point_rows(field, size, device)]
    with tempfile.TemporaryDirectory() as folder, open_field(field, size.side, Path(folder)) as volume:
        rows += [*frame_rows(field, volume, size, device), *brick_rows(field, volume, size, device)]
    report("neural_drawing", rows, str(size), given)


def medium_field() -> NeuralField:
    """Grids of random features, the first four over all of the volume, the others over parts of it."""
    random = np.random.default_rng(0)
    grids = []
    for number in range(GRIDS):
        transform = np.eye(3, 4) + 0.05 * random.standard_normal((3, 4))
        if number >= 4:
            transform = transform * 1.5 + np.pad(random.uniform(-0.4, 0.4, (3, 1)), ((0, 0), (3, 0)))
        shape = (FEATURES, NODES, NODES, NODES)
        grids.append(FeatureGrid(random.uniform(-0.5, 0.5, shape).astype(np.float32), transform.astype(np.float32)))
    sizes = [(GRIDS * FEATURES, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, 1)]
    weights = tuple((random.standard_normal(one) / np.sqrt(one[0])).astype(np.float32) for one in sizes)
    return NeuralField("amgsrn", Decoder(weights), tuple(grids), value_range=(100.0, 200.0))


def open_field(field: NeuralField, side: int, folder: Path) -> Volume:
    """The field as a file of side³ voxels of 8 bits."""
    placed = PlacedField(Volume.from_array(np.empty((side, side, side), np.uint8)).box, field)
    volume = NeuralVolume((side, side, side), np.dtype(np.uint8), (placed,))
    steps = Steps((0.01,) * len(field.grids), (), (0.001,) * len(field.decoder.weights))
    header, sections = to_sections(volume, (steps,))
    write_file(folder / "field.plf", header, sections)
    return open_volume(folder / "field.plf")


def point_rows(field: NeuralField, size: Size, device: Device) -> list[Row]:
    """Values a second."""
    model, side = DeviceModel(field, (size.side,) * 3, device), round(size.points ** (1 / 3))
    random = np.random.default_rng(1).uniform(0, size.side - 1, (size.points, 3))
    axis = np.linspace(0, size.side - 1, side // 8 * 8)
    z, y, x = np.meshgrid(axis, axis, axis, indexing="ij")
    tiled = np.stack([x, y, z], -1).reshape(len(axis), len(axis) // 4, 4, len(axis) // 8, 8, 3)
    rays = tiled.transpose(0, 1, 3, 2, 4, 5).reshape(-1, 3)
    rows = []
    for case, points, target in (("random points", random, 4e9), ("points along rays", rays, 5e9)):
        rate = len(points) / _seconds(model, points, size.repeats)
        rows.append(faster(f"evaluation, {case}", "points/s", rate, "PyTorch", pytorch_rate(field, device)))
        if device.is_cuda:
            rows.append(faster(f"evaluation, {case}", "points/s", rate, TARGET, target))
        else:
            rows.append(faster(f"evaluation, {case}", "points/s", rate, "BLAS", blas_rate(field, side)))
    return rows


def pytorch_rate(field: NeuralField, device: Device) -> float:
    """Points a second of the same network as a PyTorch module."""
    network = make_network("amgsrn", 1 << 20, (NODES,) * 3).to(device.kind)
    network.load_field(field)
    points = torch.rand(1 << (20 if device.is_cuda else 14), 3, device=device.kind) * 2 - 1

    def evaluate() -> None:
        with torch.no_grad():
            network(points)
        if device.is_cuda:
            torch.cuda.synchronize()

    return len(points) / interleave({"PyTorch": evaluate}, 5)["PyTorch"]


def _seconds(model: DeviceModel, points: Any, repeats: int) -> float:
    warp = runtime.start()
    there = warp.array(np.ascontiguousarray(points, np.float32), dtype=warp.vec3, device=model.device.name)
    return timed(lambda: model.evaluate(there), model.device, repeats)


def timed(work: Callable[[], object], device: Device, repeats: int) -> float:
    """Median seconds until the device has done it."""

    def whole() -> None:
        work()
        synchronize(device)

    return interleave({"ours": whole}, repeats)["ours"]


def blas_rate(field: NeuralField, side: int) -> float:
    packed, axis = PackedField(field), np.linspace(-1, 1, side, dtype=np.float32)
    kernel_values(field, packed, (axis[:2], axis, axis))
    start = time.perf_counter()
    kernel_values(field, packed, (axis, axis, axis))
    return side**3 / (time.perf_counter() - start)


def frame_rows(field: NeuralField, volume: Volume, size: Size, device: Device) -> list[Row]:
    """A frame evaluated along the rays, with every cell visible and with a fifth of them."""
    model = DeviceModel(field, volume.shape, device)
    drawn = NeuralBrickField(volume, device, 1 << 40, model)
    drawn.is_drawn_directly, drawn._unknown = True, np.arange(np.prod(drawn.bricks))
    drawn.prepare_frame()
    start = time.perf_counter()
    while len(drawn._unknown):
        drawn.load_missing()
    synchronize(device)
    learning = time.perf_counter() - start
    ranges = drawn.ranges.numpy()
    fifth = float(np.quantile(ranges[..., 1], 1 - FIFTH))
    renderer = Renderer(device)
    renderer.add_field(str(volume.location), drawn)
    rows = [Row("ranges of all cells", "time", "ms", 1e3 * learning, "", None, None)]
    for case, low, target in (("every cell visible", -1e6, 8.0), ("a fifth visible", fifth, 3.0)):
        for shading in SHADINGS:
            scene = scene_of(volume, low, shading)
            on_device, in_host = frame_seconds(renderer, scene, size)
            name = f"frame along rays, {case}, {shading}"
            # The target is for one value a sample on a card; light from gradients takes six more where something is
            # visible.
            goal = target if shading == "none" and device.is_cuda else None
            rows.append(_towards(f"{name}, on the device", on_device, goal))
            if device.is_cuda:
                rows.append(_towards(f"{name}, in host memory", in_host, None))
    renderer.close()
    return rows


def _towards(case: str, seconds: float, target_ms: float | None) -> Row:
    if target_ms is None:
        return Row(case, "time", "ms", 1e3 * seconds, "none", None, None)
    return shorter(case, "ms", 1e3 * seconds, TARGET, target_ms)


def scene_of(volume: Volume, low: float, shading: ShadingName) -> Scene:
    """Everything above a value is visible, so faintly that rays go through all of it. 256 samples on the longest."""
    step = volume.shape[0] * 3**0.5 / 256
    opacity = 1 - 0.98 ** (1 / step)
    transfer = TransferFunction(
        colors=((0.0, (0.2, 0.3, 0.9)), (1.0, (1.0, 0.9, 0.7))),
        opacities=((0.0, 0.0 if low > -1e6 else opacity), (1e-6, opacity), (1.0, opacity)),
        value_range=(max(low, 0.0), 255.0),
    )
    camera = framing((0.0, 0.0, 0.0), volume.shape, direction=(1.6, 1.3, 2.4), up=(0.0, 1.0, 0.0))
    return Scene((VolumeLayer(str(volume.location), transfer, shading=shading),), camera, step=step)


def frame_seconds(renderer: Renderer, scene: Scene, size: Size) -> tuple[float, float]:
    """What a frame takes until its light is gathered on the device, and until it is in the host's memory: on a CPU, the
    same."""
    (painter,) = renderer._painters
    region = (size.pixels, size.pixels)

    def on_device() -> None:
        painter.start_pass(scene, painter.load(scene), DrawRegion(region)).draw(LaunchRange(region))
        synchronize(painter.device)

    works: dict[str, Callable[[], object]] = {"device": on_device}
    if painter.device.is_cuda:
        works["host"] = lambda: renderer.render(scene, *region)
    found = interleave(works, size.repeats)
    return found["device"], found.get("host", found["device"])


def brick_rows(field: NeuralField, volume: Volume, size: Size, device: Device) -> list[Row]:
    """Decoding all bricks, and a frame through them beside one of raw voxels."""
    model = DeviceModel(field, volume.shape, device)
    drawn = NeuralBrickField(volume, device, 1 << 40, model)
    renderer, scene = Renderer(device), scene_of(volume, 150.0, "none")
    renderer.add_field(str(volume.location), drawn)
    renderer.render(scene, size.pixels, size.pixels)
    places = drawn._pages_of(0)

    def decode() -> None:
        drawn._pool._slot_of[places] = -1
        drawn._pool._page_of[:] = -1
        drawn._load(places, kept=places)
        synchronize(device)

    seconds = interleave({"ours": decode}, max(1, size.repeats // 2))["ours"]
    rows = [_towards(f"{size.side}³ decoded to bricks", seconds, 50.0 if device.is_cuda else None)]
    raw = Volume.from_array(_decoded(drawn, volume))
    renderer.add_field(str(raw.location), BrickField(raw, device, 1 << 34))
    raw_scene = scene_of(raw, 150.0, "none")
    frames = interleave(
        {
            "ours": lambda: renderer.render(scene, size.pixels, size.pixels),
            "raw": lambda: renderer.render(raw_scene, size.pixels, size.pixels),
        },
        size.repeats,
    )
    rows.append(shorter("frame through bricks", "ms", 1e3 * frames["ours"], "raw in bricks", 1e3 * frames["raw"]))
    renderer.close()
    return rows


def _decoded(drawn: NeuralBrickField, volume: Volume) -> Any:
    """The voxels, put together from bricks."""
    found = np.empty(volume.shape, np.uint8)
    for page, place in enumerate(np.ndindex(drawn.bricks)):
        filled = drawn._source.fill(0, np.array([place])).voxels
        words = filled if isinstance(filled, np.ndarray) else filled.numpy()
        brick = words.view(np.uint8).reshape(36, 36, 36)[2:34, 2:34, 2:34]
        z, y, x = (32 * n for n in place)
        part = found[z : z + 32, y : y + 32, x : x + 32]
        part[...] = brick[tuple(slice(n) for n in part.shape)]
        del page
    return found


if __name__ == "__main__":
    main()
