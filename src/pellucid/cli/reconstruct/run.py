"""Running ``pellucid reconstruct``: the volume, or an image of some slices.

Here: arguments to a recipe, previews, the image of several centers.
Not here: reconstructing (tomo).
"""

import argparse
import json
import sys
from contextlib import closing
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pellucid import progress
from pellucid.cli.arguments import check_folder
from pellucid.cli.commands.info import report
from pellucid.cli.contact_sheet import save_contact_sheet
from pellucid.cli.engine_arguments import chosen_engine
from pellucid.cli.replaced_files import check_replacement, is_marked_image
from pellucid.dataclass_json import from_json
from pellucid.device import choose
from pellucid.engines.output_check import check_output
from pellucid.errors import InvalidInput, NotFound
from pellucid.formats.location import Location
from pellucid.printable import printable
from pellucid.tomo.command_line import ReconstructionParameters, arguments
from pellucid.tomo.correction.phase import Paganin
from pellucid.tomo.correction.rings import RingSettings
from pellucid.tomo.geometry.axis import METHODS as AXIS_METHODS
from pellucid.tomo.pipeline.preview import SlicePreview
from pellucid.tomo.pipeline.reconstruct import OutputOptions, RunOptions, Watch, reconstruct
from pellucid.tomo.recipe import AUTOMATIC, USED_BY, WHEN_CLEAR, Recipe
from pellucid.tomo.report import read_warnings
from pellucid.tomo.scan_files.assembly import SEPARATOR, ScanOptions
from pellucid.tomo.scan_files.registry import open_scan

if TYPE_CHECKING:
    from pellucid.client.viewer import Viewer

MAX_CENTERS = 100


def reconstruct_scan(options: argparse.Namespace) -> int:
    """The exit code."""
    saved = _saved(Path(options.recipe)) if options.recipe else None
    _refuse_unused(options)
    centers = [saved.recipe.center] if saved and options.center == AUTOMATIC else _centers(options.center)
    if options.follow:
        return _follow(options, centers[0], saved)
    if not options.output:
        raise InvalidInput("No output was given.", remedy="Add -o OUTPUT, for example -o sample.zarr.")
    if len(centers) > 1 or options.preview is not None:
        return _look(options, centers, saved)
    engine = chosen_engine(options)
    watch = None if options.view is None else _watch(options)
    running = RunOptions(engine, options.device, options.overwrite, watch)
    text = _parameters(options, centers[0], saved)
    volume = reconstruct(options.source, options.output, text.recipe, _output(options), text.scan, running)
    volume.close()
    report(volume.location)
    for warning in read_warnings(volume.location):
        print(f"warning: {printable(str(warning))}", file=sys.stderr)
    return 0


def one_reconstruction(options: argparse.Namespace) -> ReconstructionParameters:
    """What the arguments say, for commands that reconstruct a volume on the way."""
    saved = _saved(Path(options.recipe)) if options.recipe else None
    _refuse_unused(options)
    centers = [saved.recipe.center] if saved and options.center == AUTOMATIC else _centers(options.center)
    if len(centers) > 1:
        raise InvalidInput(f"--center {options.center} names several columns.", remedy="Use one, or auto.")
    return _parameters(options, centers[0], saved)


def _parameters(
    options: argparse.Namespace, center: float | str, saved: ReconstructionParameters | None
) -> ReconstructionParameters:
    text = saved or ReconstructionParameters(_scan_options(options), _with_phase(options, _recipe(options, center)))
    return replace(text, recipe=replace(text.recipe, center=center))


def _follow(options: argparse.Namespace, center: float | str, saved: ReconstructionParameters | None) -> int:
    """Slices of a scan that is still being written."""
    from pellucid.cli.reconstruct.follow import follow_scan
    from pellucid.tomo.pipeline.live import FollowOptions

    text = saved or ReconstructionParameters(_scan_options(options), _recipe(options, center))
    what = FollowOptions(options.source, text.scan, text.recipe, choose(options.device), options.timeout)
    image = Path(f"{options.output.rstrip('/')}.live.png") if options.output else None
    if image is not None:
        check_folder(image)
        check_output(image, [options.source], may_join_slices=True)
        check_replacement(image, is_marked_image, overwrite=options.overwrite)
    return follow_scan(what, viewer_for(options), image)


def _saved(path: Path) -> ReconstructionParameters:
    """What a file says that the viewer wrote."""
    try:
        text: ReconstructionParameters = from_json(ReconstructionParameters, json.loads(path.read_text()), path.name)
    except FileNotFoundError:
        raise NotFound(str(path)) from None
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{path} is not valid JSON: {error}.", remedy="Save the parameters in the viewer again."
        ) from error
    return text


def _watch(options: argparse.Namespace) -> Watch:
    """Slices go into a viewer as they are made."""
    from pellucid.cli.reconstruct.live_view import stream_to_viewer

    viewer = viewer_for(options)
    return lambda layout: stream_to_viewer(viewer, layout, Location.parse(options.source).name)


def viewer_for(options: argparse.Namespace) -> "Viewer":
    """The one at the address that was given, or a new one."""
    from pellucid.cli.reconstruct.live_view import viewer_at

    # Other users can read arguments: a viewer that starts this command, or its agent, sends the address in another way.
    url = sys.stdin.readline().strip() if options.view == "-" else options.view or ""
    if url.startswith("/"):
        url = Path(url).read_text().strip()
    return viewer_at(url, options.device)


def _look(options: argparse.Namespace, centers: list[float | str], saved: ReconstructionParameters | None) -> int:
    """An image instead of a volume: of some rows, or of one row with several centers."""
    path = Path(f"{options.output.rstrip('/')}.preview.png")
    check_folder(path)
    text = saved or ReconstructionParameters(_scan_options(options), _recipe(options, centers[0]))
    recipe = replace(text.recipe, center=centers[0])
    with closing(SlicePreview(open_scan(options.source, text.scan), choose(options.device))) as preview:
        check_output(path, preview.scan.inputs, may_join_slices=True)
        check_replacement(path, is_marked_image, overwrite=options.overwrite)
        rows = _whole_numbers(options.preview) if options.preview else [preview.scan.rows // 2]
        if len(centers) > 1:
            captions = [f"center {center:g}" for center in centers]
            slices = [preview.whole_slice(rows[0], replace(recipe, center=center, tilt=0.0)) for center in centers]
        else:
            slices = [preview.whole_slice(row, recipe) for row in rows]
            column, slope = preview.axis(recipe)
            axes = [column + slope * (row - (preview.scan.rows - 1) / 2) for row in rows]
            if (tilt := preview.tilt(recipe)) is not None and tilt.sentence():
                progress.note(tilt.sentence())
            captions = [f"row {row}, center {axis:g}" for row, axis in zip(rows, axes, strict=True)]
    save_contact_sheet(slices, captions, path)
    progress.note(f"wrote {path}")
    return 0


def _centers(text: str) -> list[float | str]:
    """One center, or FIRST:LAST:STEP with the last included."""
    if text in (AUTOMATIC, *AXIS_METHODS):
        return [text]
    try:
        numbers = [float(part) for part in text.split(":")]
    except ValueError:
        numbers = []
    if len(numbers) == 1:
        return [numbers[0]]
    if len(numbers) != 3 or not all(map(isfinite, numbers)) or numbers[2] <= 0 or numbers[1] < numbers[0]:
        raise InvalidInput(
            f"Invalid center {text!r}.",
            remedy=f"Use a column number, auto, {', '.join(AXIS_METHODS)}, or FIRST:LAST:STEP such as 1020:1030:0.5.",
        )
    first, last, step = numbers
    centers = np.arange(first, last + step / 2, step).tolist()
    if len(centers) > MAX_CENTERS:
        raise InvalidInput(
            f"--center {text} gives {len(centers)} centers.",
            remedy=f"Use a larger step; at most {MAX_CENTERS} centers are compared at a time.",
        )
    return list(centers)


def _recipe(options: argparse.Namespace, center: float | str) -> Recipe:
    return Recipe(
        center=center,
        tilt=options.tilt if options.tilt in (AUTOMATIC, WHEN_CLEAR) else _number(options.tilt),
        is_offset=options.offset,
        roll_deg=options.roll if options.roll == AUTOMATIC else _number(options.roll),
        binning=options.bin,
        zingers=options.zingers,
        air=options.air_columns,
        rings=RingSettings(method=options.ring),
        method=options.method,
        filter=options.filter,
        padding=options.padding,
        iterations=options.iterations,
        is_nonnegative=options.nonnegative,
        is_circle=not options.no_circle,
    )


def _refuse_unused(options: argparse.Namespace) -> None:
    """Raise an error for options without effect, which would otherwise be ignored silently."""
    recipe = _recipe(options, AUTOMATIC)
    for name in recipe.unused:
        option = "--nonnegative" if name == "is_nonnegative" else f"--{name}"
        raise InvalidInput(
            f"--method {recipe.method} does not use {option}.",
            remedy=f"Leave out {option}, or use --method {' or '.join(USED_BY[name])}.",
        )
    words = arguments("", "", ReconstructionParameters(_scan_options(options), recipe))
    given = [word.partition("=")[0] for word in words if word.startswith("--") and word != "--pyramid"]
    given += ["--phase"] if options.phase else []
    if options.recipe and given:
        raise InvalidInput(
            f"{given[0]} cannot be combined with --recipe, which sets the scan options and all steps.",
            remedy=f"Leave out {given[0]}, or change it in {options.recipe}.",
        )


def _with_phase(options: argparse.Namespace, recipe: Recipe) -> Recipe:
    """The recipe with phase retrieval, whose units need the size of a pixel; says how far it will smooth."""
    if options.phase is None:
        return recipe
    numbers = [_number(part) for part in options.phase.split(",")]
    if len(numbers) != 3:
        raise InvalidInput(
            f"{options.phase!r} is not KEV,MM,RATIO.", remedy="Use three numbers, for example 20,100,500."
        )
    with closing(open_scan(options.source, _scan_options(options))) as scan:
        pixel_size_um = scan.pixel_size_um
    if pixel_size_um is None:
        raise InvalidInput("Phase retrieval needs the pixel size.", remedy="Add --pixel-size UM, in micrometres.")
    phase = Paganin(numbers[0], numbers[1], pixel_size_um, numbers[2])
    progress.note(f"Phase retrieval smooths over {phase.radius_px:.1f} pixels.")
    return replace(recipe, phase=phase)


def _output(options: argparse.Namespace) -> OutputOptions:
    if options.range == "auto":
        raise InvalidInput(
            "--range auto is not available: the values are unknown before the reconstruction.",
            remedy="Use --range LOW,HIGH.",
        )
    if options.range is None and not options.dtype.startswith("float"):
        raise InvalidInput(
            f"--dtype {options.dtype} needs a range of attenuations.",
            remedy="Add --range LOW,HIGH; these values are mapped to the ends of the type.",
        )
    rows = row_range(options.rows) if options.rows else None
    return OutputOptions(
        options.dtype, options.range, options.levels, options.reduce, options.chunk, options.codec, rows,
        _crop(options.crop) if options.crop else None, max_files=options.max_files,
        max_bytes=options.max_size, max_compression_s=options.max_compression,
    )  # fmt: skip


def _scan_options(options: argparse.Namespace) -> ScanOptions:
    flats, darks = (SEPARATOR.join(named) for named in (options.flats, options.darks))
    is_repaired = not options.keep_bad_pixels
    return ScanOptions(options.projections, flats, darks, options.angles, options.pixel_size, is_repaired)


def row_range(text: str) -> tuple[int, int]:
    first, _, stop = text.partition(":")
    if not (first.isdecimal() and stop.isdecimal()):
        raise InvalidInput(f"Invalid rows {text!r}.", remedy="Use FIRST:STOP, for example 100:200.")
    return int(first), int(stop)


def _crop(text: str) -> tuple[tuple[int, int], tuple[int, int]]:
    try:
        (y0, y1), (x0, x1) = (row_range(part) for part in text.split(","))
    except (InvalidInput, ValueError):
        raise InvalidInput(f"Invalid crop {text!r}.", remedy="Use Y0:Y1,X0:X1, for example 100:400,200:500.") from None
    return (y0, y1), (x0, x1)


def _whole_numbers(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.isdecimal() for part in parts):
        raise InvalidInput(
            f"Invalid rows {text!r}.", remedy="Use row numbers with commas between them, for example 100,200,300."
        )
    return [int(part) for part in parts]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"Invalid number {text!r}.", remedy="Use a number such as 0.002, or auto.") from None
