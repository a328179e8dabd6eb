"""Several slices as one image, each with a caption.

Here: contact_sheet.
Not here: which slices (the commands).
"""

from collections.abc import Sequence
from math import ceil, sqrt
from pathlib import Path

import numpy as np

from pellucid.cli.replaced_files import save_marked_image
from pellucid.formats.protocol import Voxels
from pellucid.volume.slice_sheet import grey_levels, grey_window

GAP = 6
CAPTION = 22
MAX_PIXELS = 640
"""Along the edge of a slice, where there are several; one alone is shown as it is."""


def save_contact_sheet(slices: Sequence[Voxels], captions: Sequence[str], path: Path) -> None:
    """Write a PNG; all slices have the same grey window, so that they can be compared."""
    from PIL import Image, ImageDraw, ImageFont

    step = 1 if len(slices) == 1 else ceil(slices[0].shape[1] / MAX_PIXELS)
    low, high = grey_window(np.stack([image[::4, ::4] for image in slices]))
    across = ceil(sqrt(len(slices)))
    height, width = (length + GAP for length in slices[0][::step, ::step].shape)
    sheet = Image.new("L", (across * width - GAP, ceil(len(slices) / across) * (height + CAPTION) - GAP), 0)
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(size=14)
    for number, (image, caption) in enumerate(zip(slices, captions, strict=True)):
        left, top = number % across * width, number // across * (height + CAPTION)
        grey = grey_levels(image[::step, ::step], low, high)
        draw.text((left + 4, top + 2), caption, fill=255, font=font)
        sheet.paste(Image.fromarray(grey), (left, top + CAPTION))
    save_marked_image(sheet, path)
