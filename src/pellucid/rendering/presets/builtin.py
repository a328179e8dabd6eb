"""Built-in presets: colours, opacity and shading for a kind of image.

Here: the presets that come with Pellucid, and which one a name stands for.
Not here: colour maps (color_maps), where air ends in a volume (first_view), files of other programs (files).
"""

from dataclasses import dataclass, replace
from pathlib import Path

from pellucid.errors import InvalidInput
from pellucid.rendering.presets.color_maps import color_maps
from pellucid.rendering.presets.files import read_preset
from pellucid.rendering.scene import ShadingName
from pellucid.rendering.transfer import ColorPoint, Edges, OpacityPoint, TransferFunction

FILES = (".json", ".xml", ".vtk", ".vp")
NOMINAL = ((0.0, 1.0), (-1.0, 1.0))
"""Value ranges of files that mean: whatever the volume's is."""


@dataclass(frozen=True)
class Preset:
    """A look. Positions run from 0, where air ends, to 1, the brightest.

    edges: factors by gradient, for a gradient_range from 0 to 1 of the value range per voxel.
    """

    colors: tuple[ColorPoint, ...]
    opacities: tuple[OpacityPoint, ...]
    shading: ShadingName = "gradient"
    edges: Edges | None = None

    def transfer(self, start: float, value_range: tuple[float, float]) -> TransferFunction:
        """For a volume in whose value range air ends at the position ``start``."""
        low, high = value_range
        edges = self.edges
        if edges is not None:
            edges = replace(edges, gradient_range=(0.0, edges.gradient_range[1] * (1 - start) * (high - low)))
        return TransferFunction(
            tuple((start + (1 - start) * at, color) for at, color in self.colors),
            tuple((start + (1 - start) * at, opacity) for at, opacity in self.opacities),
            value_range,
            edges=edges,
        )


PRESETS = {
    "soft": Preset(
        ((0.0, (0.5, 0.2, 0.14)), (0.35, (0.9, 0.6, 0.48)), (0.6, (1.0, 0.93, 0.82)), (1.0, (1.0, 1.0, 0.97))),
        ((0.0, 0.0), (0.08, 0.03), (0.4, 0.06), (0.6, 0.5), (1.0, 0.9)),
    ),
    "dense": Preset(
        ((0.0, (0.62, 0.48, 0.34)), (0.5, (0.93, 0.86, 0.72)), (1.0, (1.0, 1.0, 1.0))),
        ((0.0, 0.0), (0.35, 0.0), (0.5, 0.5), (1.0, 0.95)),
    ),
    "skin": Preset(
        ((0.0, (0.8, 0.54, 0.42)), (0.5, (0.95, 0.74, 0.6)), (1.0, (1.0, 0.9, 0.8))),
        ((0.0, 0.0), (0.02, 0.5), (0.06, 0.95), (1.0, 0.95)),
    ),
    "gold": Preset(
        ((0.0, (0.62, 0.38, 0.06)), (0.4, (0.95, 0.7, 0.2)), (1.0, (1.0, 0.95, 0.62))),
        ((0.0, 0.0), (0.05, 0.3), (0.3, 0.95), (1.0, 0.95)),
        "occlusion",
    ),
    "glass": Preset(
        ((0.0, (0.4, 0.66, 0.9)), (0.5, (0.75, 0.9, 1.0)), (1.0, (1.0, 1.0, 1.0))),
        ((0.0, 0.0), (0.02, 0.12), (1.0, 0.5)),
        edges=Edges(((0.0, 0.0), (0.2, 0.0), (0.7, 1.0)), (0.0, 0.3)),
    ),
    "x-ray": Preset(
        ((0.0, (0.55, 0.75, 1.0)), (1.0, (1.0, 1.0, 1.0))),
        ((0.0, 0.0), (1.0, 0.02)),
        "none",
    ),
}  # fmt: skip


def preset_names() -> list[str]:
    """What may be asked for by name: whole looks, and colour maps."""
    return [*PRESETS, *color_maps()]


def check_preset(name: str) -> None:
    """Refuse a name that is neither a preset, nor a colour map, nor looks like a file."""
    if name not in preset_names() and not is_preset_file(name):
        raise InvalidInput(
            f"Unknown preset {name!r}.",
            remedy=f"Choose one of: {', '.join(preset_names())}; or a file: {', '.join(FILES)}.",
        )


def is_preset_file(name: str) -> bool:
    return Path(name).suffix.lower() in FILES


def preset_from_file(path: Path, value_range: tuple[float, float]) -> TransferFunction:
    """A preset of another program; one from 0 to 1, or from -1 to 1, spread over a value range."""
    try:
        read = read_preset(path.read_text(errors="replace"))
    except OSError as error:
        raise InvalidInput(f"Cannot read the preset {path}: {error.strerror}.", remedy="Check its name.") from error
    return replace(read, value_range=value_range) if read.value_range in NOMINAL else read
