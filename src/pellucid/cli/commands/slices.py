"""``pellucid slices``: an image of the three middle slices.

Here: the command, and writing the image with its captions as PNG.
Not here: cutting and laying out (volume.slice_sheet).
"""

import argparse
from pathlib import Path

import numpy as np

from pellucid.cli.arguments import add_source, count_argument, range_argument, slice_argument, source_location
from pellucid.cli.replaced_files import check_replacement, is_image
from pellucid.engines.output_check import check_output
from pellucid.errors import InvalidInput
from pellucid.formats.location import Location
from pellucid.rendering.figures.slice_files import save_slice
from pellucid.volume.slice_sheet import middle_slices
from pellucid.volume.volume import Volume, open_volume

IMAGES = (".png", ".jpg", ".tif", ".webp")


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("slices", help="an image of the three middle slices, or one slice in 16 bits")
    add_source(parser)
    parser.add_argument("-o", "--output", required=True, help="PNG file to write")
    parser.add_argument(
        "--slice", type=slice_argument, metavar="AXIS=N", help="one slice instead, such as z=120, as a 16-bit TIFF"
    )
    parser.add_argument(
        "--range", type=range_argument, metavar="LOW,HIGH", help="with --slice: values that become black and white"
    )
    parser.add_argument("--height", type=count_argument, default=480, help="height of the tallest slice in pixels")
    parser.add_argument("--overwrite", action="store_true", help="replace an output that is not an image")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if not options.output.lower().endswith(IMAGES):
        raise InvalidInput(
            f"{options.output} is not a valid image name.", remedy=f"Use a name that ends in {', '.join(IMAGES)}."
        )
    location = source_location(options)
    check_output(Location(options.output), [location], may_join_slices=True)
    check_replacement(Path(options.output), is_image, overwrite=options.overwrite)
    if options.slice:
        return _save_slice(options)
    with open_volume(location) as volume:
        save(volume, Path(options.output), options.height)
    print(f"wrote {options.output}")
    return 0


def _save_slice(options: argparse.Namespace) -> int:
    (axis, number), given = options.slice, options.range
    with open_volume(source_location(options)) as volume:
        written = save_slice(volume, axis, number, Path(options.output), given if isinstance(given, tuple) else None)
    span = f", {written[0]:g} to {written[1]:g} as 0 to 65535" if written else ""
    print(f"wrote {options.output} (16 bits{span})")
    return 0


def save(volume: Volume, path: Path, height: int = 480) -> None:
    from PIL import Image, ImageDraw, ImageFont

    from pellucid.rendering.frame import save_image

    pixels, panels = middle_slices(volume, height)
    image = Image.fromarray(pixels)
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(size=max(12, height // 34))
    for panel in panels:
        draw.text((panel.left + 6, 4), panel.caption, fill=255, font=font, stroke_width=2, stroke_fill=0)
    save_image(np.asarray(image), path)
