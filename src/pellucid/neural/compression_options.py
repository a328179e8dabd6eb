"""What a compression may be asked for, and refusals before any work starts.

Here: CompressionOptions, checks of options, sizes, values and devices.
Not here: compressing (compression).
"""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pellucid.box import Shape
from pellucid.device.names import parse_device_name
from pellucid.errors import InvalidInput, OutputExists
from pellucid.neural.torch_devices import count_torch_gpus, torch_gpus
from pellucid.volume.volume import Volume

MIN_FIELD_BYTES = 4096
MIN_REFUSED = 1_000_000
"""A field may be larger than its volume up to this size: small volumes are for trying things."""
MAX_VALUE = 1e37
"""Fields are float32: larger values, and differences of them, would become infinite."""


@dataclass(frozen=True)
class CompressionOptions:
    """What to reach, and with what.

    size: bytes of the file without its residual. parameters: how many, instead of a size. psnr: in dB; the smallest
    size that reaches it is looked for. max_error: largest error of any voxel, in the volume's units. seconds: for
    training. batch: points of a step. device: None for the best. is_rounded: whether features are rounded to few bits
    while they are trained.
    bricks: along (z, y, x), each with a model of its own; "auto" by the volume's shape, None for one model. ghost:
    voxels by which a brick reaches into its neighbours. workers: models trained at the same time, each in a process.
    engine: where models are trained, by name; None for this machine.
    """

    size: int | None = None
    parameters: int | None = None
    psnr: float | None = None
    max_error: float | None = None
    seconds: float | None = None
    steps: int | None = None
    batch: int | None = None
    model: str = "adaptive"
    device: str | None = None
    is_rounded: bool = True
    seed: int = 42
    overwrite: bool = False
    bricks: Shape | str | None = None
    ghost: int | None = None
    workers: int | None = None
    engine: str | None = None


def check_options(options: CompressionOptions, path: Path) -> None:
    if path.suffix.lower() != ".plf":
        raise InvalidInput(f"{path} is not a name for a neural field.", remedy="Use a name that ends in .plf.")
    if path.exists() and not options.overwrite:
        raise OutputExists(str(path))
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder.", remedy="Use the name of a file, such as field.plf.")
    if not path.absolute().parent.is_dir():
        raise InvalidInput(f"The folder of {path} does not exist.", remedy="Create it first.")
    numbers = {"size": options.size, "PSNR": options.psnr, "error": options.max_error, "time": options.seconds}
    for name, value in numbers.items():
        if value is not None and not (math.isfinite(value) and value > 0):
            raise InvalidInput(f"The {name} {value} is not positive.", remedy="Use a positive number.")
    if options.size is not None and options.size < MIN_FIELD_BYTES:
        raise InvalidInput(
            f"A field of {options.size} bytes is too small.", remedy=f"Use at least {MIN_FIELD_BYTES} bytes."
        )
    if isinstance(options.bricks, str) and options.bricks != "auto":
        raise InvalidInput(f"Invalid bricks {options.bricks!r}.", remedy="Use three numbers (z, y, x), or auto.")
    if not 0 <= options.seed < 2**63:
        raise InvalidInput(f"The seed {options.seed} is out of range.", remedy="Use a whole number from 0 to 2^63 - 1.")


def check_values(volume: Volume) -> None:
    low, high = volume.value_range
    if not (math.isfinite(low) and math.isfinite(high)):
        raise InvalidInput("The volume has no finite value range.", remedy="Replace NaN and infinite values first.")
    if not -MAX_VALUE <= low <= high <= MAX_VALUE:
        raise InvalidInput(
            f"The values {low:.3g} to {high:.3g} are too large for a neural field.",
            remedy=f"Scale the volume to values within {MAX_VALUE:.0e}.",
        )
    if volume.dtype.kind == "f":
        for box in volume.box.tiles((64, *volume.shape[1:])):
            if not np.isfinite(volume.read(box)).all():
                raise InvalidInput(
                    "The volume has voxels that are NaN or infinite.",
                    remedy="Replace them first, for example with the smallest value.",
                )


def default_size(volume: Volume) -> int:
    """A hundredth of the volume, within what trains quickly."""
    return int(min(max(volume.nbytes // 100, 1 << 15), 8 << 20))


def training_devices(name: str | None) -> tuple[str, ...]:
    """Where to train: all GPUs if none is named."""
    kind, number = parse_device_name(name or "auto")
    if kind == "auto":
        count = count_torch_gpus()
        return tuple(torch_gpus(0, count)) if count else ("cpu",)
    return ("cpu",) if kind == "cpu" else tuple(torch_gpus(number or 0))


def check_size(size: int, volume: Volume) -> None:
    if size > max(volume.nbytes, MIN_REFUSED):
        raise InvalidInput(
            f"A field of {size:,} bytes is larger than the volume, which has {volume.nbytes:,}.",
            remedy="Use a smaller size, or store the volume with a lossless codec.",
        )
