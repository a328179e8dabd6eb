"""Which existing files a command may replace without --overwrite.

Here: check_replacement, and recognising an earlier image, movie or scene by its content; saving images that are
recognised by a mark.
Not here: whether the file is an input (engines.output_check), volumes (engines.partial_output).
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pellucid.errors import OutputExists, PellucidError
from pellucid.formats.local_files import written_whole

if TYPE_CHECKING:
    from PIL import Image

IMAGE_MODES = ("L", "LA", "P", "RGB", "RGBA")
"""Of images that are drawn, as Pillow names them: 8 bits a channel."""
SOFTWARE, OWN_MARK = "Software", "Pellucid"
"""A text in a PNG, by its keyword, that other programs do not write."""
MOVIE_MARKS = ((4, b"ftyp"), (0, b"\x1aE\xdf\xa3"), (0, b"GIF8"))


def check_replacement(path: Path, is_same_kind: Callable[[Path], bool], *, overwrite: bool) -> None:
    """Raise OutputExists where a file would be replaced that is not of the kind which the command writes."""
    if overwrite or not path.is_file() or path.stat().st_size == 0 or is_same_kind(path):
        return
    raise OutputExists(str(path))


def is_image(path: Path) -> bool:
    """Whether it is one drawn image. A TIFF may be a volume or a slice of one: it never counts."""
    from PIL import Image

    try:
        with Image.open(path) as image:
            frames = getattr(image, "n_frames", 1)
            return image.format != "TIFF" and image.mode in IMAGE_MODES and frames == 1
    except (OSError, ValueError, Image.DecompressionBombError):
        return False


def is_marked_image(path: Path) -> bool:
    """Whether save_marked_image wrote it. For outputs whose names the user did not choose."""
    from PIL import Image

    try:
        with Image.open(path) as image:
            return image.format == "PNG" and image.info.get(SOFTWARE) == OWN_MARK
    except (OSError, ValueError, Image.DecompressionBombError):
        return False


def save_marked_image(image: "Image.Image", path: Path) -> None:
    """As a PNG, at once: no reader ever sees half of it."""
    from PIL import PngImagePlugin

    text = PngImagePlugin.PngInfo()
    text.add_text(SOFTWARE, OWN_MARK)
    with written_whole(path) as file:
        image.save(file, "png", pnginfo=text)


def is_movie_file(path: Path) -> bool:
    with path.open("rb") as file:
        start = file.read(16)
    return any(start[at:].startswith(mark) for at, mark in MOVIE_MARKS)


def is_scene(path: Path) -> bool:
    from pellucid.rendering.scene import Scene

    try:
        Scene.from_json(path.read_text())
    except (PellucidError, ValueError):
        return False
    return True
