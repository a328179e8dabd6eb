"""A reconstruction as a command line, to reproduce it.

Here: ReconstructionParameters, the file that they are kept in, OutputArguments, and arguments().
Not here: reading the command line (cli), every choice (recipe).
"""

import json
import shlex
from dataclasses import asdict, dataclass, field

from pellucid.tomo.pipeline.volume_region import Crop, Range
from pellucid.tomo.recipe import Recipe
from pellucid.tomo.scan_files.assembly import SEPARATOR, ScanOptions

PLAIN = {name: name for name in ("center", "tilt", "zingers", "air", "method", "filter", "padding", "iterations")}
PLAIN |= {"roll_deg": "roll", "binning": "bin", "air": "air-columns"}
"""Settings that are one value each, and the name of their option."""


@dataclass(frozen=True)
class ReconstructionParameters:
    """All that is said of a reconstruction, but for the files."""

    scan: ScanOptions = field(default_factory=ScanOptions)
    recipe: Recipe = field(default_factory=Recipe)


@dataclass(frozen=True)
class OutputArguments:
    """What is said of an output. rows, crop: as in OutputOptions.

    >>> OutputArguments(rows=(5, 9), crop=((0, 8), (4, 8))).words
    ['--pyramid', '--rows', '5:9', '--crop', '0:8,4:8']
    """

    is_replaced: bool = False
    rows: Range | None = None
    crop: Crop | None = None

    @property
    def words(self) -> list[str]:
        return [
            "--pyramid",
            *(["--rows", _range(self.rows)] if self.rows else []),
            *(["--crop", ",".join(map(_range, self.crop))] if self.crop else []),
            *(["--overwrite"] if self.is_replaced else []),
        ]


def arguments(
    source: str, target: str, parameters: ReconstructionParameters, output: OutputArguments | None = None
) -> list[str]:
    """What to write behind ``pellucid``. Settings that are as they are by default, or without effect, are left out.

    >>> arguments("a.h5", "a.zarr", ReconstructionParameters(recipe=Recipe(center=505.5, filter="hann")))[1:]
    ['a.h5', '-o', 'a.zarr', '--pyramid', '--center', '505.5', '--filter', 'hann']
    >>> arguments("a.h5", "a.zarr", ReconstructionParameters(recipe=Recipe(roll_deg=-0.25)))[5:]
    ['--roll=-0.25']
    """
    words = arguments_of_files(source, target, output)
    for name, value in (*_of_scan(parameters.scan), *_of_recipe(parameters.recipe)):
        is_left_out = value is None or value is False or value == ""
        words += [] if is_left_out else [name] if value is True else _text(name, str(value))
    return words


def arguments_of_files(source: str, target: str, output: OutputArguments | None = None) -> list[str]:
    """The same without the parameters, for a run that reads them from a recipe file."""
    return ["reconstruct", source, "-o", target, *(output or OutputArguments()).words]


def recipe_text(parameters: ReconstructionParameters) -> str:
    """The text of a recipe file, which ``pellucid reconstruct --recipe`` reads."""
    return json.dumps(asdict(parameters), indent=2)


def _range(ends: Range) -> str:
    return f"{ends[0]}:{ends[1]}"


def _text(name: str, text: str) -> list[str]:
    """Behind a name, a number below 0 would be taken for another name."""
    return [f"{name}={text}"] if text.startswith("-") else [name, text]


def shell_line(words: list[str]) -> str:
    """As one line for a shell."""
    return f"pellucid {shlex.join(words)}"


def _of_scan(options: ScanOptions) -> list[tuple[str, object]]:
    return [
        ("--projections", options.projections),
        *(("--flats", name) for name in options.flats.split(SEPARATOR)),
        *(("--darks", name) for name in options.darks.split(SEPARATOR)),
        ("--angles", options.angles),
        ("--pixel-size", options.pixel_size_um),
        ("--keep-bad-pixels", not options.is_repaired),
    ]


def _of_recipe(recipe: Recipe) -> list[tuple[str, object]]:
    phase, usual = recipe.phase, Recipe()
    unused = recipe.unused
    changed = [name for name in PLAIN if getattr(recipe, name) != getattr(usual, name) and name not in unused]
    return [
        *((f"--{PLAIN[name]}", getattr(recipe, name)) for name in changed),
        ("--offset", recipe.is_offset),
        ("--ring", "" if recipe.rings.method == "none" else recipe.rings.method),
        ("--phase", phase and f"{phase.energy_kev:g},{phase.distance_mm:g},{phase.delta_over_beta:g}"),
        ("--nonnegative", recipe.is_nonnegative and "is_nonnegative" not in unused),
        ("--no-circle", not recipe.is_circle),
    ]
